"""A packet may say by when its review is due; the date may change until the packet is closed."""

from django.db import migrations, models

TRIGGER = """
DROP TRIGGER adjudication_opened_packet_kept ON adjudication_packet;
CREATE TRIGGER adjudication_opened_packet_kept BEFORE UPDATE ON adjudication_packet FOR EACH ROW WHEN (
    OLD.state <> 'draft' AND (
        to_jsonb(OLD) - ARRAY['state', 'closed_at', 'chain_length', 'chain_head'{free}]
        IS DISTINCT FROM to_jsonb(NEW) - ARRAY['state', 'closed_at', 'chain_length', 'chain_head'{free}]
        OR (OLD.state = 'closed' AND OLD.closed_at IS DISTINCT FROM NEW.closed_at){kept}
    )
) EXECUTE FUNCTION adjudication_opened_packet_kept();
"""
FORWARD = TRIGGER.format(
    free=", 'due_on'",
    kept="\n        OR (OLD.state = 'closed' AND OLD.due_on IS DISTINCT FROM NEW.due_on)",
)
BACKWARD = TRIGGER.format(free="", kept="")


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0001_schema")]

    operations = [
        migrations.AddField("packet", "due_on", models.DateField(blank=True, null=True)),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
