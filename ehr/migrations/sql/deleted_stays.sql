-- Stays of deleted cases are append-only: the database refuses UPDATE, DELETE and TRUNCATE.

CREATE FUNCTION ehr_deleted_stay_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'deleted stays are append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER ehr_deleted_stay_no_change BEFORE UPDATE OR DELETE ON ehr_deletedstay
    FOR EACH STATEMENT EXECUTE FUNCTION ehr_deleted_stay_refuse();
CREATE TRIGGER ehr_deleted_stay_no_truncate BEFORE TRUNCATE ON ehr_deletedstay
    FOR EACH STATEMENT EXECUTE FUNCTION ehr_deleted_stay_refuse();
