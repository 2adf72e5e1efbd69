"""Addresses that notifications and pages share."""

from __future__ import annotations

from collections.abc import Iterable

from django.urls import reverse

from ehr.models import Dataset, ImportJob, Upload


def upload_page(upload: Upload) -> str:
    """Return the address of the page of an upload."""
    return reverse("ehr:upload", args=[upload.public_id])


def find_reasons_pages(datasets: Iterable[Dataset]) -> dict[int, str]:
    """Return the page of the latest import into each dataset, by its key.

    It is the list of imports for a dataset that a command imported.
    """
    pages = {dataset.pk: reverse("ehr:imports") for dataset in datasets}
    imports = ImportJob.objects.filter(dataset__in=list(pages), kind=ImportJob.Kind.IMPORT)
    latest = imports.order_by("dataset_id", "-pk").distinct("dataset_id")
    for job in latest.select_related("upload"):
        if job.dataset_id is not None:
            pages[job.dataset_id] = upload_page(job.upload)
    return pages
