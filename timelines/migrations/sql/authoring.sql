-- Authoring.
--
-- * The log of edits is append-only: an edit is never changed, and leaves only together with its
--   authoring (judged at the end of the transaction). Edits count 1, 2, 3, … without a gap, and an
--   undo or redo names an edit of the same authoring.
-- * What was typed for an occurrence of a sealed inventory stays as it is; it leaves only together
--   with the inventory.
-- * An authoring writes over an inventory of its own case, and its timeline is of that case too; a
--   draft's inventory is open, a submitted one's is sealed (judged at the end of the transaction).

-- Edits.

CREATE FUNCTION timelines_edit_follows() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.number <> 1 + (SELECT count(*) FROM timelines_authoringedit WHERE authoring_id = NEW.authoring_id) THEN
        PERFORM timelines_refuse('edits_without_gap', 'edits of an authoring count without a gap');
    END IF;
    IF NEW.undoes_id IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM timelines_authoringedit WHERE id = NEW.undoes_id AND authoring_id = NEW.authoring_id
    ) THEN
        PERFORM timelines_refuse('edit_undoes_own', 'an edit takes back or brings back one of the same authoring');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_edit_follows BEFORE INSERT ON timelines_authoringedit
    FOR EACH ROW EXECUTE FUNCTION timelines_edit_follows();

CREATE FUNCTION timelines_edit_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM timelines_refuse('edit_kept', 'the log of edits is append-only');
    RETURN NULL;
END $$;
CREATE TRIGGER timelines_edit_kept BEFORE UPDATE ON timelines_authoringedit
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION timelines_edit_kept();

CREATE FUNCTION timelines_edit_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM timelines_authoring WHERE id = OLD.authoring_id) THEN
        PERFORM timelines_refuse('edit_kept', 'an edit leaves the log only together with its authoring');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_edit_gone AFTER DELETE ON timelines_authoringedit
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_edit_gone();

-- Drafts.

CREATE FUNCTION timelines_draft_is_sealed(occurrence bigint) RETURNS boolean
    LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT 1 FROM timelines_occurrence o JOIN timelines_inventory i ON i.id = o.inventory_id
        WHERE o.id = occurrence AND i.sealed_at IS NOT NULL
    )
$$;

CREATE FUNCTION timelines_draft_open() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF timelines_draft_is_sealed(NEW.occurrence_id) OR (TG_OP = 'UPDATE' AND timelines_draft_is_sealed(OLD.occurrence_id)) THEN
        PERFORM timelines_refuse('sealed_draft_kept', 'what was typed for a sealed inventory stays');
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER timelines_draft_open BEFORE INSERT OR UPDATE ON timelines_draftentry
    FOR EACH ROW EXECUTE FUNCTION timelines_draft_open();

CREATE FUNCTION timelines_draft_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF timelines_draft_is_sealed(OLD.occurrence_id) THEN
        PERFORM timelines_refuse('sealed_draft_kept', 'what was typed for a sealed inventory leaves only together with it');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_draft_gone AFTER DELETE ON timelines_draftentry
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_draft_gone();

-- Authorings.

CREATE FUNCTION timelines_authoring_holds() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    a timelines_authoring%ROWTYPE;
    sealed timestamptz;
    own boolean;
BEGIN
    SELECT * INTO a FROM timelines_authoring WHERE id = NEW.id;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT i.sealed_at, i.encounter_id = a.encounter_id AND i.run_id IS NULL INTO sealed, own
        FROM timelines_inventory i WHERE i.id = a.inventory_id;
    IF NOT own OR EXISTS (SELECT 1 FROM timelines_timeline WHERE id = a.timeline_id AND encounter_id <> a.encounter_id) THEN
        PERFORM timelines_refuse('authoring_of_own_case', 'an authoring writes over an inventory of its own case');
    END IF;
    IF (a.state = 'draft') <> (sealed IS NULL) THEN
        PERFORM timelines_refuse('authoring_state_of_inventory', 'a draft is written in an open inventory, a submitted one is sealed');
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER timelines_authoring_holds AFTER INSERT OR UPDATE ON timelines_authoring
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION timelines_authoring_holds();
