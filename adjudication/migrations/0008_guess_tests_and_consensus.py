"""Run guess tests as jobs; find consensuses; name calls of measurements."""

from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


SQL = Path(__file__).with_name("sql")


class Migration(migrations.Migration):

    dependencies = [
        ('adjudication', '0007_searches_notes_practice'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='GuessTest',
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
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('packet', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='guess_tests', to='adjudication.packet')),
            ],
            options={
                'ordering': ['-pk'],
                'abstract': False,
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['blocked', 'queued', 'running', 'succeeded', 'failed', 'cancelled'])), name='adjudication_guesstest_state_valid'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('lease_expires_at__isnull', False), _connector='OR'), name='adjudication_guesstest_running_has_lease'), models.CheckConstraint(condition=models.Q(('cancel_requested', True), ('state__in', ['blocked', 'queued']), _negated=True), name='adjudication_guesstest_cancelled_does_not_wait')],
            },
        ),
        migrations.RunSQL((SQL / "consensus.sql").read_text(encoding="utf-8")),
    ]
