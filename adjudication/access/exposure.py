"""Who has had a case before their eyes unblinded: recorded by the pages that show it, asked when
people are assigned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Q

from accounts.audit.trail import record_each
from accounts.models import AuditEvent, Study, User
from adjudication.models import Packet
from ehr.models import Encounter
from ehr.record.same_stay import copies_by_case
from timelines.access.authoring import EXPOSING as TIMELINE_EXPOSING

#: What pages of adjudication record when they show findings or timelines of a case with their
#: sources or the judge's answer.
UNBLINDED = "case.unblinded"
EXPOSING = (*TIMELINE_EXPOSING, UNBLINDED)


def record_exposure(*, user: User, encounters: Iterable[Encounter], page: str) -> None:
    """Record that a page shows something of these cases that a reviewer must not see, in one insert
    a study.

    `page` is a word for the trail.
    """
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


def record_revealed(*, user: User, packet: Packet, page: str) -> None:
    """Record that somebody saw the judge's answers to a packet's findings."""
    cases = (
        Encounter.objects.filter(comparisons__games__findings__items__packet=packet)
        .select_related("dataset__study")
        .distinct()
    )
    record_exposure(user=user, encounters=cases, page=page)


def exposed_cases(user: User, case_ids: Iterable[str]) -> set[str]:
    """Return which of these cases (public ids) the person has seen timelines or findings of.

    Another import of the same stay counts. A case page without a timeline does not.
    """
    copies = copies_by_case(list(case_ids))
    events = AuditEvent.objects.filter(
        actor=user,
        object_type="ehr.encounter",
        object_id__in=sorted(set().union(*copies.values())),
        action__in=EXPOSING,
    )
    empty = Q(action="case.open") & Q(detail__contains={"timelines": False})
    seen = set(events.exclude(empty).values_list("object_id", flat=True))
    return {case for case, same in copies.items() if not seen.isdisjoint(same)}
