-- Consensuses.
--
-- * A consensus is of two references of its own case, and becomes a timeline of that case once.
--   Nothing else of it changes.
-- * A decision names occurrences of the two timelines, and comes before the consensus is submitted.
-- * Both are append-only: they leave only together with the case (judged at the end of the
--   transaction).

-- Consensuses.

CREATE FUNCTION timelines_consensus_refers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND (OLD.timeline_id IS NOT NULL
        OR (OLD.id, OLD.public_id, OLD.encounter_id, OLD.first_id, OLD.second_id, OLD.started_by_id, OLD.started_at)
        IS DISTINCT FROM (NEW.id, NEW.public_id, NEW.encounter_id, NEW.first_id, NEW.second_id, NEW.started_by_id, NEW.started_at)) THEN
        PERFORM timelines_refuse('consensus_kept', 'a consensus does not change but for its submission');
    END IF;
    IF EXISTS (
        SELECT 1 FROM timelines_timeline t WHERE t.id IN (NEW.first_id, NEW.second_id, NEW.timeline_id)
        AND (t.encounter_id <> NEW.encounter_id OR t.kind <> 'reference' OR t.case_run_id IS NOT NULL)
    ) OR NEW.timeline_id IN (NEW.first_id, NEW.second_id) THEN
        PERFORM timelines_refuse('consensus_of_references', 'a consensus is of references of its own case');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_consensus_refers BEFORE INSERT OR UPDATE ON timelines_consensus
    FOR EACH ROW EXECUTE FUNCTION timelines_consensus_refers();

CREATE FUNCTION timelines_consensus_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_timeline WHERE id = OLD.first_id)
        AND EXISTS (SELECT 1 FROM timelines_timeline WHERE id = OLD.second_id) THEN
        PERFORM timelines_refuse('consensus_kept', 'a consensus leaves only together with its timelines');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_consensus_gone AFTER DELETE ON timelines_consensus
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_consensus_gone();

-- Their decisions.

CREATE FUNCTION timelines_consensusdecision_refers() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    c timelines_consensus%ROWTYPE;
BEGIN
    SELECT * INTO c FROM timelines_consensus WHERE id = NEW.consensus_id;
    IF c.timeline_id IS NOT NULL THEN
        PERFORM timelines_refuse('consensus_kept', 'a submitted consensus takes no decision');
    END IF;
    IF (NEW.first_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM timelines_entry WHERE timeline_id = c.first_id AND occurrence_id = NEW.first_id))
        OR (NEW.second_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM timelines_entry WHERE timeline_id = c.second_id AND occurrence_id = NEW.second_id)) THEN
        PERFORM timelines_refuse('consensus_of_references', 'a decision names occurrences of its two timelines');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_consensusdecision_refers BEFORE INSERT ON timelines_consensusdecision
    FOR EACH ROW EXECUTE FUNCTION timelines_consensusdecision_refers();

CREATE FUNCTION timelines_consensusdecision_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM timelines_refuse('consensus_kept', 'decisions of a consensus are append-only');
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_consensusdecision_kept BEFORE UPDATE ON timelines_consensusdecision
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION timelines_consensusdecision_kept();

CREATE FUNCTION timelines_consensusdecision_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_consensus WHERE id = OLD.consensus_id) THEN
        PERFORM timelines_refuse('consensus_kept', 'a decision leaves only together with its consensus');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_consensusdecision_gone
    AFTER DELETE ON timelines_consensusdecision
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_consensusdecision_gone();
