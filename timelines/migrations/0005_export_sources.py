from django.db import migrations, models


class Migration(migrations.Migration):
    """Earlier exports had all sources."""

    dependencies = [('timelines', '0004_export_view')]

    operations = [
        migrations.AddField(
            model_name='export',
            name='all_sources',
            field=models.BooleanField(default=True),
        ),
        migrations.AlterField(
            model_name='export',
            name='all_sources',
            field=models.BooleanField(default=False),
        ),
    ]
