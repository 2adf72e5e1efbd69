"""Store figures of judge runs, and what lists of findings sort by."""

from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


SQL = Path(__file__).with_name("sql")


class Migration(migrations.Migration):

    dependencies = [
        ('adjudication', '0002_due_date_of_packets'),
        ('ehr', '0004_replacing_authored'),
        ('timelines', '0005_export_sources'),
    ]

    operations = [
        migrations.CreateModel(
            name='FindingCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('facet', models.CharField(max_length=100)),
                ('n', models.IntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='RunFigures',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('blocked', 'Waits for an earlier step'), ('queued', 'Queued'), ('running', 'Running'), ('succeeded', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=20)),
                ('attempt', models.PositiveSmallIntegerField(default=0)),
                ('max_attempts', models.PositiveSmallIntegerField(default=3)),
                ('outages', models.PositiveSmallIntegerField(default=0)),
                ('fence', models.BigIntegerField(default=0)),
                ('worker', models.CharField(blank=True, max_length=200)),
                ('queued_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('not_before', models.DateTimeField(blank=True, null=True)),
                ('hinted_at', models.DateTimeField(blank=True, null=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                ('lease_expires_at', models.DateTimeField(blank=True, null=True)),
                ('finished_at', models.DateTimeField(blank=True, null=True)),
                ('cancel_requested', models.BooleanField(default=False)),
                ('reasons', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, size=None)),
                ('progress', models.JSONField(blank=True, default=dict)),
                ('basis', models.JSONField(blank=True, null=True)),
                ('figures', models.JSONField(blank=True, null=True)),
                ('computed_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.RemoveIndex(
            model_name='finding',
            name='finding_by_type',
        ),
        migrations.AddField(
            model_name='finding',
            name='apart',
            field=models.IntegerField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name='finding',
            name='case',
            field=models.CharField(blank=True, editable=False, max_length=100),
        ),
        migrations.AddField(
            model_name='finding',
            name='facet',
            field=models.CharField(blank=True, editable=False, max_length=100),
        ),
        migrations.AddField(
            model_name='finding',
            name='run',
            field=models.ForeignKey(db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='adjudication.judgerun'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=models.Index(fields=['run', 'facet'], name='finding_by_facet'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=models.Index(fields=['run', 'game', 'ordinal'], name='finding_in_order'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=models.Index(fields=['run', 'case', 'game', 'ordinal'], name='finding_by_case'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=models.Index(fields=['run', 'apart', 'id'], name='finding_by_size'),
        ),
        migrations.AddField(
            model_name='findingcount',
            name='run',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='adjudication.judgerun'),
        ),
        migrations.AddField(
            model_name='runfigures',
            name='against',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='adjudication.judgerun'),
        ),
        migrations.AddField(
            model_name='runfigures',
            name='run',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='figures', to='adjudication.judgerun'),
        ),
        migrations.AddIndex(
            model_name='runfigures',
            index=models.Index(fields=['state', 'lease_expires_at'], name='adjudication_runfigures_claim'),
        ),
        migrations.AddIndex(
            model_name='runfigures',
            index=models.Index(condition=models.Q(('state', 'queued')), fields=['hinted_at', 'id'], name='adjudication_runfigures_hint'),
        ),
        migrations.AddConstraint(
            model_name='runfigures',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['blocked', 'queued', 'running', 'succeeded', 'failed', 'cancelled'])), name='adjudication_runfigures_state_valid'),
        ),
        migrations.AddConstraint(
            model_name='runfigures',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('lease_expires_at__isnull', False), _connector='OR'), name='adjudication_runfigures_running_has_lease'),
        ),
        migrations.AddConstraint(
            model_name='runfigures',
            constraint=models.CheckConstraint(condition=models.Q(('cancel_requested', True), ('state__in', ['blocked', 'queued']), _negated=True), name='adjudication_runfigures_cancelled_does_not_wait'),
        ),
        migrations.AddConstraint(
            model_name='runfigures',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['queued', 'running'])), fields=('run', 'against'), name='figures_under_way_once', nulls_distinct=False),
        ),
        migrations.AddConstraint(
            model_name='runfigures',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'succeeded'), _negated=True), models.Q(('basis__isnull', False), ('figures__isnull', False)), _connector='OR'), name='done_figures_are_there'),
        ),
        migrations.RunSQL((SQL / "listing.sql").read_text(encoding="utf-8")),
    ]
