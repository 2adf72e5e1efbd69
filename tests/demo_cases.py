"""Whole cases for pages, browser tests and benchmarks.

They have the shipped cohort's notes, rows and references, with a made-up run around them. The run
has the reference's own spans, the author's text-only estimates and the reference's times as the
revision; two alternatives differ a little from it. It shows every part of a page; it measures
nothing.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.db import transaction

from ehr.models import Dataset, Encounter, EventSeries, Note, SourceRow
from ehr.partitions import ensure_partition
from tests import factories
from tests.paths import DEMO
from timelines.domain import Lane, TimelineKind
from timelines.models import (
    Candidate,
    CaseRun,
    Entry,
    Evidence,
    Inventory,
    Occurrence,
    Query,
    Timeline,
)

COHORT = DEMO / "cohort"
ALTERNATIVES = 3
_LANES = {
    "lab": Lane.LAB,
    "med": Lane.MEDICATION,
    "order": Lane.MEDICATION,
    "procedure": Lane.PROCEDURE,
    "transfer": Lane.TRANSFER,
    "admission": Lane.TRANSFER,
}


@dataclass(frozen=True)
class Source:
    """The parts of a case: stay, note, reference lines and record rows."""

    case_id: str
    title: str
    admitted_at: datetime
    discharged_at: datetime | None
    note: str
    lines: list[dict[str, Any]]
    rows: list[dict[str, str]]


@dataclass
class BuiltCase:
    """The stored case with its timelines by name."""

    encounter: Encounter
    text_only: Timeline
    revised: list[Timeline]
    reference: Timeline
    occurrences: list[Occurrence] = field(default_factory=list)


def load_shipped(case_id: str = "") -> Source:
    """A case of the shipped cohort, the first one by default."""
    folder = COHORT / case_id if case_id else sorted(p for p in COHORT.iterdir() if p.is_dir())[0]
    encounter = json.loads((folder / "encounter.json").read_text())
    with gzip.open(folder / "rows.csv.gz", "rb") as packed:
        rows = list(csv.DictReader(io.TextIOWrapper(packed, encoding="utf-8", newline="")))
    return Source(
        case_id=encounter["case_id"],
        title=encounter["title"],
        admitted_at=datetime.fromisoformat(encounter["admitted_at"]),
        discharged_at=datetime.fromisoformat(encounter["discharged_at"]),
        note=(folder / "note.txt").read_bytes().decode("utf-8"),
        lines=[json.loads(line) for line in (folder / "reference.jsonl").read_text().splitlines()],
        rows=rows,
    )


def make_large(characters: int = 15_000, occurrences: int = 300, series: int = 900) -> Source:
    """Return a case of the size that pages are measured with.

    It is put together from shipped ones.
    """
    folders = sorted(p.name for p in COHORT.iterdir() if p.is_dir())
    first = load_shipped(folders[0])
    note, lines, number = "", [], 0
    while len(note) < characters:
        part = load_shipped(folders[number])
        lines += [
            {**line, "start": line["start"] + len(note), "end": line["end"] + len(note), "rows": []}
            for line in part.lines
        ]
        note, number = note + part.note + "\n", number + 1
    inside = [line for line in lines if line["end"] <= characters]
    step = max(len(inside) / occurrences, 1.0)
    rows = list(first.rows)
    names = {row["event"] for row in rows}
    rows += [
        {**rows[n % len(rows)], "event": f"chart:additional series {n}:"}
        for n in range(series - len(names))
    ]
    chosen = [inside[int(n * step)] for n in range(min(occurrences, len(inside)))]
    return replace(first, case_id="large", note=note[:characters], lines=chosen, rows=rows)


@transaction.atomic
def build(dataset: Dataset, source: Source) -> BuiltCase:
    """Store the case with its reference and one finished run."""
    encounter = Encounter.objects.create(
        dataset=dataset,
        case_id=source.case_id,
        title=source.title,
        admitted_at=source.admitted_at,
        discharged_at=source.discharged_at,
        row_count=len(source.rows),
    )
    note = factories.make_note(encounter, source.note)
    series, hours = _store_rows(encounter, source)
    reference, _ = _reference(note, source, hours)
    run = factories.make_run(dataset, label="rules, full")
    inventory, occurrences = _inventory(note, source, Inventory.Origin.RUN, run)
    case_run = factories.make_case_run(run, encounter, inventory)
    _chain(case_run, occurrences, source, series, hours)
    text = [
        _entry(o, line, line["text_time"], "text")
        for o, line in zip(occurrences, source.lines, strict=True)
    ]
    text_only = factories.make_timeline(
        inventory, _add_context(text, occurrences), case_run=case_run
    )
    revised = [
        _make_revision(inventory, case_run, occurrences, source, hours, n + 1)
        for n in range(ALTERNATIVES)
    ]
    factories.seal(inventory)
    return BuiltCase(encounter, text_only, revised, reference, occurrences)


def _store_rows(
    encounter: Encounter, source: Source
) -> tuple[dict[str, EventSeries], dict[int, float]]:
    ensure_partition(encounter.dataset_id)
    grouped: dict[str, list[int]] = defaultdict(list)
    hours: dict[int, float] = {}
    stored = []
    for index, row in enumerate(source.rows):
        time = datetime.fromisoformat(row["t"]) if row["t"] else None
        if time is not None:
            grouped[row["event"]].append(index)
            hours[index] = (time - source.admitted_at).total_seconds() / 3600
        stored.append(
            SourceRow(
                dataset_id=encounter.dataset_id,
                encounter=encounter,
                row_index=index,
                time=time,
                event=row["event"],
                value=row["value"],
                unit=row.get("unit", ""),
                source=row.get("source", ""),
                time_kind=row.get("time_kind") or "unknown",
            )
        )
    SourceRow.objects.bulk_create(stored, batch_size=2000)
    made = [
        EventSeries(
            encounter=encounter,
            event=event,
            summary=f"{event}: {len(rows)} rows",
            row_indices=rows,
            count=len(rows),
            priority=5,
        )
        for event, rows in grouped.items()
    ]
    return {s.event: s for s in EventSeries.objects.bulk_create(made)}, hours


def _inventory(
    note: Note, source: Source, origin: str, run: Any = None
) -> tuple[Inventory, list[Occurrence]]:
    inventory = factories.make_inventory(note, run, origin=origin)
    identifiers = random.Random(f"{source.case_id}/{origin}").sample(
        range(0x10000), len(source.lines)
    )
    made = [
        Occurrence(
            inventory=inventory,
            ordinal=n,
            uid4=f"{uid:04x}",
            mention=line["mention"],
            start=line["start"],
            end=line["end"],
            polarity=line["polarity"],
            lane=_choose_lane(line, source).value,
        )
        for n, (line, uid) in enumerate(zip(source.lines, identifiers, strict=True))
    ]
    return inventory, Occurrence.objects.bulk_create(made)


def _choose_lane(line: dict[str, Any], source: Source) -> Lane:
    if line["rows"]:
        return _LANES.get(source.rows[line["rows"][0]]["event"].partition(":")[0], Lane.FINDING)
    if line["time"] is not None and line["time"] < -24 * 60:
        return Lane.HISTORY
    return Lane.PLAN if "follow" in line["mention"].lower() else Lane.FINDING


def _reference(note: Note, source: Source, hours: dict[int, float]) -> tuple[Timeline, Inventory]:
    inventory, occurrences = _inventory(note, source, Inventory.Origin.REFERENCE)
    pairs = zip(occurrences, source.lines, strict=True)
    entries = [
        _entry(
            o,
            line,
            line["time"],
            "author",
            tuple(r for r in line["rows"] if r in hours),
            line["why"],
        )
        for o, line in pairs
    ]
    timeline = factories.make_timeline(
        inventory, entries, kind=TimelineKind.REFERENCE, source="reference"
    )
    factories.seal(inventory)
    return timeline, inventory


def _entry(
    occurrence: Occurrence,
    line: dict[str, Any],
    time: float | None,
    rule: str,
    rows: tuple[int, ...] = (),
    reason: str = "",
) -> Entry:
    lower, upper = line["lower"], line["upper"]
    if time is not None:
        lower = None if lower is None else min(lower, time)
        upper = None if upper is None else max(upper, time)
    return Entry(
        occurrence=occurrence,
        time=time,
        lower=lower,
        upper=upper,
        known=bool(line["known"]),
        decided_by=f"made-up 1.0 / {rule}",
        reason=reason or f"Taken from the shipped reference ({rule}).",
        adopted_rows=list(rows),
    )


def _add_context(entries: list[Entry], occurrences: list[Occurrence]) -> list[Entry]:
    for n, entry in enumerate(entries):
        if not entry.known and n >= 2:
            entry.context = [occurrences[n - 1].uid4, occurrences[n - 2].uid4]
    return entries


def _chain(
    case_run: CaseRun,
    occurrences: list[Occurrence],
    source: Source,
    series: dict[str, EventSeries],
    hours: dict[int, float],
) -> None:
    """Add one query for each occurrence, with candidates.

    The candidates are the series of its own rows and others of the case, in seeded order.
    """
    chance = random.Random(source.case_id)
    queries = Query.objects.bulk_create(
        Query(case_run=case_run, occurrence=o, text=o.mention, ordinal=0) for o in occurrences
    )
    names = sorted(series)
    candidates, evidence = [], []
    for query, line in zip(queries, source.lines, strict=True):
        own = list(dict.fromkeys(source.rows[r]["event"] for r in line["rows"] if r in hours))[:10]
        others = [name for name in chance.sample(names, min(12, len(names))) if name not in own]
        for rank, event in enumerate((own + others)[:10], 1):
            kept = event in own
            score = 0.86 - 0.04 * rank
            candidate = Candidate(
                query=query,
                series=series[event],
                dense_rank=rank,
                dense_score=round(score, 3),
                rerank_score=round(score if kept else score / 20, 3),
                kept=kept,
                fate="among the best three of its query" if kept else "below the threshold 0.05",
            )
            candidates.append(candidate)
            evidence += [
                (candidate, r)
                for r in line["rows"]
                if r in hours and source.rows[r]["event"] == event
            ]
    Candidate.objects.bulk_create(candidates)
    Evidence.objects.bulk_create(
        _evidence(case_run.encounter, candidate, row, source, hours) for candidate, row in evidence
    )


def _evidence(
    encounter: Encounter, candidate: Candidate, row: int, source: Source, hours: dict[int, float]
) -> Evidence:
    found = source.rows[row]
    return Evidence(
        case_run=candidate.query.case_run,
        candidate=candidate,
        dataset_id=encounter.dataset_id,
        encounter=encounter,
        row_index=row,
        time=datetime.fromisoformat(found["t"]),
        hours=hours[row],
        event=found["event"],
        value=found["value"],
        unit=found.get("unit", ""),
        source=found.get("source", ""),
        time_kind=found.get("time_kind") or "unknown",
    )


def _make_revision(
    inventory: Inventory,
    case_run: CaseRun,
    occurrences: list[Occurrence],
    source: Source,
    hours: dict[int, float],
    alternative: int,
) -> Timeline:
    chance = random.Random(alternative)
    entries = []
    for occurrence, line in zip(occurrences, source.lines, strict=True):
        rows = tuple(r for r in line["rows"][:1] if r in hours)
        time = line["time"]
        if time is not None and alternative > 1 and not rows:
            time = round(time * chance.uniform(0.9, 1.1), 2)
        reason = "The row is the same occurrence, with the kind of time that fits." if rows else ""
        entries.append(
            _entry(occurrence, line, time, "adopt-row" if rows else "keep-text", rows, reason)
        )
    kind = TimelineKind.REVISED
    return factories.make_timeline(
        inventory,
        _add_context(entries, occurrences),
        kind=kind,
        case_run=case_run,
        alternative=alternative,
    )
