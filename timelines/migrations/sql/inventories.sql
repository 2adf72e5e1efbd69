-- Inventories: of one encounter, inside their note, and complete once they are sealed.
--
-- * An inventory's note and a timeline's inventory are of the same encounter; a note with an
--   inventory keeps its text.
-- * Spans lie inside the note, in code points.
-- * Occurrences of a sealed inventory are neither added, changed nor taken away. They may go
--   together with the inventory itself, as when a dataset is deleted; that is judged at the end of
--   the transaction.
-- * From the sealing on, every timeline over an inventory has exactly one entry for each of its
--   occurrences.

-- Of one encounter.

ALTER TABLE ehr_note ADD CONSTRAINT note_in_encounter UNIQUE (id, encounter_id);
ALTER TABLE timelines_inventory ADD CONSTRAINT inventory_in_encounter UNIQUE (id, encounter_id);
ALTER TABLE timelines_inventory ADD CONSTRAINT inventory_note_of_encounter
    FOREIGN KEY (note_id, encounter_id) REFERENCES ehr_note (id, encounter_id)
    DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE timelines_timeline ADD CONSTRAINT timeline_inventory_of_encounter
    FOREIGN KEY (inventory_id, encounter_id) REFERENCES timelines_inventory (id, encounter_id)
    DEFERRABLE INITIALLY DEFERRED;

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

-- Sealed. The share lock makes a writer of occurrences and the transaction that seals the inventory
-- wait for each other.

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

-- Inside the note.

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

-- Complete.

CREATE FUNCTION timelines_is_incomplete(timeline bigint, inventory bigint) RETURNS boolean
    LANGUAGE sql STABLE AS $$
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
