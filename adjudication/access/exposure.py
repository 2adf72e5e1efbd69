"""Unblinded exposure of people to cases.

Pages that show a case unblinded record it; assigning a person checks it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Q

from accounts.audit.trail import record_each
from accounts.models import AuditEvent, Study, User
from adjudication.models import Packet
from ehr.models import Encounter
from ehr.record.same_stay import group_copies
from timelines.access.asking import ask_first
from timelines.access.authoring import EXPOSING as TIMELINE_EXPOSING

#: Recorded by pages that show findings or timelines of a case with their sources or the judge's
#: answer.
UNBLINDED = "case.unblinded"
EXPOSING = (*TIMELINE_EXPOSING, UNBLINDED)


def record_exposure(*, user: User, encounters: Iterable[Encounter], page: str) -> None:
    """Record that a page unblinds these cases, in one insert per study.

    `page` names the page in the trail. Raises AskFirst, and records nothing, if the person has to
    answer a question before.
    """
    encounters = list(encounters)
    ask_first(user, [encounter.public_id for encounter in encounters])
    by_study: dict[Study, list[str]] = defaultdict(list)
    for encounter in encounters:
        by_study[encounter.dataset.study].append(encounter.public_id)
    for study, ids in by_study.items():
        record_each(
            actor=user,
            study=study,
            action=UNBLINDED,
            object_type="ehr.encounter",
            object_ids=sorted(ids),
            detail={"page": page},
        )


def record_reveal(*, user: User, packet: Packet, page: str) -> None:
    """Record that a person saw the judge's answers to a packet's findings."""
    cases = (
        Encounter.objects.filter(comparisons__games__findings__items__packet=packet)
        .select_related("dataset__study")
        .distinct()
    )
    record_exposure(user=user, encounters=cases, page=page)


def find_exposed_cases(user: User, case_ids: Iterable[str]) -> set[str]:
    """Return the cases (public ids) that the person has seen unblinded.

    They have seen timelines or findings of them. Another import of the same stay counts. A case
    page without a timeline does not.
    """
    copies = group_copies(list(case_ids))
    events = AuditEvent.objects.filter(
        actor=user,
        object_type="ehr.encounter",
        object_id__in=sorted(set().union(*copies.values())),
        action__in=EXPOSING,
    )
    empty = Q(action="case.open") & Q(detail__contains={"timelines": False})
    seen = set(events.exclude(empty).values_list("object_id", flat=True))
    return {case for case, same in copies.items() if not seen.isdisjoint(same)}
