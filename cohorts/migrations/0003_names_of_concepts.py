"""Store with a window's version which concept each of its names is."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("cohorts", "0002_attention")]

    operations = [
        migrations.AddField(
            model_name="windowversion",
            name="names",
            field=models.JSONField(default=dict),
        ),
    ]
