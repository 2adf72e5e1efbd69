-- The words of each mention, for search, as for notes (ehr/migrations/sql/search.sql).
--
-- mention_key is the same for mentions that differ in case alone: they share a vector.

ALTER TABLE timelines_occurrence
    ADD COLUMN words tsvector GENERATED ALWAYS AS (
        to_tsvector('pg_catalog.simple', left(mention, 30000))
        || to_tsvector('pg_catalog.english', left(mention, 30000))
    ) STORED,
    ADD COLUMN mention_key text GENERATED ALWAYS AS (md5(lower(mention))) STORED;
CREATE INDEX occurrence_by_words ON timelines_occurrence USING gin (words);
CREATE INDEX occurrence_by_mention ON timelines_occurrence (mention_key);
