"""A base run stays while others rest on it, and both go together when their dataset goes (PROTECT would refuse that too).

The foreign key itself refuses the loss of a base, at the end of the transaction. RESTRICT on a reference to the same table would
leave the deletion of a dataset without an order (`django.db.models.deletion.Collector.sort`).
"""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("timelines", "0003_authoring_and_evaluation")]

    operations = [
        migrations.AlterField(
            model_name="run",
            name="based_on",
            field=models.ForeignKey(
                blank=True, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name="derived", to="timelines.run"
            ),
        ),
    ]
