from django.db import migrations, models


class Migration(migrations.Migration):
    """An imported reference says by which protocol it was annotated."""

    dependencies = [('timelines', '0005_export_sources')]

    operations = [
        migrations.AddField(
            model_name='timeline',
            name='protocol',
            field=models.CharField(blank=True, default='', max_length=60),
        ),
    ]
