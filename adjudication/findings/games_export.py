"""All games of a judge run as records of a file.

It has games without a finding, which are draws, and games without an answer. Shares and ratings can
be computed from this file and the file of findings alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Case, Count, FloatField, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce

from adjudication.access.closed import ClosedObjects, exclude_closed_games
from adjudication.export_files import BOOL, INT, NUMBER, TEXT, Column
from adjudication.judge_runs.source_labels import SIDES, find_side_labels, load_run_labels
from adjudication.judge_runs.strata import strata
from adjudication.models import Game, JudgeRun
from adjudication.scoring.errors import WEIGHTS
from adjudication.scoring.shares import share

CHUNK = 2000
#: `outcome` of a game that failed, was cancelled or is under way.
OPEN = "open"
COLUMNS = (
    Column("game", TEXT, "", "public id of the game: one judging of one comparison"),
    Column("judge_run", TEXT, "", "public id of the judge run"),
    Column("judge", TEXT, "", "judge of the run, with its version", free=True),
    Column("dataset", TEXT, "", "name of the dataset", free=True),
    Column("case_id", TEXT, "", "the case within its dataset; intervals resample cases", free=True),
    Column(
        "protocol",
        TEXT,
        "",
        "annotation protocol of the case's reference: imported reference, no reference, or an"
        " author's",
    ),
    Column(
        "swapped",
        BOOL,
        "",
        "whether it is the rerun in exchanged positions; ratings are of the others alone",
    ),
    Column(
        "outcome",
        TEXT,
        "",
        "judged, unjudged (no valid answer) or open (not judged yet); ratings are of judged"
        " games alone",
    ),
    Column(
        "first_source",
        TEXT,
        "",
        "the comparison's first timeline: source, kind, alternative",
        free=True,
    ),
    Column("second_source", TEXT, "", "its second timeline", free=True),
    Column(
        "a_source",
        TEXT,
        "",
        "the timeline that the judge saw as A; empty: no judge saw it yet",
        free=True,
    ),
    Column("b_source", TEXT, "", "the timeline that the judge saw as B", free=True),
    Column("findings", INT, "", "lines of the file of findings with this game"),
    Column("decisive", INT, "", "those of them that charge a side"),
    Column(
        "points_first",
        NUMBER,
        "points",
        "charged to the first timeline by prespecified weights; empty: not judged",
    ),
    Column("points_second", NUMBER, "points", "charged to the second timeline; empty: not judged"),
    Column(
        "share_first",
        NUMBER,
        "",
        "the part of both that is charged to the second; one half where nothing is; empty: not"
        " judged",
    ),
    Column("series_supplied", INT, "", "summaries of the record that the judge was given"),
    Column("series_omitted", INT, "", "summaries that the limit or the model's context left out"),
    Column(
        "dropped_findings",
        INT,
        "",
        "findings that stayed invalid and were dropped; if any, the game is judged in part",
    ),
)
_PATHS = {
    "game": "public_id",
    "dataset": "comparison__encounter__dataset__name",
    "case_id": "comparison__encounter__case_id",
    "swapped": "swapped",
    "findings": "reported",
    "decisive": "charged",
    "series_supplied": "series_supplied",
    "series_omitted": "series_omitted",
    "dropped_findings": "dropped_findings",
}


def find_exportable_games(run: JudgeRun, closed: ClosedObjects) -> QuerySet[Game]:
    """Return the run's games that the reader may see.

    Includes games in swapped positions.
    """
    return exclude_closed_games(Game.objects.filter(run=run), closed).order_by("pk")


def lines(run: JudgeRun, games: QuerySet[Game]) -> Iterator[dict[str, Any]]:
    """Yield one record per game, with all columns.

    Values are not yet escaped for spreadsheets.
    """
    judge = f"{run.judge_name} {run.judge_version}".strip()
    protocols = strata(
        run, set(games.order_by().values_list("comparison__encounter_id", flat=True))
    )
    labels = load_run_labels(run)
    decisive = Count("findings", filter=~Q(findings__category=""))
    counted = games.annotate(
        reported=Count("findings"),
        charged=decisive,
        to_first=_points(True),
        to_second=_points(False),
    )
    rows = counted.values_list(
        *_PATHS.values(),
        "comparison__encounter_id",
        "outcome",
        "a_is_first",
        "to_first",
        "to_second",
        *SIDES,
    )
    for row in rows.iterator(chunk_size=CHUNK):
        line = dict(zip(_PATHS, row, strict=False))
        case, outcome, a_is_first, *points = row[-11:-6]
        first, second = find_side_labels(labels, row[-6:])
        a, b = (
            (None, None)
            if a_is_first is None
            else (first, second)
            if a_is_first
            else (second, first)
        )
        yield (
            line
            | _shares(outcome, *points)
            | {
                "judge_run": run.public_id,
                "judge": judge,
                "protocol": protocols[case],
                "first_source": first,
                "second_source": second,
                "a_source": a,
                "b_source": b,
            }
        )


def _points(first: bool) -> Coalesce:
    """Sum the points that the findings of a game charge to one side."""
    weights = [
        When(findings__category=category.value, then=Value(weight))
        for category, weight in WEIGHTS.items()
    ]
    charged = Case(*weights, default=Value(0.0), output_field=FloatField())
    return Coalesce(Sum(charged, filter=Q(findings__charged_first=first)), Value(0.0))


def _shares(outcome: str, to_first: float, to_second: float) -> dict[str, Any]:
    if outcome != Game.Outcome.JUDGED:
        return {
            "outcome": outcome or OPEN,
            "points_first": None,
            "points_second": None,
            "share_first": None,
        }
    return {
        "outcome": outcome,
        "points_first": to_first,
        "points_second": to_second,
        "share_first": share(to_first, to_second),
    }
