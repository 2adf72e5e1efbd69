"""Between a draft as a value and its rows: the occurrences of an unsealed inventory, each with its `DraftEntry`.

Saving happens inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Max
from django.db.models.functions import Length

from ehr.models import Note
from timelines.authoring.document import Change, Document, document_of
from timelines.authoring.values import DraftOccurrence
from timelines.models import DraftEntry, Inventory, Occurrence
from timelines.pipeline.uids import unescape_mention
from timelines.storage import BATCH_ROWS

ENTRY_FIELDS = ("placed", "time", "lower", "upper", "known", "context", "rows", "entered", "reason")


def load_document(inventory: Inventory) -> Document:
    """The draft of that inventory, in two queries whatever its size; mentions as typed, also once sealing has escaped them."""
    length = Note.objects.annotate(length=Length("text")).values_list("length", flat=True).get(pk=inventory.note_id)
    rows = Occurrence.objects.filter(inventory=inventory).select_related("draft")
    return document_of(length, (_occurrence(row, inventory.sealed_at is not None) for row in rows))


def save_change(inventory: Inventory, change: Change) -> None:
    """Store what a change does: rows of removed occurrences go, changed ones keep theirs."""
    if change.removed:
        Occurrence.objects.filter(inventory=inventory, uid4__in=change.removed).delete()
    before = {o.uid for o in change.before}
    _update(inventory, [o for o in change.after if o.uid in before])
    insert(inventory, [o for o in change.after if o.uid not in before])


def insert(inventory: Inventory, occurrences: Iterable[DraftOccurrence]) -> None:
    """Store new occurrences after those that are there."""
    last = Occurrence.objects.filter(inventory=inventory).aggregate(last=Max("ordinal"))["last"]
    first = 0 if last is None else last + 1
    made = [(o, Occurrence(inventory=inventory, ordinal=first + n)) for n, o in enumerate(occurrences)]
    for o, row in made:
        row.uid4 = o.uid
        _fill(row, o)
    Occurrence.objects.bulk_create((row for _, row in made), batch_size=BATCH_ROWS)
    DraftEntry.objects.bulk_create((DraftEntry(occurrence=row, **_entry(o)) for o, row in made), batch_size=BATCH_ROWS)


def renumber(inventory: Inventory, document: Document) -> None:
    """Ordinals as the note reads, from 0 (an inventory counts so, `domain.Inventory`)."""
    ids = dict(Occurrence.objects.filter(inventory=inventory).values_list("uid4", "pk"))
    last = Occurrence.objects.filter(inventory=inventory).aggregate(last=Max("ordinal"))["last"] or 0
    # Twice, because no two may share an ordinal on the way.
    for first in (last + 1, 0):
        rows = [Occurrence(pk=ids[o.uid], ordinal=first + n) for n, o in enumerate(document.ordered)]
        Occurrence.objects.bulk_update(rows, ["ordinal"], batch_size=BATCH_ROWS)


def _update(inventory: Inventory, occurrences: list[DraftOccurrence]) -> None:
    rows = {row.uid4: row for row in Occurrence.objects.filter(inventory=inventory, uid4__in=[o.uid for o in occurrences])}
    for o in occurrences:
        row = rows[o.uid]
        _fill(row, o)
        row.save()
        DraftEntry.objects.filter(occurrence=row).update(**_entry(o))


def _fill(row: Occurrence, o: DraftOccurrence) -> None:
    row.mention, row.start, row.end, row.polarity, row.lane = o.mention, o.start, o.end, o.polarity, o.lane


def _entry(o: DraftOccurrence) -> dict[str, object]:
    data = o.to_dict()
    return {name: data[name] for name in ENTRY_FIELDS}


def _occurrence(row: Occurrence, sealed: bool) -> DraftOccurrence:
    entry = row.draft
    assert row.start is not None
    assert row.end is not None
    return DraftOccurrence(
        uid=row.uid4,
        start=row.start,
        end=row.end,
        mention=unescape_mention(row.mention) if sealed else row.mention,
        polarity=row.polarity,
        lane=row.lane,
        placed=entry.placed,
        time=entry.time,
        lower=entry.lower,
        upper=entry.upper,
        known=entry.known,
        context=tuple(entry.context),
        rows=tuple(entry.rows),
        entered=entry.entered,
        reason=entry.reason,
    )
