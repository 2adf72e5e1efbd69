"""Submitted searches of packets beside the judge's findings."""

from __future__ import annotations

from collections import defaultdict

from django.db.models import QuerySet

from accounts.models import User
from adjudication.access.eligibility import load_visibility
from adjudication.models import Finding, Game, JudgeRun, Packet, PairSearch
from adjudication.review.search_rows import load_places
from adjudication.review.searches import Listed, read_listed
from adjudication.searching.matching import Difference, Kind, RowPlace
from adjudication.searching.rates import ReviewerSearches, rate_searches

Places = dict[int, tuple[int, int] | None]


def load_search_rates(packet: Packet) -> tuple[ReviewerSearches, ...]:
    """Return recall and precision of the judge for each searcher.

    Reviewers are not pooled. Raises NoteChanged if the note of a case was changed.
    """
    return _rate(PairSearch.objects.filter(assignment__packet=packet))


def load_run_search_rates(run: JudgeRun, person: User) -> tuple[ReviewerSearches, ...]:
    """Return the same over all packets whose report card the person may see.

    Raises NoteChanged.
    """
    searches = PairSearch.objects.filter(game__run=run, submission__isnull=False)
    packets = Packet.objects.filter(pk__in=searches.values("assignment__packet"))
    seen = [p for p in packets if load_visibility(person, p).report]
    return _rate(searches.filter(assignment__packet__in=seen))


def _rate(searches: QuerySet[PairSearch]) -> tuple[ReviewerSearches, ...]:
    found = searches.filter(submission__isnull=False).select_related(
        "assignment__person", "submission", "game__comparison__encounter",
        "game__comparison__first", "game__comparison__second",
    )  # fmt: skip
    pairs: dict[str, list[tuple[list[Difference], list[Difference]]]] = defaultdict(list)
    for search in found.order_by("assignment_id", "pk"):
        places = load_places(search.game)
        pairs[search.assignment.person.get_username()].append(
            (_load_listed(search, places), _load_reported(search.game, places))
        )
    return tuple(rate_searches(person, each) for person, each in pairs.items())


def _load_listed(search: PairSearch, places: Places) -> list[Difference]:
    if search.submission is None:
        return []
    return [
        _difference(one, places) for one in read_listed(search.submission.detail["differences"])
    ]


def _load_reported(game: Game, places: Places) -> list[Difference]:
    found = Finding.objects.filter(game=game).order_by("ordinal")
    return [
        _difference(Listed(str(Kind.of_finding(kind)), a, b), places)
        for kind, a, b in found.values_list("type", "a_entry_id", "b_entry_id")
    ]


def _difference(listed: Listed, places: Places) -> Difference:
    a, b = (None if row is None else RowPlace(row, places.get(row)) for row in (listed.a, listed.b))
    return Difference(Kind(listed.kind), a, b)
