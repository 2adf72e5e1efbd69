"""What the trail says of blinded reading: which items, rows and answers a reviewer was shown. None
of it counts as unblinded exposure.
"""

from __future__ import annotations

from accounts.audit.trail import record
from adjudication.models import Assignment, PacketItem

ITEM, ROWS, ANSWERS = "review.item", "review.rows", "review.answers"


def record_item(
    *, assignment: Assignment, item: PacketItem, action: str = ITEM, **detail: int
) -> None:
    """Record that the reviewer was shown an item, or with ROWS all rows of a series beside it."""
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
    """Record that the reviewer was shown the candidate rows of items that they have answered."""
    study, object_id = assignment.packet.study, assignment.public_id
    record(
        actor=assignment.person,
        study=study,
        action=ANSWERS,
        object_type="adjudication.assignment",
        object_id=object_id,
    )
