"""All findings of a judge run as records of a file.

Text of note, timelines, record and judge is optional.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import QuerySet

from adjudication.access.closed import ClosedObjects, exclude_closed_findings
from adjudication.export_files import BOOL, INT, NUMBER, TEXT, Column
from adjudication.judge_runs.source_labels import SIDES, find_side_labels, load_run_labels
from adjudication.models import Finding, JudgeRun
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
#: Columns that are fields of a finding or of related rows, by their path from the finding.
_PATHS = {
    "finding": "public_id",
    "dataset": "game__comparison__encounter__dataset__name",
    "case_id": "game__comparison__encounter__case_id",
    "game": "game__public_id",
    "swapped": "game__swapped",
    "subject": "subject_sha256",
    **{
        name: name
        for name in (
            "ordinal", "type", "verdict", "category", "flagged", "a_time", "b_time", "grounding", "polarity", "relation", "note_start",
            "note_end", "a_event", "b_event", "note_evidence", "table_evidence", "reason",
        )
    },
}  # fmt: skip


def columns(*, with_text: bool) -> list[Column]:
    """Return the columns of a file in order."""
    return [c for c in COLUMNS if with_text or not c.text]


def find_exportable_findings(run: JudgeRun, closed: ClosedObjects) -> QuerySet[Finding]:
    """Return the run's findings that the reader may see, by game.

    Includes games in swapped positions.
    """
    return exclude_closed_findings(Finding.objects.filter(game__run=run), closed).order_by(
        "game_id", "ordinal"
    )


def lines(run: JudgeRun, findings: QuerySet[Finding]) -> Iterator[dict[str, Any]]:
    """Yield one record per finding, with all columns.

    Values are not yet escaped for spreadsheets.
    """
    judge = f"{run.judge_name} {run.judge_version}".strip()
    rows = findings.values_list(
        *_PATHS.values(), *(f"game__{path}" for path in SIDES), "game__a_is_first", "charged_first"
    )
    labels = load_run_labels(run)
    for row in rows.iterator(chunk_size=CHUNK):
        line = dict(zip(_PATHS, row, strict=False))
        first, second = find_side_labels(labels, row[-8:-2])
        yield (
            line
            | _charge(line, first, second, *row[-2:])
            | {
                "judge_run": run.public_id,
                "judge": judge,
            }
        )


def _charge(
    line: Mapping[str, Any], first: str, second: str, a_is_first: bool, charged_first: bool | None
) -> dict[str, Any]:
    """Name the sides, the side judged right, and the charged side."""
    a, b = (first, second) if a_is_first else (second, first)
    category = line["category"] or None
    return {
        "first_source": first,
        "second_source": second,
        "a_source": a,
        "b_source": b,
        "right_source": {"A": a, "B": b}.get(line["verdict"]),
        "category": category,
        "charged_source": None if charged_first is None else first if charged_first else second,
        "points": WEIGHTS[Category(category)] if category else None,
    }
