-- Entries of timelines, and the evidence that their times rest on.
--
-- * Entries of a timeline over a sealed inventory stay as they were stored, and so do those of a
--   run's timeline that has no inventory (baselines, revisions without identifiers). They go only
--   with their timeline; that is judged at the end of the transaction.
-- * Entries, contexts and queries name occurrences of the timeline's own inventory.
-- * Adopted and near rows are rows that the revision of that case run saw (in a run) or rows of
--   that very encounter (elsewhere). The rows that a revision saw belong to its case run: a row of
--   the stay's skeleton has no candidate, and a time without an occurrence (variant no_uid) may
--   cite them, too.
-- * Evidence points at a source row that exists, of the encounter and the series that its candidate
--   brought back. A start brings its stop, which is a row of another series.

-- Kept.

CREATE FUNCTION timelines_timeline_is_sealed(timeline bigint) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT 1 FROM timelines_timeline t LEFT JOIN timelines_inventory i ON i.id = t.inventory_id
        WHERE t.id = timeline AND (i.sealed_at IS NOT NULL OR (t.inventory_id IS NULL AND t.case_run_id IS NOT NULL))
    )
$$;

CREATE FUNCTION timelines_entry_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF timelines_timeline_is_sealed(OLD.timeline_id) THEN
        PERFORM timelines_refuse('sealed_timeline_kept', 'an entry over a sealed inventory stays, and goes only with its timeline');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_entry_kept BEFORE UPDATE ON timelines_entry
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_entry_kept();
CREATE CONSTRAINT TRIGGER timelines_entry_gone AFTER DELETE ON timelines_entry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_entry_kept();

-- Of their own inventory, with rows that were seen.

CREATE FUNCTION timelines_entries_refer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM changed e JOIN timelines_timeline t ON t.id = e.timeline_id
        LEFT JOIN timelines_occurrence o ON o.id = e.occurrence_id
        WHERE o.inventory_id IS DISTINCT FROM t.inventory_id
    ) THEN
        PERFORM timelines_refuse('entry_of_own_inventory', 'an entry names an occurrence that is not of its timeline''s inventory');
    END IF;
    IF EXISTS (
        SELECT 1 FROM changed e JOIN timelines_timeline t ON t.id = e.timeline_id CROSS JOIN LATERAL unnest(e.context) AS c(uid4)
        WHERE NOT EXISTS (SELECT 1 FROM timelines_occurrence o WHERE o.inventory_id = t.inventory_id AND o.uid4 = c.uid4)
    ) THEN
        PERFORM timelines_refuse('context_of_own_inventory', 'a context names a UID that is not of its timeline''s inventory');
    END IF;
    IF EXISTS (
        SELECT 1 FROM changed e JOIN timelines_timeline t ON t.id = e.timeline_id JOIN ehr_encounter n ON n.id = t.encounter_id
        CROSS JOIN LATERAL unnest(e.adopted_rows || e.near_rows) AS a(row_index)
        WHERE CASE WHEN t.case_run_id IS NULL THEN NOT EXISTS (
            SELECT 1 FROM ehr_sourcerow r WHERE r.dataset_id = n.dataset_id AND r.encounter_id = n.id AND r.row_index = a.row_index
        ) ELSE NOT EXISTS (
            SELECT 1 FROM timelines_evidence v WHERE v.case_run_id = t.case_run_id AND v.row_index = a.row_index
        ) END
    ) THEN
        PERFORM timelines_refuse('adopted_row_is_evidence', 'a time rests on a row that its revision did not see');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_entries_refer_new AFTER INSERT ON timelines_entry
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION timelines_entries_refer();
CREATE TRIGGER timelines_entries_refer_changed AFTER UPDATE ON timelines_entry
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION timelines_entries_refer();

CREATE FUNCTION timelines_queries_refer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM changed q JOIN timelines_caserun r ON r.id = q.case_run_id JOIN timelines_occurrence o ON o.id = q.occurrence_id
        WHERE o.inventory_id IS DISTINCT FROM r.inventory_id
    ) THEN
        PERFORM timelines_refuse('query_of_own_inventory', 'a query names an occurrence that is not of its case run''s inventory');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_queries_refer AFTER INSERT ON timelines_query
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION timelines_queries_refer();

-- Of their own source row and series.

ALTER TABLE timelines_evidence ADD CONSTRAINT evidence_of_source_row
    FOREIGN KEY (dataset_id, encounter_id, row_index)
    REFERENCES ehr_sourcerow (dataset_id, encounter_id, row_index)
    DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION timelines_evidence_refers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM changed v JOIN timelines_caserun r ON r.id = v.case_run_id WHERE r.encounter_id <> v.encounter_id
    ) OR EXISTS (
        SELECT 1 FROM changed v JOIN timelines_candidate c ON c.id = v.candidate_id JOIN timelines_query q ON q.id = c.query_id
        JOIN ehr_eventseries s ON s.id = c.series_id
        WHERE s.encounter_id <> v.encounter_id OR q.case_run_id <> v.case_run_id
        OR NOT (v.row_index = ANY (s.row_indices) OR (
            s.event ~ ':(start|end|stop)$'
            AND regexp_replace(s.event, ':(start|end|stop)$', '') = regexp_replace(v.event, ':(start|end|stop)$', '')
            AND EXISTS (
                SELECT 1 FROM ehr_eventseries p
                WHERE p.encounter_id = v.encounter_id AND p.event = v.event AND v.row_index = ANY (p.row_indices)
            )
        ))
    ) THEN
        PERFORM timelines_refuse('evidence_of_own_series', 'evidence names a row that is not of its candidate''s series');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_evidence_refers AFTER INSERT ON timelines_evidence
    REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION timelines_evidence_refers();
