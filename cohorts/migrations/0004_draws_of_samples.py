"""Store which samples of a concept have the same sentences."""

from django.db import migrations, models

import accounts.ids

LENGTH = accounts.ids.PUBLIC_ID_LENGTH


class Migration(migrations.Migration):
    dependencies = [("cohorts", "0003_names_of_concepts")]

    operations = [
        migrations.AddField(
            model_name="conceptsample",
            name="draw",
            field=models.CharField(max_length=LENGTH, default="", editable=False),
        ),
        # Earlier samples were drawn for one reviewer each.
        migrations.RunSQL(
            "UPDATE cohorts_conceptsample SET draw = public_id", migrations.RunSQL.noop
        ),
        migrations.AlterField(
            model_name="conceptsample",
            name="draw",
            field=models.CharField(
                max_length=LENGTH, default=accounts.ids.new_public_id, editable=False
            ),
        ),
    ]
