"""What lists of findings filter by, as one value of each finding.

A trigger stores it (`adjudication/migrations/sql/listing.sql`) and counts the findings of a run by
it. A list of any length so knows at once which facets match a filter and how many findings have
them (docs/adr/0066-judging-at-scale.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from django.db.models import CharField, Count, Lookup, Sum

from adjudication.access.closed import ClosedObjects
from adjudication.models import Finding, FindingCount, Game, JudgeRun
from ehr.models import Encounter


class Facet(NamedTuple):
    """One combination of values, as text.

    `first` and `second` are the numbers of the compared sources in the run, `charged` says which
    of them is charged. `size` is a name of `adjudication.findings.listing.SIZES`.
    """

    swapped: str
    first: str
    second: str
    type: str
    verdict: str
    grounding: str
    category: str
    charged: str
    flagged: str
    size: str

    @property
    def charged_source(self) -> str:
        """The number of the charged source; empty if none is charged."""
        return {"first": self.first, "second": self.second}.get(self.charged, "")


#: Facets, as stored and in parts, with their number of findings.
FacetCounts = Mapping[str, int]


@lru_cache(maxsize=20_000)
def read_facet(code: str) -> Facet:
    """Return the parts of a stored facet."""
    return Facet(*code.split("|"))


def count_facets(
    run: JudgeRun, closed: ClosedObjects, case: Encounter | None = None
) -> FacetCounts:
    """Count the run's findings by facet, without those closed to the person.

    With `case`, those of one case.
    """
    if case is not None:
        games = Game.objects.filter(run=run, comparison__encounter=case)
        if closed:
            games = games.exclude(closed.condition("comparison__"))
        return _count_of_games(run, list(games.values_list("pk", flat=True)))
    counts = Counter(
        dict(
            FindingCount.objects.filter(run=run)
            .values_list("facet")
            .annotate(sum=Sum("n"))
            .order_by()
        )
    )
    if closed:
        counts.subtract(_count_of_games(run, find_closed_games(run, closed)))
    return {facet: n for facet, n in counts.items() if n > 0}


def find_closed_games(run: JudgeRun, closed: ClosedObjects) -> list[int]:
    """Return the keys of the run's games that are closed to the person."""
    if not closed:
        return []
    found = Game.objects.filter(closed.condition("comparison__"), run=run)
    return list(found.values_list("pk", flat=True))


def _count_of_games(run: JudgeRun, games: list[int]) -> dict[str, int]:
    rows = Finding.objects.filter(run=run, game__in=games).order_by()
    return dict(rows.values_list("facet").annotate(n=Count("pk")))


@CharField.register_lookup
class OneOf(Lookup):
    """`facet__one_of=[…]`: one parameter, however many values there are."""

    lookup_name = "one_of"
    prepare_rhs = False

    def as_sql(self, compiler, connection):  # type: ignore[no-untyped-def]  # Django's interface
        left, params = self.process_lhs(compiler, connection)
        return f"{left} = ANY(%s)", [*params, list(self.rhs)]
