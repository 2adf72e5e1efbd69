"""A packet has the latest result of its guess test; opening it freezes the result."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0003_judging_at_scale")]

    operations = [migrations.AddField("packet", "guess_test", models.JSONField(default=dict))]
