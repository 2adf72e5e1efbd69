"""Tasks of a worker: imports, deletions of datasets, embeddings.

They may run twice without harm.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from celery import shared_task
from django.db.models import QuerySet

from ehr.index import embed_encounter
from ehr.models import Dataset, Encounter
from ehr.removal.execution import execute_deletion
from ehr.uploads.execution import execute_import
from jobs.hints import Message, post
from llm_runtime.base import Embedder
from llm_runtime.servers.configured import configured_roles

logger = logging.getLogger(__name__)


@lru_cache(maxsize=1)
def embedder() -> Embedder:
    """This process's embedder, by role (the setting MODEL_ROLES)."""
    return configured_roles().embedder()


def request_embedding(dataset: Dataset) -> None:
    """Ask a worker to embed the dataset's series."""
    embed_dataset.apply_async((dataset.pk,), queue="ingest")


@shared_task(name="ehr.tasks.embed_dataset")
def embed_dataset(dataset_id: int) -> None:
    """Ask for the embedding of every encounter of the dataset."""
    for encounter_id in Encounter.objects.filter(dataset_id=dataset_id).values_list(
        "pk", flat=True
    ):
        embed_series.apply_async((encounter_id,), queue="embed")


@shared_task(name="ehr.tasks.embed_series")
def embed_series(encounter_id: int) -> None:
    """Embed the series of one encounter that have no vector yet.

    A deleted encounter is no error.
    """
    encounter = Encounter.objects.filter(pk=encounter_id).first()
    if encounter is not None:
        count = embed_encounter(encounter, embedder())
        logger.info("embedded %s series of encounter %s", count, encounter.public_id)


@shared_task(name="ehr.tasks.run_import")
def run_import(job_id: int) -> None:
    """Check or import files if the job still waits."""
    execute_import(job_id)


def send_import_hints(job_ids: Sequence[int]) -> None:
    """One message a job, on the queue of the workers that import."""
    post(Message(run_import, pk, "ingest") for pk in job_ids)


def runnable_imports(jobs: QuerySet[Any]) -> QuerySet[Any]:
    """Those that are not paused."""
    return jobs.filter(paused_at__isnull=True)


@shared_task(name="ehr.tasks.run_deletion")
def run_deletion(job_id: int) -> None:
    """Delete a dataset if the job still waits."""
    execute_deletion(job_id)


def send_deletion_hints(job_ids: Sequence[int]) -> None:
    """One message a job, on the queue of the workers that import."""
    post(Message(run_deletion, pk, "ingest") for pk in job_ids)
