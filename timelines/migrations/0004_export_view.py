from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [('timelines', '0003_exports')]

    operations = [
        migrations.AddField(
            model_name='export',
            name='view',
            field=models.JSONField(blank=True, null=True),
        ),
    ]
