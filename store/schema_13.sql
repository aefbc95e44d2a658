-- store/schema_13.sql - from version 12 to 13: what a sweep's data set holds, for machines that read it by its path.

-- A sum of its files; 0: not known, as of sweeps of earlier versions, or there are none.
ALTER TABLE sweep ADD COLUMN data_sum INTEGER NOT NULL DEFAULT 0;
