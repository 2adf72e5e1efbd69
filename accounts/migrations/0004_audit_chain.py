"""The audit trail is a chain: each event has a link with the hash of its content and of the link before.

Links are made by a trigger at the end of each transaction (a deferred constraint trigger), for any number of events and any writer:
the lock on the end of the chain lasts for the commit alone, not for the transaction's work. Why: docs/adr/0034-audit-chain.md.
"""

import django.db.models.deletion
from django.db import migrations, models

HASH = """
CREATE FUNCTION accounts_audit_hash(previous text, e accounts_auditevent) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(previous || E'\\n' || jsonb_build_array(
        e.id, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), e.actor_id, e.study_id, e.action, e.object_type,
        e.object_id, e.detail
    )::text, 'UTF8')), 'hex')
$$;
"""

LINK = """
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
CREATE TRIGGER accounts_audit_link_no_change BEFORE UPDATE OR DELETE ON accounts_auditlink
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_refuse();
-- Only the trigger above makes links.
CREATE TRIGGER accounts_audit_link_no_insert BEFORE INSERT ON accounts_auditlink
    FOR EACH STATEMENT WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION accounts_audit_refuse();
CREATE TRIGGER accounts_audit_link_no_truncate BEFORE TRUNCATE ON accounts_auditlink
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_refuse();
"""

#: Events from before the chain, in the order of their ids.
EARLIER = """
DO $$
DECLARE
    e accounts_auditevent%ROWTYPE;
    head text := '';
    place bigint := 0;
BEGIN
    FOR e IN SELECT * FROM accounts_auditevent ORDER BY id LOOP
        head := accounts_audit_hash(head, e);
        place := place + 1;
        INSERT INTO accounts_auditlink (sequence, event_id, hash) VALUES (place, e.id, head);
    END LOOP;
END
$$;
"""

DROP = """
DROP TRIGGER accounts_audit_link ON accounts_auditevent;
DROP FUNCTION accounts_audit_link();
DROP FUNCTION accounts_audit_hash(text, accounts_auditevent);
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_api_token")]

    operations = [
        migrations.CreateModel(
            name="AuditLink",
            fields=[
                ("sequence", models.BigIntegerField(primary_key=True, serialize=False)),
                ("hash", models.CharField(max_length=64)),
                (
                    "event",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="link",
                        to="accounts.auditevent",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(HASH + EARLIER + LINK, DROP),
    ]
