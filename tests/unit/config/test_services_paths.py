"""Paths of the services: short sockets, names for each checkout.

An address replaces some services.
"""

from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from config.env import environment
from config.services import embedded
from config.services.embedded import find_required_services
from config.services.paths import MAX_SOCKET_PATH, ServicePaths


@pytest.fixture
def ordinary_user(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)


def test_everything_lives_under_var(ordinary_user):
    paths = ServicePaths(Path("/srv/occurrent/var"))
    assert paths.state == paths.var
    assert {
        paths.postgres_data.parent,
        paths.broker_data.parent,
        paths.logs.parent,
        paths.sockets.parent,
    } == {paths.var}


def test_a_deep_checkout_keeps_its_sockets_elsewhere(ordinary_user):
    paths = ServicePaths(Path("/srv") / ("deep" * 30) / "var")
    assert not paths.sockets.is_relative_to(paths.var)
    assert len(str(paths.sockets / ".s.PGSQL.5432.lock")) <= MAX_SOCKET_PATH


def test_two_checkouts_never_share_a_name(ordinary_user):
    assert ServicePaths(Path("/a/var")).tag != ServicePaths(Path("/b/var")).tag


def test_root_keeps_data_where_the_servers_user_can_reach_it(tmp_path, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    closed = tmp_path / "home"
    closed.mkdir(mode=0o700)
    paths = ServicePaths(closed / "checkout" / "var")
    assert not paths.state.is_relative_to(closed)
    assert paths.locks.is_relative_to(paths.var)


def test_the_address_is_read_back_as_it_was_meant(ordinary_user):
    paths = ServicePaths(Path("/srv/o/var"))
    for url, role in (
        (paths.database_url, "occurrent_app"),
        (paths.database_owner_url, "occurrent_owner"),
    ):
        parts = conninfo_to_dict(url)
        assert (parts["host"], parts["user"], parts["dbname"]) == (
            "/srv/o/var/run",
            role,
            "occurrent",
        )


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, ["postgres", "broker"]),
        ({"DATABASE_URL": "postgresql://db/x"}, ["broker"]),
        ({"BROKER_URL_FILE": "/run/secrets/broker"}, ["postgres"]),
        ({"DATABASE_URL": "postgresql://db/x", "BROKER_URL": "redis://b"}, []),
        ({"DATABASE_URL": ""}, ["postgres", "broker"]),
    ],
)
def test_an_address_replaces_a_service(environment, expected):
    assert find_required_services(environment) == expected


def test_an_address_in_the_dotenv_replaces_a_service_too(monkeypatch, tmp_path):
    """A command of the shell finds its settings in that file."""
    (tmp_path / ".env").write_text(
        "DATABASE_URL_FILE=/run/secrets/url\nBROKER_URL=redis://broker\n"
    )
    for name in ("DATABASE_URL", "DATABASE_URL_FILE", "BROKER_URL", "BROKER_URL_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(embedded, "environment", lambda: environment(tmp_path / ".env"))
    monkeypatch.setattr(embedded, "_find_stopped", lambda paths, names: names)
    assert embedded.ensure_environment(ServicePaths(tmp_path / "var")) == []
