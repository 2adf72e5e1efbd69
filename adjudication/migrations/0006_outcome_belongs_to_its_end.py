"""A judged game is done and an unjudged one failed. Outcomes of an earlier round, or of an attempt that was cut off, go."""

from django.db import migrations, models
from django.db.models import Q

BELONGS = (
    Q(outcome="") | Q(outcome="judged", state__in=["running", "succeeded"]) | Q(outcome="unjudged", state__in=["running", "failed"])
)
#: Its findings are complete, as they were stored with the outcome: only the last step is missing.
DONE = "UPDATE adjudication_game SET state = 'succeeded', lease_expires_at = NULL WHERE outcome = 'judged' AND state IN ('failed', 'cancelled')"
STALE = """
UPDATE adjudication_game SET outcome = '', unjudged_reasons = '{}'
WHERE (outcome = 'judged' AND state IN ('blocked', 'queued'))
   OR (outcome = 'unjudged' AND (state NOT IN ('running', 'failed')
       OR (state = 'failed' AND cardinality(reasons) > 0 AND reasons[cardinality(reasons)] NOT LIKE '%NotJudged%')))
"""


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0005_cancelled_jobs_do_not_wait")]

    operations = [
        migrations.RunSQL(DONE, migrations.RunSQL.noop),
        migrations.RunSQL(STALE, migrations.RunSQL.noop),
        migrations.AddConstraint("game", models.CheckConstraint(condition=BELONGS, name="outcome_belongs_to_its_end")),
    ]
