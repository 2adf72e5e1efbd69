-- Versions and people's decisions are append-only: a row never changes, and leaves only together with
-- its concept, member or window (judged at the end of the transaction).

CREATE FUNCTION cohorts_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'versions and decisions are append-only'
        USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
END $$;

CREATE FUNCTION cohorts_gone() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    parent bigint := (to_jsonb(OLD) ->> TG_ARGV[1])::bigint;
    present boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I WHERE id = $1)', TG_ARGV[0]) INTO present USING parent;
    IF present THEN
        RAISE EXCEPTION 'versions and decisions are append-only'
            USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER cohorts_conceptdecision_kept BEFORE UPDATE ON cohorts_conceptdecision
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION cohorts_kept();
CREATE TRIGGER cohorts_conceptversion_kept BEFORE UPDATE ON cohorts_conceptversion
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION cohorts_kept();
CREATE TRIGGER cohorts_windowversion_kept BEFORE UPDATE ON cohorts_windowversion
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION cohorts_kept();
-- A decision outlives the result that the person looked at.
CREATE TRIGGER cohorts_memberdecision_kept BEFORE UPDATE ON cohorts_memberdecision
    FOR EACH ROW WHEN (to_jsonb(OLD) - 'result_id' IS DISTINCT FROM to_jsonb(NEW) - 'result_id')
    EXECUTE FUNCTION cohorts_kept();

CREATE CONSTRAINT TRIGGER cohorts_conceptdecision_gone AFTER DELETE ON cohorts_conceptdecision
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cohorts_gone('cohorts_conceptmember', 'member_id');
CREATE CONSTRAINT TRIGGER cohorts_conceptversion_gone AFTER DELETE ON cohorts_conceptversion
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cohorts_gone('cohorts_concept', 'concept_id');
CREATE CONSTRAINT TRIGGER cohorts_windowversion_gone AFTER DELETE ON cohorts_windowversion
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cohorts_gone('cohorts_window', 'window_id');
CREATE CONSTRAINT TRIGGER cohorts_memberdecision_gone AFTER DELETE ON cohorts_memberdecision
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION cohorts_gone('ehr_encounter', 'encounter_id');
