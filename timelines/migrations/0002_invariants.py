"""Database invariants that no single row can state: a bug in Python must not be able to store a broken timeline.

* Evidence points at a source row that exists, of the encounter and the series that its candidate brought back.
* An inventory's note and a timeline's inventory are of the same encounter; a note with an inventory keeps its text.
* Spans lie inside the note, in code points.
* Occurrences of a sealed inventory, and entries of its timelines, are neither added, changed nor taken away. They may go
  together with the inventory (or the timeline) itself, as when a dataset is deleted; that is judged at the end of the transaction.
* From the sealing on, every timeline over an inventory has exactly one entry for each of its occurrences.
* Entries, contexts and queries name occurrences of the timeline's own inventory; adopted rows are evidence of that very
  occurrence (in a run) or rows of that very encounter (elsewhere).
"""

from django.db import migrations

KEYS = """
ALTER TABLE timelines_evidence ADD CONSTRAINT evidence_of_source_row
    FOREIGN KEY (dataset_id, encounter_id, row_index) REFERENCES ehr_sourcerow (dataset_id, encounter_id, row_index)
    DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE ehr_note ADD CONSTRAINT note_in_encounter UNIQUE (id, encounter_id);
ALTER TABLE timelines_inventory ADD CONSTRAINT inventory_in_encounter UNIQUE (id, encounter_id);
ALTER TABLE timelines_inventory ADD CONSTRAINT inventory_note_of_encounter
    FOREIGN KEY (note_id, encounter_id) REFERENCES ehr_note (id, encounter_id) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE timelines_timeline ADD CONSTRAINT timeline_inventory_of_encounter
    FOREIGN KEY (inventory_id, encounter_id) REFERENCES timelines_inventory (id, encounter_id) DEFERRABLE INITIALLY DEFERRED;
"""

DROP_KEYS = """
ALTER TABLE timelines_timeline DROP CONSTRAINT timeline_inventory_of_encounter;
ALTER TABLE timelines_inventory DROP CONSTRAINT inventory_note_of_encounter;
ALTER TABLE timelines_inventory DROP CONSTRAINT inventory_in_encounter;
ALTER TABLE ehr_note DROP CONSTRAINT note_in_encounter;
ALTER TABLE timelines_evidence DROP CONSTRAINT evidence_of_source_row;
"""

REFUSE = """
CREATE FUNCTION timelines_refuse(rule text, words text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', words USING ERRCODE = 'check_violation', CONSTRAINT = rule;
END $$;
"""

NOTES = """
CREATE FUNCTION timelines_note_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_inventory WHERE note_id = OLD.id) THEN
        PERFORM timelines_refuse('note_with_inventory_kept', 'a note that has an inventory keeps its text');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_note_kept BEFORE UPDATE OF text, sha256 ON ehr_note
    FOR EACH ROW WHEN (OLD.text IS DISTINCT FROM NEW.text OR OLD.sha256 IS DISTINCT FROM NEW.sha256)
    EXECUTE FUNCTION timelines_note_kept();
"""

# The share lock makes a writer of occurrences and the transaction that seals the inventory wait for each other.
SEALED = """
CREATE FUNCTION timelines_occurrence_open() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    sealed timestamptz;
BEGIN
    FOR sealed IN SELECT sealed_at FROM timelines_inventory
        WHERE id IN (NEW.inventory_id, CASE TG_OP WHEN 'UPDATE' THEN OLD.inventory_id END) FOR SHARE
    LOOP
        IF sealed IS NOT NULL THEN
            PERFORM timelines_refuse('sealed_inventory_kept', 'a sealed inventory takes no new or changed occurrence');
        END IF;
    END LOOP;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_occurrence_open BEFORE INSERT OR UPDATE ON timelines_occurrence
    FOR EACH ROW EXECUTE FUNCTION timelines_occurrence_open();

CREATE FUNCTION timelines_occurrence_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_inventory WHERE id = OLD.inventory_id AND sealed_at IS NOT NULL) THEN
        PERFORM timelines_refuse('sealed_inventory_kept', 'an occurrence leaves a sealed inventory only together with it');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_occurrence_gone AFTER DELETE ON timelines_occurrence
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_occurrence_gone();

CREATE FUNCTION timelines_spans_inside() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM (SELECT inventory_id, max("end") AS last FROM changed GROUP BY inventory_id) spans
        JOIN timelines_inventory i ON i.id = spans.inventory_id JOIN ehr_note n ON n.id = i.note_id
        WHERE spans.last > char_length(n.text)
    ) THEN
        PERFORM timelines_refuse('span_inside_note', 'a span ends outside its note');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_spans_inside_new AFTER INSERT ON timelines_occurrence
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION timelines_spans_inside();
CREATE TRIGGER timelines_spans_inside_changed AFTER UPDATE ON timelines_occurrence
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION timelines_spans_inside();
"""

COMPLETE = """
CREATE FUNCTION timelines_is_incomplete(timeline bigint, inventory bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT (SELECT count(*) FROM timelines_entry WHERE timeline_id = timeline)
        <> (SELECT count(*) FROM timelines_occurrence WHERE inventory_id = inventory)
$$;

CREATE FUNCTION timelines_inventory_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.sealed_at IS NOT NULL THEN
        PERFORM timelines_refuse('sealed_inventory_kept', 'a sealed inventory does not change');
    END IF;
    IF NEW.sealed_at IS NOT NULL AND EXISTS (
        SELECT 1 FROM timelines_timeline t WHERE t.inventory_id = NEW.id AND timelines_is_incomplete(t.id, NEW.id)
    ) THEN
        PERFORM timelines_refuse('timeline_complete', 'an inventory is sealed when each of its timelines has every occurrence once');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_inventory_changed BEFORE UPDATE ON timelines_inventory
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_inventory_changed();

CREATE FUNCTION timelines_timeline_complete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM timelines_timeline t JOIN timelines_inventory i ON i.id = t.inventory_id
        WHERE t.id = NEW.id AND i.sealed_at IS NOT NULL AND timelines_is_incomplete(t.id, i.id)
    ) THEN
        PERFORM timelines_refuse('timeline_complete', 'a timeline over a sealed inventory has every occurrence once');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_timeline_complete AFTER INSERT OR UPDATE ON timelines_timeline
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_timeline_complete();
"""

ENTRIES = """
CREATE FUNCTION timelines_timeline_is_sealed(timeline bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT 1 FROM timelines_timeline t JOIN timelines_inventory i ON i.id = t.inventory_id
        WHERE t.id = timeline AND i.sealed_at IS NOT NULL
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
        CROSS JOIN LATERAL unnest(e.adopted_rows) AS a(row_index)
        WHERE CASE WHEN t.case_run_id IS NULL THEN NOT EXISTS (
            SELECT 1 FROM ehr_sourcerow r WHERE r.dataset_id = n.dataset_id AND r.encounter_id = n.id AND r.row_index = a.row_index
        ) ELSE NOT EXISTS (
            SELECT 1 FROM timelines_evidence v
            JOIN timelines_candidate c ON c.id = v.candidate_id JOIN timelines_query q ON q.id = c.query_id
            WHERE q.case_run_id = t.case_run_id AND q.occurrence_id = e.occurrence_id AND v.row_index = a.row_index
        ) END
    ) THEN
        PERFORM timelines_refuse('adopted_row_is_evidence', 'a time rests on a row that is not evidence of its occurrence');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_entries_refer_new AFTER INSERT ON timelines_entry
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION timelines_entries_refer();
CREATE TRIGGER timelines_entries_refer_changed AFTER UPDATE ON timelines_entry
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION timelines_entries_refer();
"""

EVIDENCE = """
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

CREATE FUNCTION timelines_evidence_refers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT 1 FROM changed v JOIN timelines_candidate c ON c.id = v.candidate_id JOIN timelines_query q ON q.id = c.query_id
        JOIN timelines_caserun r ON r.id = q.case_run_id JOIN ehr_eventseries s ON s.id = c.series_id
        WHERE s.encounter_id <> v.encounter_id OR r.encounter_id <> v.encounter_id OR NOT v.row_index = ANY (s.row_indices)
    ) THEN
        PERFORM timelines_refuse('evidence_of_own_series', 'evidence names a row that is not of its candidate''s series');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_evidence_refers AFTER INSERT ON timelines_evidence
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION timelines_evidence_refers();
"""

DROP_TRIGGERS = """
DROP FUNCTION timelines_evidence_refers, timelines_queries_refer, timelines_entries_refer, timelines_entry_kept,
    timelines_timeline_is_sealed, timelines_timeline_complete, timelines_inventory_changed, timelines_is_incomplete, timelines_spans_inside, timelines_occurrence_gone,
    timelines_occurrence_open, timelines_note_kept, timelines_refuse CASCADE;
"""


class Migration(migrations.Migration):
    dependencies = [("timelines", "0001_initial"), ("ehr", "0002_source_rows")]

    operations = [
        migrations.RunSQL(KEYS, DROP_KEYS),
        migrations.RunSQL(REFUSE + NOTES + SEALED + COMPLETE + ENTRIES + EVIDENCE, DROP_TRIGGERS),
    ]
