"""Rows of the record that a person may take for a correction."""

from __future__ import annotations

from ehr.models import Encounter, SourceRow
from timelines.authoring.rows import load_rows
from timelines.authoring.suggestions import find_offers
from timelines.drafts.values import DraftOccurrence
from timelines.models import Entry, Occurrence

#: One key takes a row: 1 to 9.
OFFERED = 9


def offer_rows(
    encounter: Encounter, occurrence: Occurrence, shown: Entry | None
) -> list[SourceRow]:
    """Return rows that may date the occurrence.

    The cited ones come first, then those that the search found, nearest to the shown time first.
    """
    cited = list(shown.adopted_rows) if shown else []
    if occurrence.start is None or occurrence.end is None:
        return load_rows(encounter, cited[:OFFERED])
    wanted = DraftOccurrence(
        uid=occurrence.uid4,
        start=occurrence.start,
        end=occurrence.end,
        mention=occurrence.mention,
        placed=shown is not None and shown.time is not None,
        time=shown.time if shown else None,
    )
    offers, _ = find_offers(encounter, wanted, OFFERED)
    found = dict.fromkeys([*cited, *(offer.row_index for offer in offers)])
    return load_rows(encounter, list(found)[:OFFERED])
