"""Fixtures for every test: real services, a browser, no other machine.

Services start when first needed.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from django.dispatch import receiver
from django.test import TransactionTestCase
from django.test.signals import setting_changed
from hypothesis import HealthCheck
from hypothesis import settings as examples
from pytest_django import DjangoDbBlocker

from config.services import embedded
from config.services.paths import (
    APPLICATION_ROLE,
    OWNER_ROLE,
    SUPERUSER_ROLE,
    ServicePaths,
    default_paths,
)
from tests.browser_setup import chromium_path
from tests.emptying import MIGRATED, empty_database, find_filled_tables
from tests.network import block_network
from tests.services import VAR_VARIABLE, remove_dead_sessions, remove_session

# The same examples in every run, however slow the machine. `make test-deep` looks for new ones.
for profile, same, most in (("same", True, 20), ("random", False, 200)):
    examples.register_profile(
        profile,
        deadline=None,
        derandomize=same,
        max_examples=most,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
examples.load_profile("same")


@receiver(setting_changed)
def build_models_anew(*, setting: str, **_: object) -> None:
    """Forget the process's models if a test sets others."""
    if setting.startswith("MODEL_"):
        from llm_runtime.servers.configured import configured_roles

        configured_roles.cache_clear()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the demo's digests and of the clinician's walk."""
    group = parser.getgroup("exports of the demo")
    group.addoption(
        "--demo-exports",
        metavar="FOLDER",
        help="write every export of the demo there, to compare another checkout with",
    )
    group.addoption(
        "--demo-against",
        metavar="FOLDER",
        help="show differences from the exports that another checkout wrote there",
    )
    group.addoption(
        "--demo-digests",
        choices=("check", "write"),
        default="check",
        help="write: store the digests anew",
    )
    parser.addoption(
        "--film",
        metavar="FILE",
        help="store the clinician's walk through the intro case as an animated WebP",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Close the network before anything is collected."""
    block_network()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the session's servers and data."""
    if VAR_VARIABLE in os.environ:
        remove_session(Path(os.environ[VAR_VARIABLE]))


@pytest.hookimpl(trylast=True)
def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name files in parameters by their argument.

    Packed files have the time in their bytes, and names that differ between pytest's workers stop
    the whole suite.
    """
    return argname if isinstance(val, bytes) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run long tests and groups before short ones, and browser tests last.

    Otherwise a worker would wait for another one's long test at the end. From the first browser
    test on, Playwright's event loop runs.
    """

    def place(item: pytest.Item) -> tuple[bool, bool]:
        long = item.get_closest_marker("xdist_group") or item.get_closest_marker("long")
        return "browser" in getattr(item, "fixturenames", ()), not long

    items.sort(key=place)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Exclude the thousands of collected tests from garbage collection.

    Collect the rest less often: at the default of 700 objects it takes 8 percent of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@contextmanager
def _hide_foreign_loop(item: pytest.Item) -> Iterator[None]:
    """Hide Playwright's event loop from tests that do not use the browser.

    From the first browser test on, Playwright runs an event loop in this thread, and Django has
    other connections in a thread with a running loop. Other tests do not see it, from their first
    fixture to their last.
    """
    loop = asyncio._get_running_loop()
    if loop is None or "browser" in getattr(item, "fixturenames", ()):
        yield
        return
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    with _hide_foreign_loop(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    with _hide_foreign_loop(item):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    # With the last test Playwright itself ends, and needs its loop.
    if nextitem is None:
        return (yield)
    with _hide_foreign_loop(item):
        return (yield)


@pytest.fixture(scope="session")
def services() -> ServicePaths:
    """Start this session's PostgreSQL and broker for the first test that asks."""
    remove_dead_sessions()
    paths = default_paths()
    embedded.ensure_running(paths)
    with psycopg.connect(paths.build_database_url(SUPERUSER_ROLE), autocommit=True) as superuser:
        # For the test runner alone: make test databases, tamper past triggers, watch and end
        # connections of the application.
        superuser.execute(f"ALTER ROLE {OWNER_ROLE} CREATEDB")
        superuser.execute(f"GRANT SET ON PARAMETER session_replication_role TO {OWNER_ROLE}")
        superuser.execute(f"GRANT {APPLICATION_ROLE} TO {OWNER_ROLE}")
        # The data outlives killed processes, not a power failure.
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            superuser.execute(f"ALTER SYSTEM SET {name} = off")
        superuser.execute("SELECT pg_reload_conf()")
    return paths


@pytest.fixture(scope="session")
def django_db_modify_db_settings(services: ServicePaths) -> None:
    """Start the services before pytest-django creates the test database."""


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Empty the database quickly after tests that commit."""
    with django_db_blocker.unblock():
        assert find_filled_tables() == MIGRATED
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda self: empty_database())
        yield


@pytest.fixture
def process_environment(services: ServicePaths, transactional_db: None) -> dict[str, str]:
    """Return an environment for another process (a worker, a command).

    The process uses the test database and the broker, in the application's role.
    """
    database = connections["default"].settings_dict["NAME"]
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": services.build_database_url(APPLICATION_ROLE, database),
        "BROKER_URL": settings.BROKER_URL,
        "OCCURRENT_VAR": str(services.var),
    }


@pytest.fixture
def private_services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServicePaths]:
    """Services of one test alone, for tests that kill them; nothing runs yet."""
    paths = ServicePaths(tmp_path_factory.mktemp("services") / "var")
    yield paths
    remove_session(paths.var)


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, object]:
    """Return how Playwright starts the browser that `make setup` installed.

    It runs without the sandbox, which containers forbid.
    """
    path = chromium_path()
    if path is None:
        pytest.fail(
            "No Chromium for the browser tests. Run `make setup`, or set CHROMIUM to its path."
        )
    return {"executable_path": path, "args": ["--no-sandbox", "--disable-dev-shm-usage"]}
