"""Every address × everyone. An address of ours that no row names fails the test: add it to `tests/integration/matrix/<app>.py`."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from tests.integration import matrix
from tests.integration.matrix.world import PEOPLE, SIGN_IN, Row, World, make_world

#: Not ours: the admin site has its own test (tests/integration/test_accounts_admin.py).
FOREIGN_NAMESPACES = frozenset({"admin"})


def rows() -> list[Row]:
    """The rows of every module of the matrix that has any."""
    modules = (import_module(f"{matrix.__name__}.{found.name}") for found in iter_modules(matrix.__path__))
    return [row for module in modules for row in getattr(module, "ROWS", [])]


def names_of(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    """The namespaced names of all patterns below; a pattern without a name is given by its route."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            if pattern.namespace not in FOREIGN_NAMESPACES:
                yield from names_of(pattern.url_patterns, f"{prefix}{pattern.namespace}:" if pattern.namespace else prefix)
        else:
            yield f"{prefix}{pattern.name or pattern.pattern}"


def asked(client: Client, row: Row, world: World) -> int | str:
    """What the person gets: a status, or SIGN_IN for a redirect to the sign-in page. Whatever it is, nothing may store it."""
    response = getattr(client, row.method)(reverse(row.name, kwargs=dict(row.path(world))), data=dict(row.data(world)))
    assert response["Cache-Control"] == "no-store"
    if response.status_code == 302 and response["Location"].startswith(f"{reverse('accounts:sign_in')}?next="):
        return SIGN_IN
    return response.status_code


def test_every_address_is_in_the_matrix():
    known = {row.name for row in rows()}
    addresses = set(names_of(get_resolver().url_patterns))
    assert sorted(addresses - known) == [], "addresses without a row in tests/integration/matrix"
    assert sorted(known - addresses) == [], "rows without an address"


def test_the_walk_over_the_addresses_finds_nested_and_nameless_ones():
    from django.http import HttpResponse
    from django.urls import include, path

    def view(request):
        return HttpResponse()

    inner = [path("a/", view, name="a"), path("b/", view)]
    assert list(names_of([path("x/", include((inner, "app"))), path("c/", view, name="c")])) == ["app:a", "app:b/", "c"]


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.method} {row.name}")
def test_every_row_names_everyone(row):
    assert set(row.answers) == set(PEOPLE)


@pytest.mark.django_db
@pytest.mark.parametrize("person", PEOPLE)
@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.method} {row.name}")
def test_the_matrix(client, row, person):
    world = make_world()
    if person != "anonymous":
        client.force_login(world.people[person])
    if person == "two_studies":
        assert client.post(reverse("accounts:switch_study"), {"study": world.other_study.public_id}).status_code == 302
    assert asked(client, row, world) == row.answers[person]
