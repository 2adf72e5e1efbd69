"""Audit entries of blinded reading; none counts as unblinded exposure.

They record which items, rows and answers a reviewer was shown.
"""

from __future__ import annotations

from accounts.audit.trail import record
from adjudication.models import Assignment, PacketItem, PairSearch

ITEM, ROWS, ANSWERS = "review.item", "review.rows", "review.answers"
#: Both whole timelines, which a reviewer requests.
TIMELINES = "review.timelines"
#: Both whole timelines, which a reviewer searches for differences.
SEARCH = "review.search"


def record_item(
    *, assignment: Assignment, item: PacketItem, action: str = ITEM, **detail: int
) -> None:
    """Record that the reviewer was shown an item.

    Also rows of one of its series (ROWS), or both whole timelines (TIMELINES).
    """
    case = item.finding.game.comparison.encounter.public_id
    record(
        actor=assignment.person,
        study=assignment.packet.study,
        action=action,
        object_type="adjudication.packetitem",
        object_id=item.public_id,
        detail={"case": case, **detail},
    )


def record_answers(*, assignment: Assignment) -> None:
    """Record that the reviewer was shown rows of items they have answered."""
    study, object_id = assignment.packet.study, assignment.public_id
    record(
        actor=assignment.person,
        study=study,
        action=ANSWERS,
        object_type="adjudication.assignment",
        object_id=object_id,
    )


def record_search(*, assignment: Assignment, search: PairSearch) -> None:
    """Record that the reviewer was shown both timelines of a search."""
    record(
        actor=assignment.person,
        study=assignment.packet.study,
        action=SEARCH,
        object_type="adjudication.pairsearch",
        object_id=search.public_id,
        detail={"case": search.game.comparison.encounter.public_id},
    )
