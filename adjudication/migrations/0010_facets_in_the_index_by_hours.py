"""Find findings by hours and facet without reading their rows.

Beside people's work: the indexes are built and dropped concurrently.
"""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("adjudication", "0009_contents_of_jobs")]

    operations = [
        AddIndexConcurrently(
            model_name="finding",
            index=models.Index(
                fields=["run", "apart", "id"], include=["facet"], name="finding_by_hours"
            ),
        ),
        RemoveIndexConcurrently(model_name="finding", name="finding_by_size"),
    ]
