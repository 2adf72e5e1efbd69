-- The audit trail accepts INSERT and SELECT; the database itself refuses every other statement from
-- everyone.
--
-- It is a chain: each event has a link with the hash of its content and of the link before. Links
-- are made by a trigger at the end of each transaction (a deferred constraint trigger), for any
-- number of events and any writer: the lock on the end of the chain lasts for the commit alone, not
-- for the transaction's work. Why: docs/adr/0034-audit-chain.md.

-- Append-only.

CREATE FUNCTION accounts_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER accounts_audit_no_change BEFORE UPDATE OR DELETE ON accounts_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_refuse();
CREATE TRIGGER accounts_audit_no_truncate BEFORE TRUNCATE ON accounts_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_refuse();

CREATE TRIGGER accounts_audit_link_no_change BEFORE UPDATE OR DELETE ON accounts_auditlink
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_refuse();
-- Only the trigger below makes links.
CREATE TRIGGER accounts_audit_link_no_insert BEFORE INSERT ON accounts_auditlink
    FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION accounts_audit_refuse();
CREATE TRIGGER accounts_audit_link_no_truncate BEFORE TRUNCATE ON accounts_auditlink
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_refuse();

-- The chain.

CREATE FUNCTION accounts_audit_hash(previous text, e accounts_auditevent) RETURNS text
    LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(previous || E'\n' || jsonb_build_array(
        e.id, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), e.actor_id, e.study_id, e.action, e.object_type,
        e.object_id, e.detail
    )::text, 'UTF8')), 'hex')
$$;

CREATE FUNCTION accounts_audit_link() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    head accounts_auditlink%ROWTYPE;
BEGIN
    PERFORM pg_advisory_xact_lock('accounts_auditlink'::regclass::oid::bigint);
    SELECT * INTO head FROM accounts_auditlink ORDER BY sequence DESC LIMIT 1;
    INSERT INTO accounts_auditlink (sequence, event_id, hash)
        VALUES (coalesce(head.sequence, 0) + 1, NEW.id, accounts_audit_hash(coalesce(head.hash, ''), NEW));
    RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER accounts_audit_link AFTER INSERT ON accounts_auditevent
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION accounts_audit_link();
