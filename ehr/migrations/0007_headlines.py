"""Store what each stay is in one line, also for stays imported before."""

from typing import Any

from django.db import migrations, models


def store(apps: Any, schema_editor: Any) -> None:
    """Fill the lines of the stays that exist."""
    from ehr.record.headlines import store_headlines

    store_headlines(apps.get_model("ehr", "Encounter").objects.order_by("pk").values_list("pk", flat=True))


class Migration(migrations.Migration):
    dependencies = [("ehr", "0006_deleted_stays")]

    operations = [
        migrations.AddField("encounter", "headline", models.CharField(blank=True, max_length=300)),
        migrations.AddField("encounter", "unit", models.CharField(blank=True, max_length=100)),
        migrations.RunPython(store, migrations.RunPython.noop, elidable=True),
    ]
