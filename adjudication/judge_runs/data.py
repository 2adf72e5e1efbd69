"""Read the games of a cohort from the database, and the input of a judge."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice
from typing import Any

import pyarrow as pa
from django.db import connection

from adjudication.judging.config import JudgeConfig
from adjudication.judging.input import Candidate, CandidateRow, JudgeInput, judge_input
from adjudication.models import Comparison, Game
from ehr.models import Dataset, Encounter, SourceRow
from ehr.schema import ROWS
from ehr.summarise import Series, summarise
from jobs.errors import PermanentFailure
from timelines import domain
from timelines.access.references import (
    ANY_CONSENSUS,
    add_consensus,
    find_named,
    match_sources,
)
from timelines.evaluation.values import SourceKey
from timelines.evaluations.data import CONSENSUS_KEY
from timelines.models import Entry, Timeline
from timelines.runs.stay_text import StayText, read_texts
from timelines.transfer.lines import Selection, chosen_of_cases, chosen_timelines

#: Cases whose timelines are chosen in one query.
CASES_AT_ONCE = 500


@dataclass(frozen=True)
class LoadedGame:
    """A game as its judge gets it, and the data to store its answer with.

    `entries`: row number → its entry. `input_sha256` covers everything that may change the
    findings: the note, both timelines as judged, the record and the settings.
    """

    given: JudgeInput
    entries: dict[int, int]
    input_sha256: str


@dataclass(frozen=True)
class Material:
    """What the games of a case have in common, in hours from the anchor."""

    text: StayText
    anchor: domain.Anchor
    series: tuple[Series, ...]
    rows: tuple[domain.SourceRow, ...]


#: Every (source, kind, alternative), with one index step for each: a plain DISTINCT would read
#: every timeline.
_KEYS = """
WITH RECURSIVE keys AS (
    (SELECT source, kind, alternative FROM timelines_timeline ORDER BY source, kind, alternative LIMIT 1)
    UNION ALL
    SELECT next.* FROM keys CROSS JOIN LATERAL (
        SELECT source, kind, alternative FROM timelines_timeline t
        WHERE (t.source, t.kind, t.alternative) > (keys.source, keys.kind, keys.alternative)
        ORDER BY source, kind, alternative LIMIT 1
    ) next
)
SELECT source, kind, alternative FROM keys
"""


def find_sources(datasets: Sequence[Dataset], closed: Collection[int] = ()) -> list[SourceKey]:
    """Return every source with timelines in these datasets, references first.

    A source is a name, kind and alternative; `consensus` is among them if a case has one. Leaves
    out `closed` encounters.
    """
    with connection.cursor() as cursor:
        cursor.execute(_KEYS)
        keys = [SourceKey(*row) for row in cursor.fetchall()]
    there = [key for key in keys if has_source(datasets, key, closed)]
    known = add_consensus(k.source for k in there if k.kind == domain.TimelineKind.REFERENCE)
    if ANY_CONSENSUS in known:
        there = list({*there, CONSENSUS_KEY})
    return sorted(
        there,
        key=lambda k: (k.kind != domain.TimelineKind.REFERENCE, k.source, k.kind, k.alternative),
    )


def has_source(datasets: Sequence[Dataset], key: SourceKey, closed: Collection[int] = ()) -> bool:
    """Return whether any case of these datasets has a timeline of the source.

    Leaves out `closed` encounters.
    """
    timelines = Timeline.objects.filter(encounter__dataset__in=datasets).exclude(
        encounter__in=list(closed)
    )
    named = timelines.filter(match_sources([key.source]))
    return named.filter(kind=key.kind, alternative=key.alternative).exists()


def load_pairs(
    datasets: Sequence[Dataset], sources: Sequence[SourceKey], cases: Sequence[str] = ()
) -> Iterator[tuple[Timeline, Timeline]]:
    """Yield every pair of finished timelines of a case, case by case.

    The two are of different `sources`, in the order of `sources`.
    """
    encounters = (
        Encounter.objects.filter(dataset__in=datasets)
        .select_related("dataset")
        .order_by("dataset", "case_id")
    )
    if cases:
        encounters = encounters.filter(case_id__in=cases)
    rows = encounters.iterator(chunk_size=CASES_AT_ONCE)
    while some := list(islice(rows, CASES_AT_ONCE)):
        yield from load_case_pairs(some, sources)


def load_case_pairs(
    encounters: Sequence[Encounter], sources: Sequence[SourceKey]
) -> Iterator[tuple[Timeline, Timeline]]:
    """Yield the pairs of these cases, as `load_pairs`, in one query."""
    names = sorted({k.source for k in sources})
    chosen = chosen_of_cases([e.pk for e in encounters], Selection(sources=names))
    for encounter in encounters:
        there = _find_each(chosen.get(encounter.pk, []), sources)
        for timeline in there:
            timeline.encounter = encounter
        yield from combinations(there, 2)


def _find_each(timelines: Sequence[Timeline], sources: Sequence[SourceKey]) -> list[Timeline]:
    """Return the case's timeline of each source, no timeline twice."""
    by_key = {SourceKey(t.source, t.kind, t.alternative): t for t in timelines}
    if CONSENSUS_KEY in sources and CONSENSUS_KEY not in by_key:
        named = {k.source for k in sources}
        found = find_named([t for t in timelines if t.source not in named], ANY_CONSENSUS)
        by_key |= {CONSENSUS_KEY: found} if found else {}
    return [by_key[k] for k in sources if k in by_key]


def load_source_timelines(
    dataset: Dataset, source: SourceKey, cases: Sequence[str] = ()
) -> Iterator[Timeline]:
    """Yield the finished timeline of that source for each case that has one."""
    encounters = Encounter.objects.filter(dataset=dataset).order_by("case_id")
    for encounter in (encounters.filter(case_id__in=cases) if cases else encounters).iterator(
        chunk_size=200
    ):
        chosen = chosen_timelines(encounter, Selection(sources=(source.source,)))
        for timeline in _find_each(chosen, [source]):
            timeline.encounter = encounter
            yield timeline


def load_game(game: Game, config: JudgeConfig) -> LoadedGame:
    """Load a game's input. Raises NoteChanged, PermanentFailure."""
    comparison = Comparison.objects.select_related("encounter", "first", "second").get(
        pk=game.comparison_id
    )
    encounter = comparison.encounter
    material = load_material(encounter, (comparison.first, comparison.second))
    first, second = (
        load_candidates(timeline, material.text)
        for timeline in (comparison.first, comparison.second)
    )
    given = judge_input(
        [c for c, _ in first],
        [c for c, _ in second],
        note=material.text.text,
        anchor=material.anchor,
        seed=game.seed,
        series=material.series,
        rows=material.rows,
        swap=game.swapped,
        uid_table=config.uid_table,
        limit=config.series_limit,
        record_times=config.record_times,
    )
    # Map by object, not by value: equal rows stay apart.
    entry = {id(c): pk for c, pk in (*first, *second)}
    return LoadedGame(
        given,
        {row.row: entry[id(row.source)] for row in (*given.a_rows, *given.b_rows)},
        input_digest(given, config),
    )


def load_material(encounter: Encounter, timelines: Sequence[Timeline] = ()) -> Material:
    """Load text, hour zero, summaries and rows of a case.

    The text is that of the timelines. Raises NoteChanged, and PermanentFailure if there is no note.
    """
    text = read_texts(encounter, [t.inventory_id for t in timelines])
    if text is None:
        raise PermanentFailure("the case has no note")
    table = rows_table(encounter)
    anchor = domain.Anchor(
        encounter.admitted_at,
        "presentation" if encounter.anchor_kind == "presentation" else "admission",
    )
    return Material(
        text,
        anchor,
        tuple(summarise(table, untimed=True)),
        tuple(source_rows(table, anchor)),
    )


def load_candidates(timeline: Timeline, text: StayText) -> list[tuple[Candidate, int]]:
    """Return the rows of a stored timeline in its order, with entry keys.

    Their places are those in `text`.
    """
    rows = (
        Entry.objects.filter(timeline=timeline)
        .select_related("occurrence")
        .order_by("occurrence__ordinal", "pk")
    )
    return [(_candidate(e, text), e.pk) for e in rows]


def _candidate(entry: Entry, text: StayText) -> Candidate:
    o = entry.occurrence
    if o is None:
        return Candidate(
            event=entry.event,
            time=entry.time,
            lower=entry.lower,
            upper=entry.upper,
            known=bool(entry.known),
        )
    return Candidate(
        event=o.mention,
        time=entry.time,
        uid=o.uid4,
        polarity=domain.Polarity(o.polarity),
        start=text.place(o.inventory_id, o.start),
        end=text.place(o.inventory_id, o.end),
        lower=entry.lower,
        upper=entry.upper,
        known=bool(entry.known),
        context=tuple(entry.context),
    )


def rows_table(encounter: Encounter) -> pa.Table:
    """Return the encounter's source rows as `ehr.schema.ROWS`, by row index."""
    names = list(ROWS.names)
    rows = (
        SourceRow.objects.filter(dataset_id=encounter.dataset_id, encounter_id=encounter.pk)
        .order_by("row_index")
        .values_list(*names)
    )
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return pa.table(
        [
            pa.array(column, type=ROWS.field(name).type)
            for name, column in zip(names, columns, strict=True)
        ],
        schema=ROWS,
    )


def source_rows(table: pa.Table, anchor: domain.Anchor) -> list[domain.SourceRow]:
    """Return the same rows with hours from the anchor."""
    return [
        domain.SourceRow(
            r["row_index"],
            None if r["time"] is None else anchor.hours(r["time"]),
            r["event"],
            r["value"],
            r["unit"],
            r["source"],
            domain.TimeKind(r["time_kind"]),
            r["numeric_value"],
        )
        for r in table.to_pylist()
    ]


def input_digest(given: JudgeInput, config: JudgeConfig) -> str:
    """Hash all that a judge decides from, without the labels.

    That is what prompts show, and the places and source rows that rules read.
    """
    sides = [given.a_rows, given.b_rows] if given.a_is_first else [given.b_rows, given.a_rows]
    unseen = ("seed", "swap", "preset_name", "attempts")
    settings = {k: v for k, v in config.to_dict().items() if k not in unseen}
    timelines = [sorted(json.dumps(_row_content(r, config)) for r in side) for side in sides]
    record = [
        (r.row_index, r.time, r.event, r.value, r.unit, r.source, r.time_kind, r.numeric_value)
        for r in given.rows
    ]
    content = [given.note, str(given.anchor), timelines, given.record_text, record, settings]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _row_content(row: CandidateRow, config: JudgeConfig) -> list[Any]:
    """Return a row's hashed values: no drawn number, bounds only if shown.

    Bounds and context count if the judge is shown them.
    """
    c = row.source
    shown = [c.lower, c.upper, c.known, *c.context] if config.uid_table else []
    return [row.event, row.time, c.uid, c.polarity, c.start, c.end, *shown]
