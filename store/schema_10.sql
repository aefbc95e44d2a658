-- store/schema_10.sql - from version 9 to 10: the bytes of a sweep's data set, which its trials share on a GPU.

-- Of `bytes`; 0: not known, as of sweeps of earlier versions.
ALTER TABLE sweep ADD COLUMN data_bytes INTEGER NOT NULL DEFAULT 0;
