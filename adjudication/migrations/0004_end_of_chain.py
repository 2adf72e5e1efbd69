"""Packets note where their chain of decisions ends."""

from django.db import migrations, models

FILL = """
UPDATE adjudication_packet p SET chain_length = d.sequence, chain_head = d.hash
FROM (SELECT DISTINCT ON (packet_id) packet_id, sequence, hash FROM adjudication_decision ORDER BY packet_id, sequence DESC) d
WHERE d.packet_id = p.id;
"""


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0003_calls_of_planted_games")]

    operations = [
        migrations.AddField("packet", "chain_length", models.PositiveIntegerField(default=0)),
        migrations.AddField("packet", "chain_head", models.CharField(blank=True, default="", max_length=64)),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
