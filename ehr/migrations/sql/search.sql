-- The words of each note, for search.
--
-- A generated column that no model names, so that pages which read notes do not read it. It has the
-- words as they are written and their English stems: the first for quoted words and beginnings of
-- words, the second for all forms of a word. Words beyond the limit are not found; without it the
-- column could be larger than PostgreSQL allows.

ALTER TABLE ehr_note ADD COLUMN words tsvector GENERATED ALWAYS AS (
    to_tsvector('pg_catalog.simple', left(text, 300000))
    || to_tsvector('pg_catalog.english', left(text, 300000))
) STORED;
CREATE INDEX note_by_words ON ehr_note USING gin (words);
