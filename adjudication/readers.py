"""Which games and findings lists leave out for a person: those of cases, or of timelines, that are closed to them now.

A page of one case asks `eligibility.check_user_may_see_findings`; a list over many asks here, in as many queries as the person
authors cases, whatever the length of the list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Model, Q, QuerySet

from accounts.models import User
from adjudication.eligibility import closed_cases
from adjudication.models import Comparison, Finding, Game
from ehr.models import Encounter
from timelines.authoring_access import hidden_timelines
from timelines.models import Authoring

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Closed:
    """Primary keys of encounters and of timelines."""

    cases: frozenset[int]
    timelines: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.cases or self.timelines)

    def hides(self, comparison: Comparison) -> bool:
        sides = (comparison.first_id, comparison.second_id)
        return comparison.encounter_id in self.cases or not self.timelines.isdisjoint(sides)

    def condition(self, path: str) -> Q:
        """What is closed, as a condition on rows whose comparison is at `path`."""
        sides = list(self.timelines)
        return (
            Q(**{f"{path}encounter__in": list(self.cases)}) | Q(**{f"{path}first__in": sides}) | Q(**{f"{path}second__in": sides})
            if self
            else Q(pk__in=())
        )


def closed_to(user: User) -> Closed:
    """Cases of open packets and of unaided drafts of the person; timelines of fellow authors that they must not see yet."""
    unaided = Authoring.objects.filter(author=user, protocol=Authoring.Protocol.UNAIDED, state=Authoring.State.DRAFT)
    cases = {*closed_cases(user), *unaided.values_list("encounter_id", flat=True)}
    authored = Encounter.objects.filter(authorings__author=user).exclude(pk__in=cases).distinct()
    hidden = {pk for encounter in authored for pk in hidden_timelines(user, encounter)}
    return Closed(frozenset(cases), frozenset(hidden))


def open_findings(findings: QuerySet[Finding], closed: Closed) -> QuerySet[Finding]:
    """Without those that are closed."""
    return _open(findings, closed, "game__comparison__")


def open_games(games: QuerySet[Game], closed: Closed) -> QuerySet[Game]:
    """Without those that are closed."""
    return _open(games, closed, "comparison__")


def _open(rows: QuerySet[M], closed: Closed, path: str) -> QuerySet[M]:
    return rows.exclude(closed.condition(path)) if closed else rows
