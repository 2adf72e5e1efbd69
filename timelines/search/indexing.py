"""Embed the mentions of study timelines, for search by meaning.

A repeated execution embeds what is missing and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from django.db import connection, transaction

from jobs.hints import send_hints
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work
from llm_runtime.base import Embedder
from llm_runtime.calls.blocking import run_blocking
from timelines.models import MentionIndexing, MentionVector, Run
from timelines.runs.tools import roles

#: Mentions that are embedded and stored at once.
BATCH = 256
_MISSING = """
    SELECT DISTINCT o.mention_key, lower(o.mention)
    FROM timelines_occurrence o JOIN timelines_caserun r ON r.inventory_id = o.inventory_id
    WHERE r.run_id = %s AND o.mention_key > %s AND NOT EXISTS (
        SELECT 1 FROM timelines_mentionvector v
        WHERE v.dataset_id = %s AND v.model = %s AND v.key = o.mention_key
    ) ORDER BY o.mention_key LIMIT %s
"""
Guard = Callable[[], AbstractContextManager[object]]


@transaction.atomic
def index_mentions(run: Run) -> MentionIndexing:
    """Queue the job that embeds the mentions of a run, once a run."""
    indexing, new = MentionIndexing.objects.get_or_create(run=run)
    if new:
        send_hints(MentionIndexing, [indexing.pk])
    return indexing


def execute_indexing(indexing_id: int) -> JobState | None:
    """Execute the job if it waits; return its new state.

    None if there was nothing to do.
    """
    return work(MentionIndexing, indexing_id, _do)


def _do(indexing: MentionIndexing, hold: Hold) -> None:
    def report(done: int) -> None:
        hold.check()
        hold.report(done=done, total=done, words=f"embedded {done} mentions")

    embed_mentions(
        indexing.run, roles().embedder(), guard=partial(write_guard, hold), progress=report
    )


def embed_mentions(
    run: Run,
    embedder: Embedder,
    *,
    guard: Guard = transaction.atomic,
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Embed the mentions of the run without a vector of this model.

    Returns how many. Each batch is stored in its own transaction; none spans a call of the model.
    """
    done, last = 0, ""
    while True:
        progress(done)
        with connection.cursor() as cursor:
            cursor.execute(_MISSING, [run.pk, last, run.dataset_id, embedder.name, BATCH])
            missing = dict(cursor.fetchall())
        if not missing:
            return done
        vectors = run_blocking(embedder.embed_documents(list(missing.values())))
        with guard():
            MentionVector.objects.bulk_create(
                (
                    MentionVector(
                        dataset_id=run.dataset_id, model=embedder.name, key=key, vector=vector
                    )
                    for key, vector in zip(missing, vectors, strict=True)
                ),
                ignore_conflicts=True,
            )
        done, last = done + len(missing), max(missing)
