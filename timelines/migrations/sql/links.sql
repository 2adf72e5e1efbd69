-- Links between the notes of a chart, and times before their groups had one.
--
-- * A link is between two occurrences of one sealed inventory, in its order, of different notes of
--   its chart. Two occurrences have one link that counts at most.
-- * Links, what undoes them, and own times are append-only: a row never changes, and leaves only
--   together with its inventory or entry (judged at the end of the transaction).

CREATE FUNCTION timelines_link_refers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM timelines_inventory i
        JOIN timelines_occurrence a ON a.inventory_id = i.id AND a.id = NEW.first_id
        JOIN timelines_occurrence b ON b.inventory_id = i.id AND b.id = NEW.second_id
        JOIN ehr_notepart p ON p.chart_id = i.note_id AND a.start >= p.start AND a.start < p."end"
        JOIN ehr_notepart q ON q.chart_id = i.note_id AND b.start >= q.start AND b.start < q."end"
        WHERE i.id = NEW.inventory_id AND i.sealed_at IS NOT NULL AND a.ordinal < b.ordinal AND p.id <> q.id
    ) THEN
        PERFORM timelines_refuse('link_between_notes', 'a link is between occurrences of two notes of one sealed chart');
    END IF;
    IF EXISTS (
        SELECT 1 FROM timelines_occurrencelink k WHERE k.first_id = NEW.first_id AND k.second_id = NEW.second_id
        AND NOT EXISTS (SELECT 1 FROM timelines_unlinking u WHERE u.link_id = k.id)
    ) THEN
        PERFORM timelines_refuse('link_counts_once', 'two occurrences have one link that counts');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_link_refers BEFORE INSERT ON timelines_occurrencelink
    FOR EACH ROW EXECUTE FUNCTION timelines_link_refers();

CREATE FUNCTION timelines_link_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM timelines_refuse('link_kept', 'links, unlinkings and own times are append-only');
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_link_kept BEFORE UPDATE ON timelines_occurrencelink
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_link_kept();
CREATE TRIGGER timelines_unlinking_kept BEFORE UPDATE ON timelines_unlinking
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_link_kept();
CREATE TRIGGER timelines_owntime_kept BEFORE UPDATE ON timelines_owntime
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_link_kept();

CREATE FUNCTION timelines_link_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_inventory WHERE id = OLD.inventory_id) THEN
        PERFORM timelines_refuse('link_kept', 'a link leaves only together with its inventory');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_link_gone AFTER DELETE ON timelines_occurrencelink
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_link_gone();

CREATE FUNCTION timelines_unlinking_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_occurrencelink WHERE id = OLD.link_id) THEN
        PERFORM timelines_refuse('link_kept', 'an unlinking leaves only together with its link');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_unlinking_gone AFTER DELETE ON timelines_unlinking
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_unlinking_gone();

CREATE FUNCTION timelines_owntime_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_entry WHERE id = OLD.entry_id) THEN
        PERFORM timelines_refuse('link_kept', 'an own time leaves only together with its entry');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_owntime_gone AFTER DELETE ON timelines_owntime
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_owntime_gone();
