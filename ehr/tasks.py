"""Tasks of a worker: embed the series of a dataset in advance.

They may run twice without harm.
"""

from __future__ import annotations

import logging
from functools import lru_cache

from celery import shared_task

from ehr.index import embed_encounter
from ehr.models import Dataset, Encounter
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
