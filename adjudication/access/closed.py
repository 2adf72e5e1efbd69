"""Games and findings that lists leave out because they are closed.

They are of cases or timelines that are closed to a person now. A page of one case asks
`eligibility.check_user_may_see_findings`; a list over many cases asks here. The number of queries
depends on how many cases the person authors, not on the list's length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from accounts.models import User
from accounts.permissions import NotAllowed
from adjudication.access.eligibility import FINDING_PAGES
from adjudication.models import Comparison, Finding, Game, JudgeRun, Packet
from ehr.models import Encounter
from timelines.access.authoring import hidden_timelines
from timelines.access.closed import closed_encounters

M = TypeVar("M", bound=Model)
RUN_CLOSED = "All cases of this judge run are closed to you while you review or author them."


@dataclass(frozen=True, slots=True)
class ClosedObjects:
    """Primary keys of encounters and of timelines."""

    cases: frozenset[int]
    timelines: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.cases or self.timelines)

    def hides(self, comparison: Comparison) -> bool:
        sides = (comparison.first_id, comparison.second_id)
        return comparison.encounter_id in self.cases or not self.timelines.isdisjoint(sides)

    def condition(self, path: str) -> Q:
        """Return the condition for closed rows whose comparison is at `path`."""
        sides = list(self.timelines)
        return (
            Q(**{f"{path}encounter__in": list(self.cases)})
            | Q(**{f"{path}first__in": sides})
            | Q(**{f"{path}second__in": sides})
            if self
            else Q(pk__in=())
        )


#: Nothing is closed.
OPEN = ClosedObjects(frozenset(), frozenset())


def find_closed_objects(user: User) -> ClosedObjects:
    """Return the cases and timelines that are closed to the person.

    Page guards close the cases. The timelines are those of fellow authors that they must not see
    yet.
    """
    cases = closed_encounters(user, FINDING_PAGES) | closed_encounters(user)
    authored = Encounter.objects.filter(authorings__author=user).exclude(pk__in=cases).distinct()
    hidden = {pk for encounter in authored for pk in hidden_timelines(user, encounter)}
    return ClosedObjects(cases, frozenset(hidden))


def exclude_closed_findings(
    findings: QuerySet[Finding], closed: ClosedObjects
) -> QuerySet[Finding]:
    """Leave out the closed findings."""
    return _exclude_closed(findings, closed, "game__comparison__")


def exclude_closed_games(games: QuerySet[Game], closed: ClosedObjects) -> QuerySet[Game]:
    """Leave out the closed games."""
    return _exclude_closed(games, closed, "comparison__")


def exclude_closed_runs(runs: QuerySet[JudgeRun], closed: ClosedObjects) -> QuerySet[JudgeRun]:
    """Leave out the judge runs whose every game is closed."""
    return (
        runs.filter(Exists(exclude_closed_games(Game.objects.filter(run=OuterRef("pk")), closed)))
        if closed
        else runs
    )


def has_closed_games(run: JudgeRun, closed: ClosedObjects) -> bool:
    """Return whether a sum over the run's games would reveal a closed one."""
    return bool(closed) and run.games.filter(closed.condition("comparison__")).exists()


def exclude_closed_packets(packets: QuerySet[Packet], closed: ClosedObjects) -> QuerySet[Packet]:
    """Leave out the packets with findings of a closed case."""
    cases = Packet.objects.filter(
        items__finding__game__comparison__encounter__in=list(closed.cases)
    )
    return packets.exclude(pk__in=cases) if closed.cases else packets


def check_judge_run_is_open(run: JudgeRun, closed: ClosedObjects) -> None:
    """Raise NotAllowed if every game of the run is closed."""
    if has_closed_games(run, closed) and not exclude_closed_games(run.games.all(), closed).exists():
        raise NotAllowed(RUN_CLOSED)


def _exclude_closed(rows: QuerySet[M], closed: ClosedObjects, path: str) -> QuerySet[M]:
    return rows.exclude(closed.condition(path)) if closed else rows
