"""Read one timeline of a case with what it is compared with.

The number of queries (four) does not grow with the timeline.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from timelines.cases.choices import Choice, Choices
from timelines.curation.standing import CORRECTING
from timelines.domain import Lane, TimelineKind
from timelines.models import Entry, Evidence, Occurrence
from timelines.presentation.case_plot import Item, Tick
from timelines.presentation.pairing import pair_spans
from timelines.presentation.segments import Span
from timelines.presentation.status import find_status
from timelines.runs.stay_text import CommonPlaces, find_places


@dataclass(frozen=True, slots=True)
class _Row:
    occurrence_id: int | None
    uid: str
    ordinal: int | None
    mention: str
    start: int | None
    end: int | None
    absent: bool
    lane: str | None
    time: float | None
    lower: float | None
    upper: float | None
    known: bool | None
    adopted: tuple[int, ...]
    corrected: bool


#: Occurrence id → row index → hours and event name.
_Evidence = dict[int | None, dict[int, tuple[float, str]]]
_FIELDS = (
    *(
        "occurrence_id",
        "occurrence__uid4",
        "occurrence__ordinal",
        "occurrence__mention",
        "occurrence__start",
        "occurrence__end",
    ),
    *(
        "occurrence__polarity",
        "occurrence__lane",
        "event",
        "time",
        "lower",
        "upper",
        "known",
        "adopted_rows",
        "decided_by",
    ),
)


def spans_and_items(choice: Choice, choices: Choices) -> tuple[list[Span], list[Item]]:
    """Return the spans to highlight and the occurrences to draw.

    They are in order of the note, or of time if a source has no inventory.
    """
    rows = _rows(choice)
    spans = [Span(r.uid, r.start, r.end) for r in rows if r.start is not None and r.end is not None]
    group = choices.find_group(choice)
    revised = choice.kind is TimelineKind.REVISED
    text = _text_times(group.text_only) if group and group.text_only and revised else {}
    reference = (
        choices.references[0]
        if choices.references and choice.kind is not TimelineKind.REFERENCE
        else None
    )
    compared = _reference_times(spans, choice, reference) if reference else {}
    evidence = _evidence(group.find_origin(choice) if group else choice)
    return spans, [_item(n, r, choice.kind, text, compared, evidence) for n, r in enumerate(rows)]


def _rows(choice: Choice) -> list[_Row]:
    found = []
    entries = (
        Entry.objects.filter(timeline_id=choice.pk)
        .order_by("occurrence__ordinal", "time", "pk")
        .values_list(*_FIELDS)
    )
    for number, e in enumerate(entries):
        (
            occurrence_id,
            uid,
            ordinal,
            mention,
            start,
            end,
            polarity,
            lane,
            event,
            time,
            lower,
            upper,
            known,
            adopted,
            decided_by,
        ) = e
        found.append(
            _Row(
                occurrence_id=occurrence_id,
                uid=uid or f"row-{number}",
                ordinal=ordinal,
                mention=mention or event,
                start=start,
                end=end,
                absent=polarity == "absent",
                lane=lane,
                time=time,
                lower=lower,
                upper=upper,
                known=known,
                adopted=tuple(adopted),
                corrected=choice.is_curated and decided_by in CORRECTING,
            )
        )
    return found


def _text_times(choice: Choice) -> dict[int, float | None]:
    return dict(
        Entry.objects.filter(timeline_id=choice.pk, occurrence__isnull=False).values_list(
            "occurrence_id", "time"
        )
    )


def _reference_times(
    spans: list[Span], choice: Choice, reference: Choice
) -> dict[str, tuple[str, float | None]]:
    """Return our UID → UID and time of the paired reference occurrence.

    The same inventory pairs by identity.
    """
    fields = ("occurrence__uid4", "occurrence__start", "occurrence__end", "time")
    theirs = Entry.objects.filter(
        timeline_id=reference.pk, occurrence__start__isnull=False
    ).values_list(*fields)
    times = {uid: time for uid, _, _, time in theirs}
    if reference.inventory_id == choice.inventory_id:
        return {uid: (uid, time) for uid, time in times.items()}
    places = find_places((choice.inventory_id, reference.inventory_id))
    pairs = pair_spans(
        [_move(places, choice.inventory_id, span) for span in spans],
        [_move(places, reference.inventory_id, Span(u, s, e)) for u, s, e, _ in theirs],
    )
    return {ours: (uid, times[uid]) for ours, uid in pairs.items()}


def _move(places: CommonPlaces, inventory: int | None, span: Span) -> Span:
    start, end = places.place(inventory, span.start), places.place(inventory, span.end)
    return Span(span.key, start or 0, end or 0)


def _evidence(choice: Choice) -> _Evidence:
    """Occurrence id → its evidence rows as row index → hours and event.

    Without an occurrence: every row that the revision saw.
    """
    found: _Evidence = defaultdict(dict)
    if choice.case_run_id is None:
        return found
    rows = Evidence.objects.filter(case_run_id=choice.case_run_id)
    for occurrence, row, hours, event in rows.values_list(
        "candidate__query__occurrence_id", "row_index", "hours", "event"
    ).distinct():
        found[None][row] = hours, event
        if occurrence is not None:
            found[occurrence][row] = hours, event
    return found


def _item(
    number: int,
    row: _Row,
    kind: TimelineKind,
    text: dict[int, float | None],
    compared: dict[str, tuple[str, float | None]],
    evidence: _Evidence,
) -> Item:
    text_time = text.get(row.occurrence_id) if row.occurrence_id is not None else None
    has_text = row.occurrence_id in text
    reference_key, reference_time = compared.get(row.uid, ("", None))
    seen = evidence.get(None, {})
    ticks = {
        **evidence.get(row.occurrence_id or 0, {}),
        **{index: seen[index] for index in row.adopted if index in seen},
    }
    return Item(
        key=row.uid,
        number=(row.ordinal if row.ordinal is not None else number) + 1,
        mention=row.mention,
        lane=Lane(row.lane) if row.lane else Lane.FINDING,
        status=find_status(
            row.time,
            known=row.known,
            kind=kind,
            cited_rows=row.adopted,
            corrected=row.corrected,
        ),
        time=row.time,
        lower=row.lower,
        upper=row.upper,
        absent=row.absent,
        start=row.start,
        text_time=text_time,
        revised=has_text,
        reference_time=reference_time,
        reference_key=reference_key,
        evidence=tuple(
            Tick(hours, index in row.adopted, event)
            for index, (hours, event) in sorted(ticks.items(), key=lambda t: t[1])
        ),
    )


def find_occurrence(choice: Choice, uid4: str) -> Occurrence | None:
    """Return the occurrence of that UID, with its note.

    It is in the timeline's inventory.
    """
    if choice.inventory_id is None:
        return None
    return (
        Occurrence.objects.select_related("inventory__note")
        .filter(inventory_id=choice.inventory_id, uid4=uid4)
        .first()
    )
