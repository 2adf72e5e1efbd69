-- Corrections, curated timelines, comments, flags and pins.
--
-- * All of them are append-only: a row never changes, and leaves only together with its timeline,
--   case or occurrence (judged at the end of the transaction).
-- * A correction names an occurrence of its base's sealed inventory, rows of that case, and only
--   corrections of the same base and occurrence. A reference and a curated timeline have none.
-- * A comment names an occurrence and a parent of its own case; a flag that withdraws names one of
--   the same occurrence.
-- * A curated timeline is over the inventory of its base.

CREATE FUNCTION timelines_answer_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM timelines_refuse('answer_kept', 'corrections, comments and flags are append-only');
    RETURN NULL;
END $$;

-- Corrections.

CREATE FUNCTION timelines_correction_refers() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    base timelines_timeline%ROWTYPE;
BEGIN
    SELECT * INTO base FROM timelines_timeline WHERE id = NEW.base_id;
    IF base.kind = 'reference' OR EXISTS (SELECT 1 FROM timelines_curatedtimeline WHERE timeline_id = NEW.base_id) THEN
        PERFORM timelines_refuse('correction_of_a_base', 'a reference or a curated timeline is no base of corrections');
    END IF;
    IF NOT EXISTS (
        SELECT 1 FROM timelines_occurrence o JOIN timelines_inventory i ON i.id = o.inventory_id
        WHERE o.id = NEW.occurrence_id AND i.id = base.inventory_id AND i.sealed_at IS NOT NULL
    ) THEN
        PERFORM timelines_refuse('correction_of_own_inventory', 'a correction names an occurrence that is not of its sealed base');
    END IF;
    IF EXISTS (
        SELECT 1 FROM timelines_correction c WHERE c.id IN (NEW.undoes_id, NEW.chosen_id)
        AND (c.base_id, c.occurrence_id) IS DISTINCT FROM (NEW.base_id, NEW.occurrence_id)
    ) THEN
        PERFORM timelines_refuse('correction_undoes_own', 'a correction undoes or chooses one of another occurrence');
    END IF;
    IF EXISTS (SELECT 1 FROM timelines_correction c WHERE c.id = NEW.undoes_id AND c.kind = 'undo')
        OR EXISTS (SELECT 1 FROM timelines_correction c WHERE c.id = NEW.chosen_id AND (c.settles OR c.kind = 'undo')) THEN
        PERFORM timelines_refuse('correction_undoes_answer', 'only an answer is undone or chosen');
    END IF;
    IF EXISTS (
        SELECT 1 FROM unnest(NEW.rows) AS a(row_index) JOIN ehr_encounter n ON n.id = base.encounter_id
        WHERE NOT EXISTS (
            SELECT 1 FROM ehr_sourcerow r WHERE r.dataset_id = n.dataset_id AND r.encounter_id = n.id AND r.row_index = a.row_index
        )
    ) THEN
        PERFORM timelines_refuse('correction_rows_of_case', 'a correction names a row that is not of its case');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_correction_refers BEFORE INSERT ON timelines_correction
    FOR EACH ROW EXECUTE FUNCTION timelines_correction_refers();
CREATE TRIGGER timelines_correction_kept BEFORE UPDATE ON timelines_correction
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_answer_kept();

CREATE FUNCTION timelines_correction_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_timeline WHERE id = OLD.base_id) THEN
        PERFORM timelines_refuse('answer_kept', 'a correction leaves only together with its base');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_correction_gone AFTER DELETE ON timelines_correction
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_correction_gone();

-- Curated timelines.

CREATE FUNCTION timelines_curated_refers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM timelines_timeline t JOIN timelines_timeline b ON b.inventory_id = t.inventory_id
        WHERE t.id = NEW.timeline_id AND b.id = NEW.base_id AND b.id <> t.id AND t.case_run_id IS NULL
        AND NOT EXISTS (SELECT 1 FROM timelines_curatedtimeline WHERE timeline_id = b.id)
    ) THEN
        PERFORM timelines_refuse('curated_over_base', 'a curated timeline is over the inventory of its base');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_curated_refers BEFORE INSERT ON timelines_curatedtimeline
    FOR EACH ROW EXECUTE FUNCTION timelines_curated_refers();
CREATE TRIGGER timelines_curatedtimeline_kept BEFORE UPDATE ON timelines_curatedtimeline
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_answer_kept();

CREATE FUNCTION timelines_curated_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_timeline WHERE id = OLD.timeline_id) THEN
        PERFORM timelines_refuse('answer_kept', 'a curated timeline keeps its base');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_curated_gone AFTER DELETE ON timelines_curatedtimeline
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_curated_gone();

-- Comments and their mentions.

CREATE FUNCTION timelines_comment_refers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.occurrence_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM timelines_occurrence o JOIN timelines_inventory i ON i.id = o.inventory_id
        WHERE o.id = NEW.occurrence_id AND i.encounter_id = NEW.encounter_id AND i.sealed_at IS NOT NULL
    ) THEN
        PERFORM timelines_refuse('comment_of_own_case', 'a comment names an occurrence that is not of its case');
    END IF;
    IF NEW.parent_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM timelines_comment c WHERE c.id = NEW.parent_id AND c.kind = 'comment'
        AND c.encounter_id = NEW.encounter_id AND c.occurrence_id IS NOT DISTINCT FROM NEW.occurrence_id
        AND (c.parent_id IS NULL OR NEW.kind = 'withdraw')
    ) THEN
        PERFORM timelines_refuse('comment_of_own_thread', 'a comment answers the first one of its own thread');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_comment_refers BEFORE INSERT ON timelines_comment
    FOR EACH ROW EXECUTE FUNCTION timelines_comment_refers();
CREATE TRIGGER timelines_comment_kept BEFORE UPDATE ON timelines_comment
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_answer_kept();

CREATE FUNCTION timelines_comment_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM ehr_encounter WHERE id = OLD.encounter_id)
        AND (OLD.occurrence_id IS NULL OR EXISTS (SELECT 1 FROM timelines_occurrence WHERE id = OLD.occurrence_id)) THEN
        PERFORM timelines_refuse('answer_kept', 'a comment leaves only together with its case or occurrence');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_comment_gone AFTER DELETE ON timelines_comment
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_comment_gone();

CREATE TRIGGER timelines_mention_kept BEFORE UPDATE ON timelines_mention
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_answer_kept();

CREATE FUNCTION timelines_mention_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_comment WHERE id = OLD.comment_id) THEN
        PERFORM timelines_refuse('answer_kept', 'a mention leaves only together with its comment');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_mention_gone AFTER DELETE ON timelines_mention
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_mention_gone();

-- Flags.

CREATE FUNCTION timelines_flag_refers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM timelines_occurrence o JOIN timelines_inventory i ON i.id = o.inventory_id
        WHERE o.id = NEW.occurrence_id AND i.sealed_at IS NOT NULL
    ) OR EXISTS (
        SELECT 1 FROM timelines_flag f WHERE f.id = NEW.withdraws_id
        AND (f.occurrence_id <> NEW.occurrence_id OR f.withdraws_id IS NOT NULL)
    ) THEN
        PERFORM timelines_refuse('flag_of_own_occurrence', 'a flag is of a sealed occurrence and withdraws one of the same');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_flag_refers BEFORE INSERT ON timelines_flag
    FOR EACH ROW EXECUTE FUNCTION timelines_flag_refers();
CREATE TRIGGER timelines_flag_kept BEFORE UPDATE ON timelines_flag
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_answer_kept();

CREATE FUNCTION timelines_flag_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_occurrence WHERE id = OLD.occurrence_id) THEN
        PERFORM timelines_refuse('answer_kept', 'a flag leaves only together with its occurrence');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_flag_gone AFTER DELETE ON timelines_flag
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_flag_gone();

-- Pins of the story.

CREATE FUNCTION timelines_pin_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM timelines_refuse('pin_kept', 'pins are append-only');
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_pin_kept BEFORE UPDATE ON timelines_storypin
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_pin_kept();

CREATE FUNCTION timelines_pin_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_occurrence WHERE id = OLD.occurrence_id) THEN
        PERFORM timelines_refuse('pin_kept', 'a pin leaves only together with its occurrence');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_pin_gone AFTER DELETE ON timelines_storypin
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_pin_gone();
