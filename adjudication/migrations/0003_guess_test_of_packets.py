"""A packet has the latest result of its guess test; opening it freezes the result."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0002_due_date_of_packets")]

    operations = [migrations.AddField("packet", "guess_test", models.JSONField(default=dict))]
