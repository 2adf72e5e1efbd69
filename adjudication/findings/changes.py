"""Compare two judge runs in the database; findings match by subject.

Only comparisons that both runs judged count: without both answers nothing is gone or new. Verdicts
are compared as "the first timeline is right", "the second" and so on, because the two games may
have drawn their labels differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.db import connection
from django.db.models import Exists, OuterRef

from adjudication.access.closed import OPEN, ClosedObjects, exclude_closed_games
from adjudication.findings.listing import FindingLine, finding_line
from adjudication.models import Finding, Game, JudgeRun


class Change(StrEnum):
    """The change of a subject from the earlier run to the later one."""

    VERDICT = "verdict"
    GONE = "gone"
    NEW = "new"
    SAME = "same"

    @property
    def words(self) -> str:
        return {
            "verdict": "verdict changed",
            "gone": "no longer reported",
            "new": "newly reported",
            "same": "the same",
        }[self.value]


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One subject's findings: before is None if new, after None if gone."""

    change: Change
    before: FindingLine | None
    after: FindingLine | None

    @property
    def either(self) -> FindingLine:
        found = self.after or self.before
        assert found is not None
        return found


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """`type` is one of `TYPES` in `adjudication.findings.listing`, "" for all.

    `change` "" means every change but "same".
    """

    change: str = ""
    type: str = ""

    @classmethod
    def from_query(cls, asked: Mapping[str, str]) -> ChangeFilter:
        change, kind = asked.get("change", ""), asked.get("type", "")
        return cls(change if change in list(Change) else "", kind if kind in _TYPES else "")

    def conditions(self) -> tuple[str, list[Any]]:
        changes = (
            [self.change] if self.change else [c.value for c in Change if c is not Change.SAME]
        )
        where, values = "change = ANY(%s)", [changes]
        if self.type:
            where, values = where + " AND type = ANY(%s)", [*values, list(_TYPES[self.type])]
        return where, values


_TYPES: Mapping[str, Sequence[str]] = {
    "TIMING": ("TIMING",),
    "VALUE": ("VALUE",),
    "one-sided": ("A_ONLY", "B_ONLY"),
    "DUPLICATE": ("DUPLICATE",),
    "SHARED_UNSUPPORTED": ("SHARED_UNSUPPORTED",),
}
#: Findings of one subject within one game are matched in their order.
_PAIRED = """
WITH both_judged AS (
    SELECT one.comparison_id, one.id AS one_id, two.id AS two_id, one.a_is_first AS one_first, two.a_is_first AS two_first
    FROM adjudication_game one
    JOIN adjudication_game two ON two.comparison_id = one.comparison_id AND two.run_id = %s AND two.swapped = one.swapped
    JOIN adjudication_comparison c ON c.id = one.comparison_id
    WHERE one.run_id = %s AND NOT one.swapped AND one.outcome = 'judged' AND two.outcome = 'judged'
        AND NOT (c.encounter_id = ANY(%s) OR c.first_id = ANY(%s) OR c.second_id = ANY(%s))
), judged AS (
    SELECT f.id, f.game_id, f.subject_sha256, f.type, f.ordinal, b.comparison_id, f.game_id = b.one_id AS is_one,
        CASE WHEN f.verdict NOT IN ('A', 'B') THEN f.verdict
             WHEN (f.verdict = 'A') = (CASE WHEN f.game_id = b.one_id THEN b.one_first ELSE b.two_first END) THEN 'first'
             ELSE 'second' END AS side,
        row_number() OVER (PARTITION BY f.game_id, f.subject_sha256 ORDER BY f.ordinal) AS n
    FROM adjudication_finding f JOIN both_judged b ON f.game_id IN (b.one_id, b.two_id)
), changes AS (
    SELECT before.id AS before_id, after.id AS after_id, coalesce(after.type, before.type) AS type,
        coalesce(after.comparison_id, before.comparison_id) AS comparison_id, coalesce(after.ordinal, before.ordinal) AS ordinal,
        CASE WHEN after.id IS NULL THEN 'gone' WHEN before.id IS NULL THEN 'new'
             WHEN before.side = after.side THEN 'same' ELSE 'verdict' END AS change
    FROM (SELECT * FROM judged WHERE is_one) before
    FULL JOIN (SELECT * FROM judged WHERE NOT is_one) after
        ON after.comparison_id = before.comparison_id AND after.subject_sha256 = before.subject_sha256 AND after.n = before.n
)
"""
#: A unique order: only one of the two runs has a given finding.
_ORDER = "e.case_id, comparison_id, ordinal, coalesce(after_id, before_id)"


class Changes:
    """The changes from `earlier` to `later` that the reader may see.

    Supports `count` and slices, as a paginator needs.
    """

    def __init__(
        self,
        earlier: JudgeRun,
        later: JudgeRun,
        closed: ClosedObjects,
        wanted: ChangeFilter = ChangeFilter(),
    ) -> None:
        sides = list(closed.timelines)
        self._given: list[Any] = [later.pk, earlier.pk, list(closed.cases), sides, sides]
        self._where, self._values = wanted.conditions()

    def counts(self) -> dict[Change, int]:
        """Return the number of subjects for each change, ignoring the filter."""
        found = dict(self._fetch_rows("SELECT change, count(*) FROM changes GROUP BY change"))
        return {change: found.get(change.value, 0) for change in Change}

    def types(self) -> dict[str, int]:
        """Count each stored type among the selected changes."""
        return dict(
            self._fetch_rows(
                f"SELECT type, count(*) FROM changes WHERE {self._where} GROUP BY type",
                *self._values,
            )
        )

    def comparisons(self) -> int:
        """Return how many comparisons both runs judged."""
        return int(self._fetch_rows("SELECT count(*) FROM both_judged")[0][0])

    def count(self) -> int:
        return int(
            self._fetch_rows(f"SELECT count(*) FROM changes WHERE {self._where}", *self._values)[0][
                0
            ]
        )

    __len__ = count

    def __getitem__(self, wanted: slice) -> list[ChangeLine]:
        return self._lines("", [], "LIMIT %s OFFSET %s", [wanted.stop - wanted.start, wanted.start])

    def load_lines(self, place: Finding | None, limit: int) -> list[ChangeLine]:
        """Return at most `limit` changes after the one whose `either` is `place`.

        None starts from the first one.
        """
        if place is None:
            return self._lines("", [], "LIMIT %s", [limit])
        comparison = place.game.comparison
        key = [comparison.encounter.case_id, comparison.pk, place.ordinal, place.pk]
        return self._lines(f" AND ({_ORDER}) > (%s, %s, %s, %s)", key, "LIMIT %s", [limit])

    def _lines(
        self, further: str, key: Sequence[Any], part: str, numbers: Sequence[int]
    ) -> list[ChangeLine]:
        rows = self._fetch_rows(
            "SELECT before_id, after_id, change FROM changes JOIN adjudication_comparison c ON"
            " c.id = comparison_id JOIN ehr_encounter e ON e.id = c.encounter_id WHERE"
            f" {self._where}{further} ORDER BY {_ORDER} {part}",
            *self._values,
            *key,
            *numbers,
        )
        related = (
            "game__run",
            "game__comparison__encounter__dataset__study",
            "game__comparison__first",
            "game__comparison__second",
        )
        ids = {pk for before, after, _ in rows for pk in (before, after) if pk is not None}
        lines = {
            f.pk: finding_line(f)
            for f in Finding.objects.select_related(*related).filter(pk__in=ids)
        }
        return [
            ChangeLine(Change(change), lines.get(before), lines.get(after))
            for before, after, change in rows
        ]

    def _fetch_rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(_PAIRED + query, [*self._given, *values])
            return cursor.fetchall()


def find_comparable_runs(run: JudgeRun, closed: ClosedObjects = OPEN) -> list[JudgeRun]:
    """Return the study's other judge runs that share a judged comparison.

    Closed comparisons do not count. Newest first.
    """
    shared = exclude_closed_games(Game.objects.filter(run=run), closed).values("comparison")
    # One shared comparison is enough: large runs are not joined as a whole.
    also = Exists(Game.objects.filter(run=OuterRef("pk"), comparison__in=shared))
    others = JudgeRun.objects.filter(also, study=run.study).exclude(pk=run.pk)
    return list(others.order_by("-created_at"))
