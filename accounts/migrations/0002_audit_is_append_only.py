"""The audit trail accepts INSERT and SELECT; the database itself refuses every other statement from everyone."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION accounts_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only: % refused', TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER accounts_audit_no_change BEFORE UPDATE OR DELETE ON accounts_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_refuse();
CREATE TRIGGER accounts_audit_no_truncate BEFORE TRUNCATE ON accounts_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_refuse();
"""

BACKWARD = """
DROP TRIGGER accounts_audit_no_truncate ON accounts_auditevent;
DROP TRIGGER accounts_audit_no_change ON accounts_auditevent;
DROP FUNCTION accounts_audit_refuse();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
