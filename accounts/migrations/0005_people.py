import accounts.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

ROLES = [('clinician', 'Clinician'), ('reviewer', 'Blinded reviewer'), ('admin', 'Study admin')]


class Migration(migrations.Migration):
    """Roles that the sign-in provider gives, and invitations by link."""

    dependencies = [
        ('accounts', '0004_review_notifications'),
    ]

    operations = [
        migrations.AddField(
            model_name='membership',
            name='provided',
            field=models.BooleanField(default=False, db_default=False),
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public_id', models.CharField(default=accounts.ids.new_public_id, editable=False, max_length=12, unique=True)),
                ('role', models.CharField(choices=ROLES, max_length=20)),
                ('label', models.CharField(max_length=100)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('invited_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='accounts.study')),
                ('used_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at', '-id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('role__in', ['clinician', 'reviewer', 'admin'])), name='invitation_role_valid'), models.CheckConstraint(condition=models.Q(('used_by__isnull', True), ('ended_at__isnull', False), _connector='OR'), name='invitation_used_is_ended')],
            },
        ),
    ]
