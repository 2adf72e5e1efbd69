"""Pages of findings in every order and by every filter.

They are compared with the whole list, filtered and sorted in Python.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from django.db import connection

from adjudication.access.closed import OPEN, ClosedObjects
from adjudication.findings.facets import count_facets, read_facet
from adjudication.findings.listing import SORTS, FindingFilter
from adjudication.findings.pages import IN_GAMES, FindingPages, cut_page
from adjudication.models import Finding, FindingCount
from adjudication.scoring.errors import WEIGHTS, Category
from tests.worlds.judged import SOURCES, make_judged_world

pytestmark = pytest.mark.django_db(transaction=True)
FILTERS = (
    {}, {"type": "TIMING"}, {"type": "one-sided", "rerun": "all"}, {"verdict": "decisive"}, {"source": "1"}, {"charged": "0"},
    {"size": "days"}, {"size": "none"}, {"size": "single"}, {"flagged": "1"}, {"rerun": "swapped"}, {"category": "wrong_time"},
)  # fmt: skip


@pytest.fixture
def world():
    """Two judged cases, and findings of every size."""
    world = make_judged_world(cases=2, swap=True)
    for game in world.run.games.all():
        model = game.findings.filter(type="TIMING").first()
        Finding.objects.bulk_create(
            Finding(game=game, ordinal=50 + n, type="TIMING", verdict="UNCLEAR", polarity="present", grounding="NONE",
                    a_event="fever", a_time=0, b_event="fever", b_time=hours, flagged=hours == 1,
                    a_entry=model and model.a_entry, b_entry=model and model.b_entry)
            for n, hours in enumerate((0, 1, 24, 24, 168, None))
        )  # fmt: skip
    return world


def sort_key(sort: str, finding: Finding) -> tuple:
    """What the order is by, in Python."""
    weight = WEIGHTS[Category(finding.category)] if finding.category else 0.0
    return {
        "case": lambda: (finding.game.comparison.encounter.case_id,),
        "type": lambda: (finding.type,),
        "verdict": lambda: (finding.verdict,),
        "grounding": lambda: (finding.grounding,),
        "weight": lambda: (weight, finding.category),
        "size": lambda: (-1 if find_hours(finding) is None else find_hours(finding),),
    }[sort]()


def find_hours(finding: Finding) -> int | None:
    """Hours between the times of two rows."""
    there = None not in (finding.a_event, finding.b_event, finding.a_time, finding.b_time)
    return abs(finding.a_time - finding.b_time) if there else None


@pytest.mark.parametrize("sort", [*SORTS, *(f"-{sort}" for sort in SORTS)])
def test_pages_forth_and_back_are_the_whole_list_in_order(world, sort):
    for asked in FILTERS:
        wanted = FindingFilter.from_query(asked | {"sort": sort}, len(SOURCES))
        pages = FindingPages(world.run, wanted, OPEN)
        whole = pages.load(10_000)
        assert {f.pk for f in whole} == set(pages.rows().values_list("pk", flat=True))
        assert len(whole) == pages.count() == len(set(whole))
        placed = [f for f in whole if sort.lstrip("-") != "size" or find_hours(f) is not None]
        assert placed == whole[: len(placed)], "what has no hours comes last"
        keys = [sort_key(sort.lstrip("-"), f) for f in placed]
        assert keys == sorted(keys, reverse=sort.startswith("-"))
        assert read_pages(pages) == whole


def read_pages(pages: FindingPages) -> list[Finding]:
    """All findings page by page; each page is found again from the next one."""
    found, earlier, later = cut_page(pages, 7, after=None, before=None)
    assert not earlier
    shown = [found]
    while later:
        found, earlier, later = cut_page(pages, 7, after=shown[-1][-1], before=None)
        assert earlier
        shown.append(found)
    for before, page in pairwise(shown):
        again, earlier, later = cut_page(pages, 7, after=None, before=page[0])
        assert (again, later) == (before, True)
        assert earlier == (before is not shown[0])
    return [finding for page in shown for finding in page]


def test_a_page_begins_at_a_finding_that_the_filter_leaves_out(world):
    every = FindingPages(world.run, FindingFilter(sort="type"), OPEN).load(10_000)
    place = every[len(every) // 2]
    pages = FindingPages(world.run, FindingFilter(sort="type", verdict="BOTH"), OPEN)
    expected = [f for f in every[every.index(place) + 1 :] if f.verdict == "BOTH"]
    assert pages.load(10_000, after=place) == expected
    before = [f for f in every[: every.index(place)] if f.verdict == "BOTH"]
    assert pages.load(10_000, before=place) == before


def test_counts_by_facet_follow_findings_and_folding(world):
    def counted() -> dict[str, int]:
        return dict(count_facets(world.run, OPEN))

    def stored() -> dict[str, int]:
        found: dict[str, int] = {}
        for facet in Finding.objects.filter(game__run=world.run).values_list("facet", flat=True):
            found[facet] = found.get(facet, 0) + 1
        return found

    before = counted()
    assert before == stored()
    world.run.games.first().findings.all().delete()
    assert counted() == stored() != before
    rows = FindingCount.objects.filter(run=world.run).count()
    with connection.cursor() as cursor:  # the next change but one has a number that folds
        cursor.execute("SELECT setval('adjudication_findingcount_id_seq', 4094)")
    last = world.run.games.last().findings.order_by("ordinal")
    last[0].delete()
    last[0].delete()
    assert counted() == stored()
    assert FindingCount.objects.filter(run=world.run).count() == len(stored()) < rows


def test_facets_say_what_the_finding_says(world):
    for finding in Finding.objects.filter(run=world.run).select_related("game__comparison__first", "game__comparison__second"):  # fmt: skip
        facet = read_facet(finding.facet)
        names = [world.run.sources[int(n)][0] for n in (facet.first, facet.second)]
        sides = (finding.game.comparison.first, finding.game.comparison.second)
        assert names == [side.source for side in sides]
        assert (facet.type, facet.verdict, facet.grounding, facet.category) == (
            finding.type, finding.verdict, finding.grounding, finding.category,
        )  # fmt: skip
        assert bool(facet.flagged) == finding.flagged
        assert bool(facet.swapped) == finding.game.swapped
        assert facet.charged == {None: "", True: "first", False: "second"}[finding.charged_first]
        assert finding.apart == find_hours(finding)
        assert finding.case == finding.game.comparison.encounter.case_id


def test_closed_cases_are_in_no_page_and_no_count(world):
    closed = ClosedObjects(frozenset({world.encounters[0].pk}), frozenset())
    pages = FindingPages(world.run, FindingFilter(sort=IN_GAMES, rerun="all"), closed)
    found = pages.load(10_000)
    assert {f.case for f in found} == {world.encounters[1].case_id}
    assert pages.count() == len(found) == sum(count_facets(world.run, closed).values())
    of_case = FindingFilter(case=world.encounters[0].public_id, rerun="all")
    hidden = FindingPages(world.run, of_case, closed)
    assert (hidden.load(10), hidden.count()) == ([], 0)
