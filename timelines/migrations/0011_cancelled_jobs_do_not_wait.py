"""A job that was asked to stop no longer waits: nobody would claim it. Those that do are cancelled."""

from django.db import migrations, models

WAITING = models.Q(state__in=["blocked", "queued"], cancel_requested=True)
END = "UPDATE {} SET state = 'cancelled', finished_at = now() WHERE cancel_requested AND state IN ('blocked', 'queued')"


class Migration(migrations.Migration):
    dependencies = [("timelines", "0010_imported_times_may_lack_a_basis")]

    operations = [
        operation
        for name in ("evaluation", "stagerun")
        for operation in (
            migrations.RunSQL(END.format(f"timelines_{name}"), migrations.RunSQL.noop),
            migrations.AddConstraint(name, models.CheckConstraint(condition=~WAITING, name=f"timelines_{name}_cancelled_does_not_wait")),
        )
    ]
