"""A judged game keeps the number and the faults of the findings that were dropped: it is judged in part."""

import django.contrib.postgres.fields
from django.db import migrations, models
from django.db.models import Q

TRIGGER = """
DROP TRIGGER adjudication_game_sides_kept ON adjudication_game;
CREATE TRIGGER adjudication_game_sides_kept BEFORE UPDATE ON adjudication_game FOR EACH ROW WHEN (
    (OLD.public_id, OLD.run_id, OLD.comparison_id, OLD.swapped, OLD.seed, OLD.a_is_first, OLD.outcome, OLD.input_sha256{old})
    IS DISTINCT FROM
    (NEW.public_id, NEW.run_id, NEW.comparison_id, NEW.swapped, NEW.seed, NEW.a_is_first, NEW.outcome, NEW.input_sha256{new})
) EXECUTE FUNCTION adjudication_game_sides_kept();
"""
FORWARD = TRIGGER.format(old=", OLD.dropped_findings, OLD.dropped_reasons", new=", NEW.dropped_findings, NEW.dropped_reasons")
BACKWARD = TRIGGER.format(old="", new="")


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0010_kept_counts")]

    operations = [
        migrations.AddField("game", "dropped_findings", models.PositiveIntegerField(default=0)),
        migrations.AddField(
            "game",
            "dropped_reasons",
            django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, size=None),
        ),
        migrations.AddConstraint(
            "game",
            models.CheckConstraint(condition=Q(dropped_findings=0) | Q(outcome="judged"), name="only_judged_game_drops_findings"),
        ),
        migrations.AddIndex("game", models.Index(condition=Q(dropped_findings__gt=0), fields=["run"], name="game_judged_in_part")),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
