"""Form the curated timeline of a base.

It has the base's entries with the corrections and the links between notes that count. It is stored
as a timeline of its own (docs/adr/0050), so that evaluations, exports and judges read it like any
other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from django.db import models
from django.db.models import Q

from timelines.access.authoring import CURATED, LONGEST_SOURCE, SUPERSEDED
from timelines.curation.joined import has_links, rejoin
from timelines.curation.standing import (
    CORRECTED_BY,
    SETTLED_BY,
    Kind,
    Mark,
    Standing,
    find_standing,
)
from timelines.models import Correction, CuratedTimeline, Entry, Timeline
from timelines.runs.storage import BATCH_ROWS

#: The values of an entry. A correction replaces all of them; those it does not have are reset.
_VALUES: dict[str, models.Field[Any, Any]] = {
    f.name: f for f in Entry._meta.concrete_fields if f.name not in ("id", "timeline", "occurrence")
}


def as_mark(row: Correction) -> Mark:
    """Return a stored correction as a value."""
    return Mark(
        number=row.pk,
        person=row.author_id,
        kind=Kind(row.kind),
        time=row.time,
        lower=row.lower,
        upper=row.upper,
        known=row.known,
        rows=tuple(row.rows),
        reason=row.reason,
        settles=row.settles,
        undoes=row.undoes_id,
    )


def load_standing(base: Timeline | int, occurrence: int | None = None) -> dict[int, Standing]:
    """Return what counts for each corrected occurrence of a base, by its key.

    One query. `occurrence` limits it to one.
    """
    rows = Correction.objects.filter(base=base).order_by("pk")
    logs: dict[int, list[Mark]] = defaultdict(list)
    for row in rows if occurrence is None else rows.filter(occurrence=occurrence):
        logs[row.occurrence_id].append(as_mark(row))
    return {key: find_standing(log) for key, log in logs.items()}


def find_current(base: Timeline | int) -> Timeline | None:
    """Return the base's curated timeline, or None if no correction counts."""
    found = Timeline.objects.filter(curated__base=base).exclude(source__regex=SUPERSEDED.pattern)
    return found.first()


def refresh(base: Timeline) -> Timeline | None:
    """Store the curated timeline if people's answers changed it; return it.

    The one before becomes superseded: what was evaluated or judged does not change. The caller
    has locked the case. Returns None if no answer counts.
    """
    applied = {
        key: standing.applied
        for key, standing in load_standing(base).items()
        if standing.applied is not None
    }
    before = find_current(base)
    wanted = _form_entries(base, applied)
    if before is not None and wanted == _values(before.pk):
        return before
    if before is not None:
        _supersede(before)
    if not wanted:
        return None
    made = Timeline.objects.create(
        encounter_id=base.encounter_id,
        inventory_id=base.inventory_id,
        source=_make_source(base),
        kind=base.kind,
        alternative=base.alternative,
    )
    Entry.objects.bulk_create(
        (Entry(timeline=made, occurrence_id=key, **values) for key, values in wanted.items()),
        batch_size=BATCH_ROWS,
    )
    CuratedTimeline.objects.create(timeline=made, base=base)
    return made


def _form_entries(base: Timeline, applied: Mapping[int, Mark]) -> dict[int, dict[str, Any]]:
    """Return the entries with people's answers; none if the base has them."""
    corrected = {key: _corrected(mark) for key, mark in applied.items()}
    if has_links(base):
        entries, joined = _values(base.pk), rejoin(base, corrected)
        wanted = {key: values | joined.get(key, {}) for key, values in entries.items()}
        return {} if wanted == entries else wanted
    if not applied:
        return {}
    entries = _values(base.pk)
    return entries | {key: values for key, values in corrected.items() if key in entries}


def _corrected(mark: Mark) -> dict[str, Any]:
    """Return an entry's values. What did not happen has no time."""
    return {name: field.get_default() for name, field in _VALUES.items()} | {
        "time": mark.time,
        "lower": mark.lower,
        "upper": mark.upper,
        "known": mark.known,
        "decided_by": SETTLED_BY if mark.settles else CORRECTED_BY,
        "reason": mark.reason,
        "adopted_rows": list(mark.rows),
    }


def _values(timeline: int) -> dict[int, dict[str, Any]]:
    rows: Iterable[dict[str, Any]] = (
        Entry.objects.filter(timeline=timeline)
        .order_by("occurrence__ordinal")
        .values("occurrence_id", *_VALUES)
    )
    return {row.pop("occurrence_id"): row for row in rows}


def _make_source(base: Timeline) -> str:
    """Return the source's name: "curated:" and the base's, or its public id.

    The public id names a base if the name is too long, reads as superseded, or is that of another
    base (another run of the same source).
    """
    source = f"{CURATED}{base.source}"
    others = CuratedTimeline.objects.filter(timeline__encounter=base.encounter_id).exclude(
        base=base
    )
    taken = Q(timeline__source=source) | Q(timeline__source__startswith=f"{source}#")
    fits = len(source) <= LONGEST_SOURCE and not SUPERSEDED.search(source)
    return source if fits and not others.filter(taken).exists() else f"{CURATED}{base.public_id}"


def _supersede(timeline: Timeline) -> None:
    """Move it to a numbered source. Default lists exclude such sources."""
    before = Timeline.objects.filter(
        encounter=timeline.encounter_id, source__startswith=f"{timeline.source}#"
    ).count()
    Timeline.objects.filter(pk=timeline.pk).update(source=f"{timeline.source}#{before + 1}")
