from django.apps import AppConfig
from django.db.models import F
from django.db.models.signals import post_delete
from django.urls import reverse


class EhrConfig(AppConfig):
    name = "ehr"

    def ready(self) -> None:
        """Register jobs and a card; drop partitions with datasets."""
        from accounts.api_access.errors import build_refused, register_refusals
        from accounts.registry import register_study_card
        from ehr.deletion import DeletionRefused
        from ehr.formats.base import FormatError
        from ehr.models import Dataset, DatasetDeletion, ImportJob
        from ehr.partitions import drop_with_dataset
        from ehr.tasks import runnable_imports, send_deletion_hints, send_import_hints
        from ehr.uploads.cards import datasets_card
        from ehr.uploads.names import UploadRefused
        from jobs.registry import JobPage, register
        from jobs.webhooks.registry import find_ended_jobs, register_ended

        register_refusals(
            dict.fromkeys((DeletionRefused, FormatError, UploadRefused), build_refused)
        )
        register(
            ImportJob,
            send_import_hints,
            queue="ingest",
            runnable=runnable_imports,
            find_page=lambda job: JobPage(
                reverse("ehr:upload", args=[job.upload.public_id]), job.upload.study
            ),
        )
        register(
            DatasetDeletion,
            send_deletion_hints,
            queue="ingest",
            find_page=lambda job: JobPage(reverse("ehr:deletion", args=[job.public_id]), job.study),
        )
        imports = ImportJob.objects.filter(kind=ImportJob.Kind.IMPORT)
        imports = imports.annotate(study_id=F("upload__study_id"))
        register_ended("import.ended", lambda since: find_ended_jobs(imports, since))
        register_study_card(datasets_card, order=20)

        post_delete.connect(drop_with_dataset, sender=Dataset, dispatch_uid="ehr.drop_partition")
