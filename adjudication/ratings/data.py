"""Read the columns of a judge run's report from the database.

They are counted in SQL, so that a cohort of any size takes a few queries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from django.db.models import Count, Q, QuerySet

from adjudication.domain import FindingType, Verdict
from adjudication.judge_runs.actions import IN_PART, UNJUDGED
from adjudication.judge_runs.source_labels import find_label
from adjudication.judge_runs.strata import strata
from adjudication.models import Finding, Game, JudgeRun
from adjudication.reports.league.compute import DECISIVE, judge_report
from adjudication.reports.league.overlapping import OverlapCounter, find_family
from adjudication.reports.league.values import CATEGORIES, FindingRow, Games, JudgeReport, Overlap
from adjudication.scoring.errors import Category
from timelines.evaluation.values import SourceKey

CHUNK = 5000
#: Number of comparisons whose findings are in memory at once.
BLOCK = 2000


def compute_report(run: JudgeRun) -> JudgeReport:
    """Return the report on all games judged so far."""
    return judge_report(
        load_games(run),
        swap=_overlap(_find_twice_judged_comparisons(run), (run, False), (run, True)),
    )


def load_games(run: JudgeRun) -> Games:
    """Return the judged games in first positions.

    Other games are counted by pair of sources.
    """
    keys = tuple(SourceKey(*source) for source in run.sources)
    labels = [key.label for key in keys]
    fields = (
        "pk",
        "comparison__encounter_id",
        *(
            f"comparison__{side}__{name}"
            for side in ("first", "second")
            for name in ("source", "kind", "alternative")
        ),
    )
    judged = (
        run.games.filter(outcome=Game.Outcome.JUDGED, swapped=False)
        .order_by("pk")
        .values_list(*fields)
    )
    rows = [
        (pk, case, _index(labels, *sides[:3]), _index(labels, *sides[3:]))
        for pk, case, *sides in judged.iterator(chunk_size=CHUNK)
    ]
    place = {row[0]: n for n, row in enumerate(rows)}
    strata_of = strata(run, {row[1] for row in rows})
    names = tuple(sorted(set(strata_of.values())))
    charges, flagged, findings, flagged_findings = _counts(run, place)
    timing = _timing(run, place)
    return Games(
        sources=tuple(labels),
        strata=names,
        first=_make_integers(row[2] for row in rows),
        second=_make_integers(row[3] for row in rows),
        case=_make_integers(row[1] for row in rows),
        stratum=_make_integers(names.index(strata_of[row[1]]) for row in rows),
        charges=charges,
        flagged=flagged,
        findings=findings,
        flagged_findings=flagged_findings,
        timing_game=_make_integers(t[0] for t in timing),
        timing_side=_make_integers(t[1] for t in timing),
        timing_apart=np.array([_compute_distance(*t[2:]) for t in timing], dtype=np.float64),
        timing_far=np.array([_compute_magnitude(*t[2:]) for t in timing], dtype=np.float64),
        unjudged=_count_by_pair(run, labels, UNJUDGED),
        open=_count_by_pair(run, labels, ~UNJUDGED & ~Q(outcome=Game.Outcome.JUDGED)),
        in_part=_count_by_pair(run, labels, IN_PART),
        keys=keys,
        tally=_tally(run),
        for_a=_count_for_a(run),
    )


def load_judged_findings(
    run: JudgeRun, comparisons: Sequence[int], *, swapped: bool
) -> Iterator[FindingRow]:
    """Yield the findings of these comparisons (primary keys).

    Sides are the comparison's first and second timeline.
    """
    fields = (
        "game__comparison_id",
        "subject_sha256",
        "type",
        "verdict",
        "category",
        "charged_first",
        "game__a_is_first",
    )
    found = Finding.objects.filter(
        game__run=run, game__swapped=swapped, game__outcome=Game.Outcome.JUDGED
    )
    rows = (
        found.filter(game__comparison__in=comparisons)
        .order_by("game_id", "ordinal")
        .values_list(*fields)
    )
    for comparison, subject, kind, verdict, category, charged, a_is_first in rows.iterator(
        chunk_size=CHUNK
    ):
        yield FindingRow(
            comparison,
            subject,
            FindingType(kind),
            _convert_verdict(verdict, a_is_first),
            category,
            charged,
        )


def compare_runs(first: JudgeRun, second: JudgeRun) -> tuple[int, tuple[Overlap, ...]]:
    """Return (comparisons that both have judged, overlap of their findings)."""
    both = sorted(_find_judged_comparisons(first) & _find_judged_comparisons(second))
    return len(both), _overlap(both, (first, False), (second, False))


def _overlap(
    comparisons: Sequence[int], one: tuple[JudgeRun, bool], two: tuple[JudgeRun, bool]
) -> tuple[Overlap, ...]:
    """Compare two judgings (run, whether swapped) of these comparisons.

    One block of comparisons at a time; () if there are none.
    """
    found = OverlapCounter()
    for at in range(0, len(comparisons), BLOCK):
        block = comparisons[at : at + BLOCK]
        found.add(
            *(load_judged_findings(run, block, swapped=swapped) for run, swapped in (one, two))
        )
    return found.rows() if comparisons else ()


def _find_judged_comparisons(run: JudgeRun) -> set[int]:
    return set(
        run.games.filter(outcome=Game.Outcome.JUDGED, swapped=False).values_list(
            "comparison_id", flat=True
        )
    )


def _find_twice_judged_comparisons(run: JudgeRun) -> list[int]:
    """Return the comparisons that were judged in both positions."""
    twice = (
        run.games.filter(outcome=Game.Outcome.JUDGED)
        .values("comparison")
        .annotate(n=Count("pk"))
        .filter(n=2)
    )
    return list(twice.order_by("comparison").values_list("comparison", flat=True))


def _counts(
    run: JudgeRun, place: dict[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return (charges, flagged wrong times, findings, flagged findings).

    In the form of `Games`.
    """
    charges = np.zeros((len(place), 2, len(CATEGORIES)), np.int64)
    flagged = np.zeros((len(place), 2), np.int64)
    findings, flagged_findings = np.zeros(len(place), np.int64), np.zeros(len(place), np.int64)
    category_at = {c.value: n for n, c in enumerate(CATEGORIES)}
    grouped = (
        _findings(run)
        .values("game_id", "category", "charged_first", "flagged")
        .annotate(n=Count("pk"))
        .order_by("game_id")
    )
    for row in grouped.iterator(chunk_size=CHUNK):
        at, n = place[row["game_id"]], row["n"]
        findings[at] += n
        flagged_findings[at] += n * row["flagged"]
        if row["category"]:
            side = 0 if row["charged_first"] else 1
            charges[at, side, category_at[row["category"]]] += n
            if row["flagged"] and row["category"] == Category.WRONG_TIME:
                flagged[at, side] += n
    return charges, flagged, findings, flagged_findings


def _tally(run: JudgeRun) -> dict[tuple[str, str, str, bool], int]:
    """Count findings by type, verdict, grounding and flag, as `Games` does."""
    counted: Counter[tuple[str, str, str, bool]] = Counter()
    grouped = (
        _findings(run)
        .order_by()
        .values_list("type", "verdict", "grounding", "flagged")
        .annotate(n=Count("pk"))
    )
    for kind, verdict, grounding, flagged, n in grouped:
        counted[
            find_family(FindingType(kind)),
            DECISIVE if Verdict(verdict).decisive else verdict,
            grounding,
            flagged,
        ] += n
    return dict(counted)


def _count_for_a(run: JudgeRun) -> tuple[int, int]:
    """Return (findings for A, decisive findings), in both positions."""
    decisive = Finding.objects.filter(
        game__run=run, game__outcome=Game.Outcome.JUDGED, verdict__in=(Verdict.A, Verdict.B)
    )
    counts = dict(decisive.order_by().values_list("verdict").annotate(n=Count("pk")))
    return counts.get(Verdict.A, 0), sum(counts.values())


def _timing(run: JudgeRun, place: dict[int, int]) -> list[tuple[int, int, int | None, int | None]]:
    """Return (game, side charged, the two times) of decisive TIMING findings."""
    decisive = _findings(run).filter(type=FindingType.TIMING.value, charged_first__isnull=False)
    rows = decisive.order_by("pk").values_list("game_id", "charged_first", "a_time", "b_time")
    return [
        (place[game], 0 if first else 1, a, b)
        for game, first, a, b in rows.iterator(chunk_size=CHUNK)
    ]


def _findings(run: JudgeRun) -> QuerySet[Finding]:
    return Finding.objects.filter(
        game__run=run, game__swapped=False, game__outcome=Game.Outcome.JUDGED
    )


def _count_by_pair(
    run: JudgeRun, labels: Sequence[str], condition: Q
) -> dict[tuple[int, int], int]:
    fields = [
        f"comparison__{side}__{name}"
        for side in ("first", "second")
        for name in ("source", "kind", "alternative")
    ]
    rows = (
        run.games.filter(condition, swapped=False)
        .order_by()
        .values_list(*fields)
        .annotate(n=Count("pk"))
    )
    found: Counter[tuple[int, int]] = Counter()
    for *sides, n in rows:
        found[_index(labels, *sides[:3]), _index(labels, *sides[3:])] += n
    return dict(found)


def _index(labels: Sequence[str], source: str, kind: str, alternative: int) -> int:
    return labels.index(find_label(labels, source, kind, alternative))


def _convert_verdict(verdict: str, a_is_first: bool) -> str:
    """Convert a verdict's label to the comparison's side: "first" or "second"."""
    if verdict not in (Verdict.A, Verdict.B):
        return verdict
    return "first" if (verdict == Verdict.A) == a_is_first else "second"


def _compute_distance(a: int | None, b: int | None) -> float:
    """Return the hours between two times, by the judge's tolerance.

    Two N/A are equal (0); N/A and a time are within no tolerance (NaN).
    """
    if a is None or b is None:
        return 0.0 if a is b else float("nan")
    return float(abs(a - b))


def _compute_magnitude(a: int | None, b: int | None) -> float:
    return float("nan") if a is None or b is None else float(max(abs(a), abs(b)))


def _make_integers(values: Iterable[int]) -> np.ndarray:
    return np.fromiter(values, dtype=np.int64)
