"""A game that was asked to stop no longer waits: nobody would claim it. Those that do are cancelled."""

from django.db import migrations, models

WAITING = models.Q(state__in=["blocked", "queued"], cancel_requested=True)
END = "UPDATE adjudication_game SET state = 'cancelled', finished_at = now() WHERE cancel_requested AND state IN ('blocked', 'queued')"


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0004_end_of_chain")]

    operations = [
        migrations.RunSQL(END, migrations.RunSQL.noop),
        migrations.AddConstraint("game", models.CheckConstraint(condition=~WAITING, name="adjudication_game_cancelled_does_not_wait")),
    ]
