"""Where a person should look, and important rows that people dismissed."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_export_notification'),
        ('cohorts', '0001_schema'),
        ('ehr', '0003_uploads_and_jobs'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AttentionItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid4', models.CharField(blank=True, max_length=4)),
                ('reasons', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=12), size=None)),
                ('targets', models.JSONField(default=dict)),
                ('score', models.FloatField()),
                ('encounter', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ehr.encounter')),
                ('study', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.study')),
            ],
            options={
                'indexes': [models.Index(fields=['study', '-score', 'id'], name='attention_by_score')],
                'constraints': [models.UniqueConstraint(fields=('study', 'encounter', 'uid4'), name='attention_once_per_place')],
            },
        ),
        migrations.CreateModel(
            name='AttentionMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('uid4', models.CharField(blank=True, max_length=4)),
                ('reasons', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=12), size=None)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('encounter', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ehr.encounter')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.study')),
            ],
            options={
                'indexes': [models.Index(fields=['study', 'encounter', 'uid4'], name='mark_by_place')],
            },
        ),
        migrations.CreateModel(
            name='AttentionRanking',
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
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.study')),
            ],
            options={
                'abstract': False,
                'indexes': [models.Index(fields=['state', 'lease_expires_at'], name='cohorts_attentionranking_claim'), models.Index(condition=models.Q(('state', 'queued')), fields=['hinted_at', 'id'], name='cohorts_attentionranking_hint')],
                'constraints': [models.CheckConstraint(condition=models.Q(('state__in', ['blocked', 'queued', 'running', 'succeeded', 'failed', 'cancelled'])), name='cohorts_attentionranking_state_valid'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('lease_expires_at__isnull', False), _connector='OR'), name='cohorts_attentionranking_running_has_lease'), models.CheckConstraint(condition=models.Q(('cancel_requested', True), ('state__in', ['blocked', 'queued']), _negated=True), name='cohorts_attentionranking_cancelled_does_not_wait')],
            },
        ),
        migrations.CreateModel(
            name='RowDismissal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('row_index', models.IntegerField()),
                ('kind', models.CharField(max_length=40)),
                ('reason', models.TextField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('encounter', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ehr.encounter')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('encounter', 'row_index'), name='row_dismissed_once'), models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='dismissal_has_a_reason')],
            },
        ),
        migrations.RunSQL(
            """
            CREATE TRIGGER cohorts_attentionmark_kept BEFORE UPDATE ON cohorts_attentionmark
                FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION cohorts_kept();
            CREATE TRIGGER cohorts_rowdismissal_kept BEFORE UPDATE ON cohorts_rowdismissal
                FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION cohorts_kept();
            """,
            """
            DROP TRIGGER cohorts_attentionmark_kept ON cohorts_attentionmark;
            DROP TRIGGER cohorts_rowdismissal_kept ON cohorts_rowdismissal;
            """,
        ),
    ]
