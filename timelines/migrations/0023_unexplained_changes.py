"""The largest change of a case that cites no row, for the home page; also of finished runs."""

import django.db.models.deletion
from django.db import migrations, models

# The same as `timelines.pipeline.changes.find_largest_unexplained`.
FINISHED = """
INSERT INTO timelines_unexplainedchange (case_run_id, run_id, occurrence_id, hours, weight)
SELECT DISTINCT ON (found.case_run_id) found.case_run_id, found.run_id, found.occurrence_id, found.hours, found.hours / found.tolerance
FROM (
    SELECT c.id AS case_run_id, c.run_id, e.occurrence_id, o.ordinal, abs(e.time - b.time) AS hours,
        greatest(3, 0.1 * greatest(abs(e.time), abs(b.time))) AS tolerance
    FROM timelines_timeline r
    JOIN timelines_timeline t ON t.case_run_id = r.case_run_id AND t.kind = 'text_only' AND t.alternative = 1
    JOIN timelines_caserun c ON c.id = r.case_run_id
    JOIN timelines_entry e ON e.timeline_id = r.id
    JOIN timelines_entry b ON b.timeline_id = t.id AND b.occurrence_id = e.occurrence_id
    JOIN timelines_occurrence o ON o.id = e.occurrence_id
    WHERE r.kind = 'revised' AND r.alternative = 1 AND cardinality(e.adopted_rows) = 0
) AS found
WHERE found.hours >= found.tolerance
ORDER BY found.case_run_id, found.hours / found.tolerance DESC, found.ordinal
"""


class Migration(migrations.Migration):

    dependencies = [
        ('timelines', '0022_occurrence_words'),
    ]

    operations = [
        migrations.CreateModel(
            name='UnexplainedChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('hours', models.FloatField()),
                ('weight', models.FloatField()),
                ('case_run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='unexplained_change', to='timelines.caserun')),
                ('occurrence', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='timelines.occurrence')),
                ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='timelines.run')),
            ],
            options={
                'indexes': [models.Index(fields=['run', '-weight'], name='largest_change_of_run')],
            },
        ),
        migrations.RunSQL(FINISHED, migrations.RunSQL.noop),
    ]
