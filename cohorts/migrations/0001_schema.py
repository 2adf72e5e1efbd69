"""The tables of concepts, windows, as-of reports and trajectories."""

from pathlib import Path

import accounts.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


SQL = Path(__file__).with_name("sql")


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0003_export_notification'),
        ('ehr', '0003_uploads_and_jobs'),
        ('timelines', '0003_exports'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Documented',
            fields=[
                ('entry', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='documented', serialize=False, to='timelines.entry')),
                ('hours', models.FloatField(null=True)),
                ('by', models.CharField(blank=True, choices=[('result', 'when the result was filed'), ('charted', 'when it was charted'), ('order', 'when it was ordered'), ('note', 'when the note was written'), ('discharge', 'at discharge: the note has no time')], max_length=10)),
                ('row_index', models.IntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Concept',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=accounts.ids.new_public_id, editable=False, max_length=12, unique=True)),
                ('name', models.CharField(max_length=100)),
                ('description', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='concepts', to='accounts.study')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='ConceptMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=accounts.ids.new_public_id, editable=False, max_length=12, unique=True)),
                ('kind', models.CharField(choices=[('mention', 'Mention'), ('series', 'Series')], max_length=8)),
                ('key', models.TextField()),
                ('polarity', models.CharField(blank=True, max_length=10)),
                ('words', models.TextField()),
                ('state', models.CharField(choices=[('proposed', 'Waits for review'), ('accepted', 'Accepted'), ('rejected', 'Rejected')], default='proposed', max_length=8)),
                ('found_by', models.CharField(max_length=300)),
                ('proposed_at', models.DateTimeField(auto_now_add=True)),
                ('concept', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='cohorts.concept')),
            ],
            options={
                'ordering': ['words', 'polarity'],
            },
        ),
        migrations.CreateModel(
            name='ConceptDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('accepted', models.BooleanField()),
                ('reason', models.TextField(blank=True)),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='cohorts.conceptmember')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='ConceptProposing',
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
            },
        ),
        migrations.CreateModel(
            name='ConceptRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=accounts.ids.new_public_id, editable=False, max_length=12, unique=True)),
                ('kind', models.CharField(choices=[('words', 'Words of the mention'), ('drug_class', 'Drugs of a class'), ('series', 'Name of a series')], max_length=12)),
                ('value', models.CharField(max_length=200)),
                ('polarities', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('present', 'present'), ('absent', 'absent'), ('planned', 'planned'), ('family', 'family')], max_length=10), blank=True, default=list, size=None)),
                ('lanes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('history', 'history'), ('finding', 'finding'), ('lab', 'lab'), ('medication', 'medication'), ('procedure', 'procedure'), ('transfer', 'transfer'), ('plan', 'plan')], max_length=20), blank=True, default=list, size=None)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('concept', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='cohorts.concept')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='ConceptSample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=accounts.ids.new_public_id, editable=False, max_length=12, unique=True)),
                ('seed', models.BigIntegerField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('closed_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('reviewer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='concept_samples', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-pk'],
            },
        ),
        migrations.CreateModel(
            name='ConceptSampleItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ordinal', models.PositiveIntegerField()),
                ('is_member', models.BooleanField()),
                ('answer', models.CharField(blank=True, choices=[('yes', 'Yes, it says that'), ('no', 'No'), ('unclear', 'Cannot be decided')], max_length=8)),
                ('answered_at', models.DateTimeField(blank=True, null=True)),
                ('occurrence', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='timelines.occurrence')),
                ('sample', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='items', to='cohorts.conceptsample')),
            ],
            options={
                'ordering': ['ordinal'],
            },
        ),
        migrations.CreateModel(
            name='ConceptVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('members', models.JSONField()),
                ('sha256', models.CharField(max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('concept', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='cohorts.concept')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['concept', '-number'],
            },
        ),
        migrations.AddField(
            model_name='conceptsample',
            name='version',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='samples', to='cohorts.conceptversion'),
        ),
        migrations.CreateModel(
            name='AsOfReport',
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
                ('public_id', models.CharField(default=accounts.ids.new_public_id, editable=False, max_length=12, unique=True)),
                ('label', models.CharField(blank=True, max_length=200)),
                ('source', models.CharField(choices=[('note', 'note'), ('record', 'record'), ('curated', 'curated'), ('reference', 'reference'), ('rows', 'rows')], max_length=10)),
                ('hours', models.FloatField()),
                ('report', models.JSONField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ehr.dataset')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.study')),
                ('after', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='cohorts.conceptversion')),
                ('concepts', models.ManyToManyField(blank=True, related_name='+', to='cohorts.conceptversion')),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Documenting',
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
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='timelines.run')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='LeakageCheck',
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
                ('public_id', models.CharField(default=accounts.ids.new_public_id, editable=False, max_length=12, unique=True)),
                ('label', models.CharField(blank=True, max_length=200)),
                ('source', models.CharField(choices=[('note', 'note'), ('record', 'record'), ('curated', 'curated'), ('reference', 'reference'), ('rows', 'rows')], max_length=10)),
                ('features', models.JSONField(default=list)),
                ('hours', models.FloatField(blank=True, null=True)),
                ('report', models.JSONField(blank=True, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('after', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='cohorts.conceptversion')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ehr.dataset')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.study')),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Trajectory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=accounts.ids.new_public_id, editable=False, max_length=12, unique=True)),
                ('name', models.CharField(max_length=200)),
                ('source', models.CharField(choices=[('note', 'note'), ('record', 'record'), ('curated', 'curated'), ('reference', 'reference'), ('rows', 'rows')], max_length=10)),
                ('config', models.JSONField(blank=True, default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('aligned_at', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='cohorts.conceptversion')),
                ('concepts', models.ManyToManyField(blank=True, related_name='+', to='cohorts.conceptversion')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ehr.dataset')),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.study')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='Window',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=accounts.ids.new_public_id, editable=False, max_length=12, unique=True)),
                ('name', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('archived_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='windows', to='accounts.study')),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='WindowResult',
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
                ('public_id', models.CharField(default=accounts.ids.new_public_id, editable=False, max_length=12, unique=True)),
                ('first', models.CharField(choices=[('note', 'note'), ('record', 'record'), ('curated', 'curated'), ('reference', 'reference'), ('rows', 'rows')], max_length=10)),
                ('second', models.CharField(choices=[('note', 'note'), ('record', 'record'), ('curated', 'curated'), ('reference', 'reference'), ('rows', 'rows')], max_length=10)),
                ('report', models.JSONField(blank=True, null=True)),
                ('code_revision', models.CharField(blank=True, max_length=64)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ehr.dataset')),
            ],
            options={
                'ordering': ['-created_at', '-pk'],
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='WindowMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first', models.CharField(blank=True, choices=[('yes', 'Yes'), ('no', 'No'), ('uncertain', 'Uncertain')], max_length=9)),
                ('second', models.CharField(blank=True, choices=[('yes', 'Yes'), ('no', 'No'), ('uncertain', 'Uncertain')], max_length=9)),
                ('first_share', models.FloatField(null=True)),
                ('second_share', models.FloatField(null=True)),
                ('first_deciding', models.JSONField(default=list)),
                ('second_deciding', models.JSONField(default=list)),
                ('encounter', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ehr.encounter')),
                ('result', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='cohorts.windowresult')),
            ],
        ),
        migrations.CreateModel(
            name='MemberDecision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('status', models.CharField(blank=True, choices=[('yes', 'Yes'), ('no', 'No'), ('uncertain', 'Uncertain')], max_length=9)),
                ('reason', models.TextField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('encounter', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='ehr.encounter')),
                ('window', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='cohorts.window')),
                ('result', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='cohorts.windowresult')),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='WindowVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('yaml', models.TextField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('concepts', models.ManyToManyField(related_name='windows', to='cohorts.conceptversion')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('window', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='cohorts.window')),
            ],
            options={
                'ordering': ['window', '-number'],
            },
        ),
        migrations.AddField(
            model_name='windowresult',
            name='version',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='results', to='cohorts.windowversion'),
        ),
        migrations.AddConstraint(
            model_name='concept',
            constraint=models.UniqueConstraint(fields=('study', 'name'), name='concept_name_once_per_study'),
        ),
        migrations.AddConstraint(
            model_name='concept',
            constraint=models.CheckConstraint(condition=models.Q(('name', ''), _negated=True), name='concept_has_a_name'),
        ),
        migrations.AddIndex(
            model_name='conceptmember',
            index=models.Index(fields=['concept', 'state'], name='member_by_state'),
        ),
        migrations.AddConstraint(
            model_name='conceptmember',
            constraint=models.UniqueConstraint(fields=('concept', 'kind', 'key', 'polarity'), name='member_once_per_concept'),
        ),
        migrations.AddConstraint(
            model_name='conceptmember',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'series'), ('polarity', '')), models.Q(('kind', 'mention'), models.Q(('polarity', ''), _negated=True)), _connector='OR'), name='mention_has_a_polarity'),
        ),
        migrations.AddConstraint(
            model_name='conceptproposing',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['blocked', 'queued', 'running', 'succeeded', 'failed', 'cancelled'])), name='cohorts_conceptproposing_state_valid'),
        ),
        migrations.AddConstraint(
            model_name='conceptproposing',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('lease_expires_at__isnull', False), _connector='OR'), name='cohorts_conceptproposing_running_has_lease'),
        ),
        migrations.AddConstraint(
            model_name='conceptproposing',
            constraint=models.CheckConstraint(condition=models.Q(('cancel_requested', True), ('state__in', ['blocked', 'queued']), _negated=True), name='cohorts_conceptproposing_cancelled_does_not_wait'),
        ),
        migrations.AddConstraint(
            model_name='conceptrule',
            constraint=models.CheckConstraint(condition=models.Q(('value', ''), _negated=True), name='rule_has_a_value'),
        ),
        migrations.AddConstraint(
            model_name='conceptsampleitem',
            constraint=models.UniqueConstraint(fields=('sample', 'ordinal'), name='item_once_per_sample'),
        ),
        migrations.AddConstraint(
            model_name='conceptversion',
            constraint=models.UniqueConstraint(fields=('concept', 'number'), name='version_once_per_concept'),
        ),
        migrations.AddIndex(
            model_name='asofreport',
            index=models.Index(fields=['state', 'lease_expires_at'], name='cohorts_asofreport_claim'),
        ),
        migrations.AddIndex(
            model_name='asofreport',
            index=models.Index(condition=models.Q(('state', 'queued')), fields=['hinted_at', 'id'], name='cohorts_asofreport_hint'),
        ),
        migrations.AddConstraint(
            model_name='asofreport',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['blocked', 'queued', 'running', 'succeeded', 'failed', 'cancelled'])), name='cohorts_asofreport_state_valid'),
        ),
        migrations.AddConstraint(
            model_name='asofreport',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('lease_expires_at__isnull', False), _connector='OR'), name='cohorts_asofreport_running_has_lease'),
        ),
        migrations.AddConstraint(
            model_name='asofreport',
            constraint=models.CheckConstraint(condition=models.Q(('cancel_requested', True), ('state__in', ['blocked', 'queued']), _negated=True), name='cohorts_asofreport_cancelled_does_not_wait'),
        ),
        migrations.AddConstraint(
            model_name='documenting',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['blocked', 'queued', 'running', 'succeeded', 'failed', 'cancelled'])), name='cohorts_documenting_state_valid'),
        ),
        migrations.AddConstraint(
            model_name='documenting',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('lease_expires_at__isnull', False), _connector='OR'), name='cohorts_documenting_running_has_lease'),
        ),
        migrations.AddConstraint(
            model_name='documenting',
            constraint=models.CheckConstraint(condition=models.Q(('cancel_requested', True), ('state__in', ['blocked', 'queued']), _negated=True), name='cohorts_documenting_cancelled_does_not_wait'),
        ),
        migrations.AddIndex(
            model_name='leakagecheck',
            index=models.Index(fields=['state', 'lease_expires_at'], name='cohorts_leakagecheck_claim'),
        ),
        migrations.AddIndex(
            model_name='leakagecheck',
            index=models.Index(condition=models.Q(('state', 'queued')), fields=['hinted_at', 'id'], name='cohorts_leakagecheck_hint'),
        ),
        migrations.AddConstraint(
            model_name='leakagecheck',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['blocked', 'queued', 'running', 'succeeded', 'failed', 'cancelled'])), name='cohorts_leakagecheck_state_valid'),
        ),
        migrations.AddConstraint(
            model_name='leakagecheck',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('lease_expires_at__isnull', False), _connector='OR'), name='cohorts_leakagecheck_running_has_lease'),
        ),
        migrations.AddConstraint(
            model_name='leakagecheck',
            constraint=models.CheckConstraint(condition=models.Q(('cancel_requested', True), ('state__in', ['blocked', 'queued']), _negated=True), name='cohorts_leakagecheck_cancelled_does_not_wait'),
        ),
        migrations.AddConstraint(
            model_name='trajectory',
            constraint=models.UniqueConstraint(fields=('study', 'name'), name='trajectory_name_once_per_study'),
        ),
        migrations.AddConstraint(
            model_name='window',
            constraint=models.UniqueConstraint(fields=('study', 'name'), name='window_name_once_per_study'),
        ),
        migrations.AddIndex(
            model_name='windowmember',
            index=models.Index(fields=['result', 'first', 'second'], name='member_by_statuses'),
        ),
        migrations.AddConstraint(
            model_name='windowmember',
            constraint=models.UniqueConstraint(fields=('result', 'encounter'), name='stay_once_per_result'),
        ),
        migrations.AddIndex(
            model_name='memberdecision',
            index=models.Index(fields=['window', 'encounter', '-id'], name='decision_by_stay'),
        ),
        migrations.AddConstraint(
            model_name='memberdecision',
            constraint=models.CheckConstraint(condition=models.Q(('reason', ''), _negated=True), name='decision_has_a_reason'),
        ),
        migrations.AddConstraint(
            model_name='windowversion',
            constraint=models.UniqueConstraint(fields=('window', 'number'), name='version_once_per_window'),
        ),
        migrations.AddIndex(
            model_name='windowresult',
            index=models.Index(fields=['state', 'lease_expires_at'], name='cohorts_windowresult_claim'),
        ),
        migrations.AddIndex(
            model_name='windowresult',
            index=models.Index(condition=models.Q(('state', 'queued')), fields=['hinted_at', 'id'], name='cohorts_windowresult_hint'),
        ),
        migrations.AddConstraint(
            model_name='windowresult',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['blocked', 'queued', 'running', 'succeeded', 'failed', 'cancelled'])), name='cohorts_windowresult_state_valid'),
        ),
        migrations.AddConstraint(
            model_name='windowresult',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'running'), _negated=True), ('lease_expires_at__isnull', False), _connector='OR'), name='cohorts_windowresult_running_has_lease'),
        ),
        migrations.AddConstraint(
            model_name='windowresult',
            constraint=models.CheckConstraint(condition=models.Q(('cancel_requested', True), ('state__in', ['blocked', 'queued']), _negated=True), name='cohorts_windowresult_cancelled_does_not_wait'),
        ),
        migrations.RunSQL(
            (SQL / "append_only.sql").read_text(encoding="utf-8"),
            "DROP FUNCTION cohorts_kept() CASCADE; DROP FUNCTION cohorts_gone() CASCADE;",
        ),
    ]
