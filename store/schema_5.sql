-- store/schema_5.sql - from version 4 to 5: what attempts used of their GPU.

-- The part of the GPU that the attempt had: its lanes of all lanes. Without meaning where gpu is 0.
ALTER TABLE attempt ADD COLUMN share REAL NOT NULL DEFAULT 1;
-- Most bytes of its worker there, mean percent of the time in which the GPU worked, energy; NULL: not
-- known (no GPU, or no word of NVML while it ran).
ALTER TABLE attempt ADD COLUMN gpu_bytes REAL;
ALTER TABLE attempt ADD COLUMN gpu_util REAL;
ALTER TABLE attempt ADD COLUMN joules REAL;

-- Bytes that a trial of the largest configuration takes, its data set among them; 0: not known.
ALTER TABLE sweep ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
