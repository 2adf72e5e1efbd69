"""The settings refuse bad values in one line, and defaults are safe."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

from config.env import BASE_DIR

LONG = "k" * 50
PRODUCTION = {
    "OCCURRENT_ENV": "production",
    "SECRET_KEY": LONG,
    "ALLOWED_HOSTS": "occurrent.example.org",
}


def run_check(tmp_path, *arguments, **variables):
    base = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    base |= {"OCCURRENT_VAR": str(tmp_path), "DJANGO_SETTINGS_MODULE": "config.settings"}
    environment = {**base, **variables}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"SECRET_KEY": ""}, "SECRET_KEY is not set."),
        ({"SECRET_KEY": "short"}, "SECRET_KEY is shorter than 32 characters."),
        ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS is not set."),
        ({"DEBUG": "on"}, "DEBUG is on in production"),
        ({"OCCURRENT_ENV": "staging"}, "OCCURRENT_ENV is neither embedded nor production."),
        ({"DATABASE_URL": "mysql://x/y"}, "DATABASE_URL must start with one of postgresql://"),
        (
            {"DATABASE_OWNER_URL": "postgresql://o@db/x"},
            "DATABASE_OWNER_URL is set without DATABASE_URL.",
        ),
        (
            {"DATABASE_URL": "postgresql://db/x", "DATABASE_OWNER_URL": "postgresql://o@db/x"},
            "DATABASE_URL names no role, but DATABASE_OWNER_URL is set.",
        ),
        ({"SESSION_IDLE_MINUTES": "0"}, "SESSION_IDLE_MINUTES is too small."),
    ],
)
def test_what_is_wrong_is_named(tmp_path, changed, message):
    result = run_check(tmp_path, "manage.py", "check", **{**PRODUCTION, **changed})
    assert result.returncode == 1
    assert result.stderr.startswith(f"EnvError: {message}")


def test_production_starts_and_is_strict(tmp_path):
    script = "from django.conf import settings as s; print(s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE, s.SECURE_SSL_REDIRECT, s.DEBUG)"
    result = run_check(
        tmp_path,
        "-c",
        script,
        **PRODUCTION,
        DATABASE_URL="postgresql://db/x",
        BROKER_URL="redis://broker",
    )
    assert result.stdout.split() == ["True", "True", "True", "False"], result.stderr


def test_scripts_come_from_us_alone():
    directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    assert directives["default-src"] == ["'none'"]
    assert directives["script-src"] == ["'self'"]
    assert not any("unsafe" in source for sources in directives.values() for source in sources)


def test_cookies_and_headers():
    assert settings.SESSION_COOKIE_HTTPONLY
    assert settings.CSRF_COOKIE_HTTPONLY
    assert settings.SECURE_CONTENT_TYPE_NOSNIFF
    assert settings.SECURE_REFERRER_POLICY == "same-origin"
    assert settings.X_FRAME_OPTIONS == "DENY"


def test_a_socket_directory_survives_the_address(tmp_path):
    script = "from django.conf import settings as s; d = s.DATABASES['default']; print(d['HOST'], d['NAME'], d['USER'], d['PORT'])"
    address = "postgresql://me@%2Frun%2Fpg:5433/notes"
    result = run_check(
        tmp_path,
        "-c",
        script,
        DATABASE_URL=address,
        BROKER_URL="redis://broker",
    )
    assert result.stdout.split() == ["/run/pg", "notes", "me", "5433"], result.stderr


def test_the_queue_keeps_nothing_and_runs_nothing_in_place():
    from config.celery import app

    assert [queue.name for queue in app.conf.task_queues] == [
        "ingest",
        "pipeline",
        "generate",
        "embed",
        "judge",
    ]
    assert len({(queue.exchange.name, queue.routing_key) for queue in app.conf.task_queues}) == 5
    assert app.conf.task_ignore_result
    assert not app.conf.task_acks_late
    assert not app.conf.task_always_eager
    assert app.conf.worker_disable_prefetch
    assert app.conf.accept_content == ["json"]
    assert app.conf.broker_transport_options["visibility_timeout"] >= 3600
    assert app.conf.beat_schedule["sweep"]["task"] == "jobs.tasks.sweep"
