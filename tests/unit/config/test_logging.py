"""What reaches a log line and what does not."""

import json
import logging
import sys
import threading

import psycopg
import pytest
from django.http import Http404
from django.test import RequestFactory

from config.env import EnvError
from config.logging import WITHHELD, JsonFormatter, install_exception_hooks, logging_config

CANARY = "Mrs. Canary has a history of CANARY"


class StrangeError(Exception):
    """An exception of a library, whose message quotes what it choked on."""


def format_record(name, message, *args, **extra):
    record = logging.LogRecord(
        name, logging.ERROR, "/x/module.py", 7, message, args, extra.pop("exc_info", None)
    )
    for key, value in extra.items():
        setattr(record, key, value)
    return json.loads(JsonFormatter().format(record))


def make_exc_info(error):
    try:
        raise error
    except type(error):
        return sys.exc_info()


def test_our_own_words_and_ids_stay():
    line = format_record("ehr.ingest.cases", "imported %s rows of %s", 12, "20338077")
    assert line["message"] == "imported 12 rows of 20338077"
    assert line["level"] == "error"
    assert line["logger"] == "ehr.ingest.cases"


def test_an_exception_as_argument_is_named_by_type():
    assert (
        format_record("timelines.tasks", "stage failed: %s", StrangeError(CANARY))["message"]
        == "stage failed: StrangeError"
    )


@pytest.mark.parametrize(
    ("name", "message", "args"),
    [
        ("celery.app.trace", "Task %(name)s raised: %(exc)s", ({"name": "t", "exc": CANARY},)),
        (
            "celery.app.trace",
            "Task %(name)s args: %(args)s",
            ({"name": "t", "args": f"('{CANARY}',)"},),
        ),
        ("celery.worker", "Received unknown message: %s", (CANARY,)),
        ("psycopg.pool", "error connecting: %s", (StrangeError(CANARY),)),
        ("django.request", "Not Found: %s", (f"/cases/?q={CANARY}",)),
        ("django.security.SuspiciousOperation", CANARY, ()),
        ("transformers.tokenization", CANARY, ()),
        ("py.warnings", "%s", (CANARY,)),
        ("ehr.ingest.cases", StrangeError(CANARY), ()),
        ("ehr.ingest.cases", "too few arguments %s %s", (CANARY,)),
        ("gunicorn.error", "Error handling request %s", (f"/?q={CANARY}",)),
    ],
)
def test_text_from_outside_is_withheld(name, message, args):
    assert "anary" not in json.dumps(format_record(name, message, *args)).lower()


def test_a_library_keeps_numbers_and_identifiers():
    line = format_record(
        "celery.app.trace",
        "Task %(name)s[%(id)s] succeeded in %(runtime)ss",
        {"name": "a.b", "id": "1-2", "runtime": 0.5},
    )
    assert line["message"] == "Task a.b[1-2] succeeded in 0.5s"


def test_an_unknown_exception_is_told_by_type_and_place_alone():
    line = format_record("ehr.ingest.cases", "failed", exc_info=make_exc_info(StrangeError(CANARY)))
    assert line["error"]["type"].endswith("test_logging.StrangeError")
    assert line["error"]["frames"][-1].endswith(" make_exc_info")
    assert "message" not in line["error"]
    assert "anary" not in json.dumps(line).lower()


def test_our_own_exception_shows_its_message():
    assert (
        format_record("config", "failed", exc_info=make_exc_info(EnvError("X is not set.")))[
            "error"
        ]["message"]
        == "X is not set."
    )


def test_causes_are_described_too():
    error = StrangeError("outer")
    error.__cause__ = ValueError(CANARY)
    line = format_record("ehr.ingest.cases", "failed", exc_info=make_exc_info(error))
    assert line["error"]["cause"]["type"] == "builtins.ValueError"
    assert "anary" not in json.dumps(line).lower()


def test_a_database_error_keeps_its_code():
    line = format_record(
        "ehr.ingest.cases", "failed", exc_info=make_exc_info(psycopg.errors.UniqueViolation(CANARY))
    )
    assert line["error"]["sqlstate"] == "23505"
    assert "anary" not in json.dumps(line).lower()


def test_a_request_is_told_by_its_route():
    request = RequestFactory().post(f"/x/?q={CANARY}", {"note": CANARY})
    line = format_record(
        "django.request",
        "Bad: %s",
        request.get_full_path(),
        request=request,
        status_code=400,
        exc_info=make_exc_info(Http404(CANARY)),
    )
    assert (line["method"], line["route"], line["status"]) == ("POST", None, 400)
    assert "anary" not in json.dumps(line).lower()


def test_fields_are_scalars():
    line = format_record("config.request_log", "request", status=200, user=object())
    assert (line["status"], line["user"]) == (200, "object")


def test_a_library_adds_no_fields():
    assert "data" not in format_record("celery.app.trace", "Task ended", data=CANARY)


def test_statements_are_never_logged():
    assert logging_config(level="DEBUG")["loggers"]["django.db.backends"]["level"] == "CRITICAL"


def test_uncaught_exceptions_go_through_the_logs(monkeypatch, caplog, capsys):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    install_exception_hooks()
    sys.excepthook(*make_exc_info(StrangeError(CANARY)))
    lines = [JsonFormatter().format(record) for record in caplog.records]
    assert json.loads(lines[0])["error"]["type"].endswith("StrangeError")
    assert WITHHELD not in lines[0]
    assert "anary" not in (lines[0] + capsys.readouterr().err).lower()
