"""All findings of a judge run as records of a file.

Text of note, timelines, record and judge is optional.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import islice
from typing import Any

from django.db.models import QuerySet

from adjudication.access.closed import ClosedObjects, exclude_closed_findings
from adjudication.export_files import BOOL, INT, NUMBER, ROW_GROUP, TEXT, Column
from adjudication.findings.facets import read_facet
from adjudication.judge_runs.source_labels import load_run_labels
from adjudication.models import Finding, Game, JudgeRun
from adjudication.scoring.errors import WEIGHTS, Category

CHUNK = 2000
COLUMNS = (
    Column("finding", TEXT, "", "public id of the finding"),
    Column("judge_run", TEXT, "", "public id of the judge run"),
    Column("judge", TEXT, "", "judge that reported it, with its version", free=True),
    Column("dataset", TEXT, "", "name of the dataset", free=True),
    Column("case_id", TEXT, "", "the case within its dataset", free=True),
    Column("game", TEXT, "", "public id of the game: one judging of one comparison"),
    Column(
        "swapped",
        BOOL,
        "",
        "whether the game is the rerun in exchanged positions; ratings are of the others alone",
    ),
    Column("ordinal", INT, "", "place of the finding in the judge's answer, from 1"),
    Column(
        "first_source",
        TEXT,
        "",
        "the comparison's first timeline: source, kind, alternative",
        free=True,
    ),
    Column("second_source", TEXT, "", "its second timeline", free=True),
    Column("a_source", TEXT, "", "the timeline that the judge saw as A", free=True),
    Column("b_source", TEXT, "", "the timeline that the judge saw as B", free=True),
    Column(
        "type",
        TEXT,
        "",
        "VALUE, TIMING, A_ONLY, B_ONLY, SHARED_UNSUPPORTED or DUPLICATE, in the judge's labels",
    ),
    Column("verdict", TEXT, "", "A, B, BOTH, NEITHER or UNCLEAR, in the judge's labels"),
    Column("right_source", TEXT, "", "the timeline judged right; empty if none was", free=True),
    Column(
        "category", TEXT, "", "error that is charged; empty where the verdict is not for one side"
    ),
    Column("charged_source", TEXT, "", "the timeline that is charged with it", free=True),
    Column("points", NUMBER, "points", "prespecified weight of the error"),
    Column(
        "flagged",
        BOOL,
        "",
        "a TIMING finding whose hours are within tolerance: it counts, and is marked",
    ),
    Column("a_time", INT, "hours", "judged time of A's row from admission; empty: N/A or no row"),
    Column("b_time", INT, "hours", "judged time of B's row from admission; empty: N/A or no row"),
    Column("grounding", TEXT, "", "what it rests on: NOTE, TABLE, BOTH or NONE"),
    Column("polarity", TEXT, "", "present or absent"),
    Column("relation", TEXT, "", "novel_event or added_detail; empty but for one-sided findings"),
    Column("note_start", INT, "code points", "where the quote begins in the note; empty: no quote"),
    Column("note_end", INT, "code points", "where it ends, exclusive"),
    Column(
        "subject",
        TEXT,
        "",
        "SHA-256 of what it is about: the same in another judging of the comparison",
    ),
    Column("a_event", TEXT, "", "words of A's row", text=True),
    Column("b_event", TEXT, "", "words of B's row", text=True),
    Column("note_evidence", TEXT, "", "the judge's quote of the note, verbatim", text=True),
    Column(
        "table_evidence",
        TEXT,
        "",
        "series, value and time that the judge cites of the record",
        text=True,
    ),
    Column("reason", TEXT, "", "the judge's reason", text=True),
)
#: Columns that are fields of a finding, by the name of the field.
_FIELDS = {
    "finding": "public_id",
    "case_id": "case",
    "subject": "subject_sha256",
    **{
        name: name
        for name in (
            "ordinal", "a_time", "b_time", "polarity", "relation", "note_start", "note_end", "a_event", "b_event", "note_evidence",
            "table_evidence", "reason",
        )
    },
}  # fmt: skip
#: Columns that follow from a finding's facet and from the game's sides.
_DERIVED = (
    "swapped", "first_source", "second_source", "a_source", "b_source", "type", "verdict", "right_source", "category",
    "charged_source", "points", "flagged", "grounding",
)  # fmt: skip
#: Columns of a block by name, all of one length.
Block = dict[str, Sequence[Any]]


def columns(*, with_text: bool) -> list[Column]:
    """Return the columns of a file in order."""
    return [c for c in COLUMNS if with_text or not c.text]


def find_exportable_findings(run: JudgeRun, closed: ClosedObjects) -> QuerySet[Finding]:
    """Return the run's findings that the reader may see, by game.

    Includes games in swapped positions.
    """
    return exclude_closed_findings(Finding.objects.filter(run=run), closed).order_by(
        "game_id", "ordinal"
    )


def lines(run: JudgeRun, findings: QuerySet[Finding]) -> Iterator[dict[str, Any]]:
    """Yield one record per finding, with all columns.

    Values are not yet escaped for spreadsheets.
    """
    for block in blocks(run, findings):
        for values in zip(*block.values(), strict=True):
            yield dict(zip(block, values, strict=True))


def blocks(run: JudgeRun, findings: QuerySet[Finding]) -> Iterator[Block]:
    """Yield the findings in blocks of columns, cheaper than records.

    A cursor of the database keeps the rows, so memory does not grow with the run.
    """
    judge = f"{run.judge_name} {run.judge_version}".strip()
    describe = cache(partial(_describe, load_run_labels(run)))
    rows = findings.values_list("game_id", "facet", *_FIELDS.values())
    waiting = rows.iterator(chunk_size=CHUNK)
    while block := list(islice(waiting, ROW_GROUP)):
        games, facets, *fields = zip(*block, strict=True)
        there = _load_games(run, games[0], games[-1])
        derived = [describe(f, there[g][2]) for g, f in zip(games, facets, strict=True)]
        yield {
            "judge_run": [run.public_id] * len(block),
            "judge": [judge] * len(block),
            "dataset": [there[g][1] for g in games],
            "game": [there[g][0] for g in games],
            **dict(zip(_FIELDS, fields, strict=True)),
            **dict(zip(_DERIVED, zip(*derived, strict=True), strict=True)),
        }


def _load_games(run: JudgeRun, first: int, last: int) -> dict[int, tuple[str, str, bool | None]]:
    """Map games to (public id, name of the dataset, whether A was first)."""
    rows = Game.objects.filter(run=run, pk__range=(first, last)).values_list(
        "pk", "public_id", "comparison__encounter__dataset__name", "a_is_first"
    )
    return {pk: (public_id, dataset, first) for pk, public_id, dataset, first in rows}


def _describe(labels: Sequence[str], code: str, a_is_first: bool | None) -> tuple[Any, ...]:
    """Return the values of _DERIVED: sides, verdict and charge."""
    facet = read_facet(code)
    first, second = (labels[int(n)] if n else "" for n in (facet.first, facet.second))
    a, b = (first, second) if a_is_first else (second, first)
    category = facet.category or None
    return (
        bool(facet.swapped),
        first,
        second,
        a,
        b,
        facet.type,
        facet.verdict,
        {"A": a, "B": b}.get(facet.verdict),
        category,
        {"first": first, "second": second}.get(facet.charged),
        WEIGHTS[Category(category)] if category else None,
        bool(facet.flagged),
        facet.grounding,
    )
