"""Rank what a person should look at in a study, in a job."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, QuerySet

from accounts.models import Study
from cohorts.attention.values import FULL_HOURS, LEAST_MOVE, LEAST_WIDTH, WEIGHTS
from cohorts.models import AttentionItem, AttentionMark, AttentionRanking
from jobs.hints import send_hints
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work
from timelines.curation.reading import find_disputes
from timelines.models import Correction, Occurrence
from timelines.runs.study_timeline.selection import find_study_runs

_RANK = Path(__file__).with_name("ranking.sql").read_text(encoding="utf-8")


@transaction.atomic
def start_ranking(study: Study) -> AttentionRanking:
    """Queue the ranking of a study; one that waits already is enough."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    rankings = AttentionRanking.objects.filter(study=study)
    ranking = rankings.filter(state=JobState.QUEUED).first()
    if ranking is None:
        ranking = AttentionRanking.objects.create(study=study)
    send_hints(AttentionRanking, [ranking.pk])
    return ranking


def find_latest(study: Study) -> AttentionRanking | None:
    """Return the ranking that ended last, or None."""
    done = AttentionRanking.objects.filter(study=study, state=JobState.SUCCEEDED)
    return done.order_by("-finished_at").first()


def execute_ranking(ranking_id: int) -> JobState | None:
    """Rank if the job waits; return its new state, None if there was nothing to do."""
    return work(AttentionRanking, ranking_id, _rank)


def _rank(ranking: AttentionRanking, hold: Hold) -> None:
    with write_guard(hold):
        rank_study(ranking.study)
        ended = AttentionRanking.objects.filter(study=ranking.study, finished_at__isnull=False)
        ended.delete()


def rank_study(study: Study) -> int:
    """Replace the items of a study; return how many there are."""
    disputes = find_disputes(Correction.objects.filter(base__encounter__dataset__study=study))
    AttentionItem.objects.filter(study=study).delete()
    with connection.cursor() as cursor:
        cursor.execute(
            _RANK,
            {
                "study": study.pk,
                "weights": json.dumps({reason.value: w for reason, w in WEIGHTS.items()}),
                "least_move": LEAST_MOVE,
                "least_width": LEAST_WIDTH,
                "full_hours": FULL_HOURS,
                "disputed_cases": [dispute.encounter.pk for dispute in disputes],
                "disputed_uids": [dispute.uid4 for dispute in disputes],
            },
        )
        return cursor.rowcount


def find_items(study: Study, closed: frozenset[int]) -> QuerySet[AttentionItem]:
    """Return the open items that nobody has looked at for the same reasons, best first."""
    seen = AttentionMark.objects.filter(
        study=study,
        encounter=OuterRef("encounter"),
        uid4=OuterRef("uid4"),
        reasons=OuterRef("reasons"),
    )
    found = AttentionItem.objects.filter(~Exists(seen), study=study)
    return found.exclude(encounter__in=list(closed)).order_by(F("score").desc(), "pk")


def load_mentions(study: Study, items: Sequence[AttentionItem]) -> dict[tuple[int, str], str]:
    """Return the mentions of the items' occurrences in the study timelines."""
    found = Occurrence.objects.filter(
        inventory__case_runs__run__in=find_study_runs(study),
        inventory__encounter__in=[item.encounter_id for item in items],
        uid4__in=[item.uid4 for item in items if item.uid4],
    )
    rows = found.values_list("inventory__encounter_id", "uid4", "mention")
    return {(encounter, uid4): mention for encounter, uid4, mention in rows}
