-- store/schema_8.sql - from version 7 to 8: suggestions are made ahead of time in memory alone.

-- A hand-out stands among the events. One that an older daemon answered, and was killed before it stored
-- that, is made again for whoever asks next.
DROP TABLE prepared;
