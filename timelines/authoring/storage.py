"""Load and store a draft as a value.

A draft is the occurrences of an unsealed inventory, each with its `DraftEntry`. Saving happens
inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.db import connection
from django.db.models import Max
from django.db.models.functions import Length

from ehr.models import Note
from timelines.drafts.document import Change, Document, make_document
from timelines.drafts.values import DraftOccurrence
from timelines.models import DraftEntry, Inventory, Occurrence
from timelines.pipeline.uids import unescape_mention
from timelines.runs.storage import BATCH_ROWS

OCCURRENCE_FIELDS = ("uid4", "start", "end", "mention", "polarity", "lane")
ENTRY_FIELDS = ("placed", "time", "lower", "upper", "known", "context", "rows", "entered", "reason")
RENUMBER = """
UPDATE timelines_occurrence o SET ordinal = %s + n.place - 1
FROM unnest(%s::text[]) WITH ORDINALITY AS n(uid4, place) WHERE o.inventory_id = %s AND o.uid4 = n.uid4
"""


def load_document(inventory: Inventory) -> Document:
    """Return the draft of that inventory, in two queries at any size.

    Mentions are as typed, even once sealing has escaped them.
    """
    length = (
        Note.objects.annotate(length=Length("text"))
        .values_list("length", flat=True)
        .get(pk=inventory.note_id)
    )
    said = unescape_mention if inventory.sealed_at is not None else str
    # Plain values: an edit reads the whole draft, and rows as objects would take most of its time.
    rows = Occurrence.objects.filter(inventory=inventory).values_list(
        *OCCURRENCE_FIELDS, *(f"draft__{name}" for name in ENTRY_FIELDS)
    )
    return make_document(length, (_occurrence(row, said) for row in rows))


def save_change(inventory: Inventory, change: Change) -> None:
    """Store a change of the draft.

    Rows of removed occurrences are deleted; changed ones keep theirs.
    """
    if change.removed:
        Occurrence.objects.filter(inventory=inventory, uid4__in=change.removed).delete()
    before = {o.uid for o in change.before}
    _update(inventory, [o for o in change.after if o.uid in before])
    insert(inventory, [o for o in change.after if o.uid not in before])


def insert(inventory: Inventory, occurrences: Iterable[DraftOccurrence]) -> None:
    """Store new occurrences after those that are there."""
    last = Occurrence.objects.filter(inventory=inventory).aggregate(last=Max("ordinal"))["last"]
    first = 0 if last is None else last + 1
    made = [
        (o, Occurrence(inventory=inventory, ordinal=first + n)) for n, o in enumerate(occurrences)
    ]
    for o, row in made:
        row.uid4 = o.uid
        _fill(row, o)
    Occurrence.objects.bulk_create((row for _, row in made), batch_size=BATCH_ROWS)
    DraftEntry.objects.bulk_create(
        (DraftEntry(occurrence=row, **_entry(o)) for o, row in made), batch_size=BATCH_ROWS
    )


def renumber(inventory: Inventory, document: Document) -> None:
    """Set ordinals in the order of the note, from 0.

    An inventory counts the same way (`domain.Inventory`).
    """
    uids = [o.uid for o in document.ordered]
    last = (
        Occurrence.objects.filter(inventory=inventory).aggregate(last=Max("ordinal"))["last"] or 0
    )
    with connection.cursor() as cursor:
        # Twice, because no two may share an ordinal in between.
        for first in (last + 1, 0):
            cursor.execute(RENUMBER, [first, uids, inventory.pk])


def _update(inventory: Inventory, occurrences: list[DraftOccurrence]) -> None:
    rows = {
        row.uid4: row
        for row in Occurrence.objects.filter(
            inventory=inventory, uid4__in=[o.uid for o in occurrences]
        )
    }
    for o in occurrences:
        row = rows[o.uid]
        _fill(row, o)
        row.save()
        DraftEntry.objects.filter(occurrence=row).update(**_entry(o))


def _fill(row: Occurrence, o: DraftOccurrence) -> None:
    row.mention, row.start, row.end, row.polarity, row.lane = (
        o.mention,
        o.start,
        o.end,
        o.polarity,
        o.lane,
    )


def _entry(o: DraftOccurrence) -> dict[str, object]:
    data = o.to_dict()
    return {name: data[name] for name in ENTRY_FIELDS}


def _occurrence(row: Sequence[Any], said: Callable[[str], str]) -> DraftOccurrence:
    """From the values of OCCURRENCE_FIELDS and ENTRY_FIELDS."""
    (
        uid,
        start,
        end,
        mention,
        polarity,
        lane,
        placed,
        time,
        lower,
        upper,
        known,
        context,
        rows,
        entered,
        reason,
    ) = row
    return DraftOccurrence(
        uid=uid,
        start=start,
        end=end,
        mention=said(mention),
        polarity=polarity,
        lane=lane,
        placed=placed,
        time=time,
        lower=lower,
        upper=upper,
        known=known,
        context=tuple(context),
        rows=tuple(rows),
        entered=entered,
        reason=reason,
    )
