from django.apps import AppConfig
from django.db.models.signals import post_delete


class EhrConfig(AppConfig):
    name = "ehr"

    def ready(self) -> None:
        """A deleted dataset takes its partition along, whoever deletes it."""
        from ehr.models import Dataset
        from ehr.partitions import drop_with_dataset

        post_delete.connect(drop_with_dataset, sender=Dataset, dispatch_uid="ehr.drop_partition")
