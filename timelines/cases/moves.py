"""Read the transfers of a stay, for the ribbon of its page."""

from __future__ import annotations

from django.db.models import Q

from ehr.models import Encounter
from timelines.domain import Anchor
from timelines.presentation.ribbon import Move

_MOVES = Q(event__istartswith="transfer:") | Q(event__istartswith="admission:")
#: More transfers than a stay can have; a guard against odd files.
MAX_MOVES = 200


def load_moves(encounter: Encounter, anchor: Anchor) -> list[Move]:
    """Return the rows about transfers and discharge, by time.

    One query.
    """
    rows = encounter.rows.filter(
        _MOVES, dataset_id=encounter.dataset_id, time__isnull=False
    ).order_by("time", "row_index")
    return [
        Move(anchor.hours(row.time), row.event, row.value)
        for row in rows.only("dataset_id", "encounter_id", "row_index", "time", "event", "value")[
            :MAX_MOVES
        ]
        if row.time is not None
    ]
