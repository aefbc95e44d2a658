-- store/schema_12.sql - from version 11 to 12: sweeps that are deleted, and what people write on them.

-- What is left of it: 0 all; 1 its rows and files are being removed; 2 this row, so that its number is never given
-- again; 3 the row and the trial `kept`.
ALTER TABLE sweep ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sweep ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;

-- A person's own words: tags with a blank between two, and a line of text.
ALTER TABLE sweep ADD COLUMN tags TEXT;
ALTER TABLE sweep ADD COLUMN note TEXT;
