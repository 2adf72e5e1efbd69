from django.apps import AppConfig
from django.db.models.signals import post_delete


class EhrConfig(AppConfig):
    name = "ehr"

    def ready(self) -> None:
        """Drop the partition of every deleted dataset."""
        from ehr.models import Dataset
        from ehr.partitions import drop_with_dataset

        post_delete.connect(drop_with_dataset, sender=Dataset, dispatch_uid="ehr.drop_partition")
