"""Lists of the API that grow with a cohort read about what they show.

Each page begins by its key, at any place of the list.
"""

import json
from contextlib import contextmanager

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Role
from adjudication.models import Finding, Game
from tests import factories
from tests.support.api import ApiClient
from tests.worlds.judged import FixedJudge, make_judged_run, make_judged_world

pytestmark = [pytest.mark.django_db(transaction=True)]
#: Findings that are added to every game, for a table that is worth an index.
MANY = 300


@pytest.fixture
def world(request):
    """Three cases, or as many as a test asks for."""
    return make_judged_world(getattr(request, "param", 3))


@pytest.fixture
def admin(world):
    return ApiClient(factories.make_user(world.study, Role.ADMIN))


@contextmanager
def collect_queries():
    """Collect the SELECTs of a request about games and findings.

    Writing to the trail takes as many as there are cases.
    """
    found = []
    with CaptureQueriesContext(connection) as asked:
        yield found
    found += [
        q["sql"]
        for q in asked.captured_queries
        if q["sql"].startswith(("SELECT", "\nWITH")) and "accounts_audit" not in q["sql"]
    ]


def pages(api, path, limit, **query):
    """Every page: (rows, the queries that read it)."""
    found, after = [], ""
    while after is not None:
        with collect_queries() as asked:
            status, body = api.get(path, after=after, limit=limit, **query)
        assert status == 200, body
        found.append((body["results"], asked))
        after = body["next"]
    return found


def copy_findings(run):
    """Many more findings in each game of the run: copies of its first one."""
    for game in Game.objects.filter(run=run):
        first, last = (
            game.findings.order_by("ordinal").first(),
            game.findings.order_by("ordinal").last(),
        )
        values = {
            f.attname: getattr(first, f.attname)
            for f in Finding._meta.fields
            if f.name not in ("id", "public_id", "ordinal")
        }
        Finding.objects.bulk_create(
            Finding(**values, ordinal=last.ordinal + n) for n in range(1, MANY + 1)
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def scans(plan):
    """Yield every node of a plan that reads a table.

    A node is (table, rows that it read, rows that it discarded).
    """
    if "Relation Name" in plan:
        loops = plan["Actual Loops"]
        yield (
            plan["Relation Name"],
            plan["Actual Rows"] * loops,
            plan.get("Rows Removed by Filter", 0) * loops,
        )
    for inner in plan.get("Plans", ()):
        yield from scans(inner)


def explain(query):
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + query.replace("%", "%%"))
        plan = cursor.fetchone()[0]
    return list(scans((plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"]))


LISTS = [
    "judge-runs/{run}/findings/",
    "judge-runs/{run}/games/",
    "judge-runs/{run}/changes/{later}/",
]


@pytest.mark.parametrize("address", LISTS)
def test_no_page_skips_or_counts_and_each_takes_the_same_queries(world, admin, address):
    later = make_judged_run(world.dataset, FixedJudge(version="2", fever="SECOND"))
    path = address.format(run=world.run.public_id, later=later.public_id)
    ((whole, _),) = pages(admin, path, 500)
    assert len(whole) > 6
    for limit in (1, 5, len(whole), len(whole) - 1):
        fetched = pages(admin, path, limit)
        assert [row for rows, _ in fetched for row in rows] == whole
        queries = [asked for _, asked in fetched]
        assert not any(" OFFSET " in query for asked in queries for query in asked)
        assert not any(
            "COUNT(*)" in query.upper() and "changes/" not in address
            for asked in queries
            for query in asked
        )
        # A page that goes on in the next game of a run asks once more.
        counts = {len(asked) for asked in queries[1:]}
        assert not counts or max(counts) - min(counts) <= ("/findings/" in address)
        # Where the page begins, and the next game.
        assert len(queries[-1]) <= len(queries[0]) + 2
    many, few = (len(pages(admin, path, limit)[0][1]) for limit in (len(whole), 2))
    assert many == few


def test_counts_of_changes_are_told_once(world, admin):
    later = make_judged_run(world.dataset, FixedJudge(version="2", fever="SECOND"))
    path = f"judge-runs/{world.run.public_id}/changes/{later.public_id}/"
    _, first = admin.get(path, limit=1)
    _, second = admin.get(path, limit=1, after=first["next"])
    assert first["counts"]["verdict"] > 1
    assert (second["counts"], second["comparisons"]) == (None, None)
    (_, asked), *_ = pages(admin, path, 1)
    assert sum("count(*)" in query for query in asked) == 2
    for _, later_asked in pages(admin, path, 1)[1:]:
        assert not any("count(*)" in query for query in later_asked)


@pytest.mark.parametrize("world", [4], indirect=True)
def test_a_page_of_findings_reads_by_index_what_it_shows_and_little_else(world, admin):
    """The rows read do not grow with the place in the list."""
    make_judged_run(world.dataset, FixedJudge(version="2"))
    copy_findings(world.run)
    total = Finding.objects.filter(game__run=world.run).count()
    assert total > 12 * MANY
    every = list(
        Finding.objects.filter(game__run=world.run)
        .order_by("game_id", "ordinal")
        .values_list("public_id", flat=True)
    )
    path = f"judge-runs/{world.run.public_id}/findings/"
    for place in ("", every[total // 2], every[-30]):
        with collect_queries() as asked:
            status, body = admin.get(path, after=place, limit=20)
        assert status == 200
        assert body["results"][0]["id"] == every[every.index(place) + 1 if place else 0]
        # The keys of the page, then its rows.
        ordered = [q for q in asked if 'ORDER BY "adjudication_finding"."game_id"' in q]
        assert len(ordered) == 2
        read = [
            (rows, thrown)
            for query in ordered
            for table, rows, thrown in explain(query)
            if table == "adjudication_finding"
        ]
        assert read
        # The rest of the game in which the page begins, and the one after it; half the run is
        # before the middle.
        assert sum(rows + thrown for rows, thrown in read) <= 2 * (MANY + 20), (
            place,
            read,
        )
