"""Structured logs without patient text: one JSON object a line.

The lines go to standard error. Anything that may have text from notes, rows, models or addresses
never reaches a line. We write our own messages, and they keep their arguments. Of other libraries'
messages, the arguments survive only as numbers and single identifiers; the whole message survives
only if the library is known to log constant templates. An exception is reported by type and place.
Its message is logged only if its class allows it (`log_safe = True`), because messages of unknown
classes quote values.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import threading
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any

from django.http import HttpRequest

WITHHELD = "[withheld]"
OURS = frozenset(
    {"config", "accounts", "jobs", "llm_runtime", "ehr", "timelines", "adjudication", "cohorts"}
)
# Libraries whose messages are constant templates; what they fill in is cleaned below.
TEMPLATED = frozenset({"celery", "kombu", "django", "gunicorn", "psycopg"})
# Not what begins with a slash: the path of a request may have text that a person typed.
IDENTIFIER = re.compile(r"[\w.:@-][\w.:/@-]{0,119}", re.ASCII)
CELERY_FIELDS = frozenset({"id", "name", "runtime", "description", "hostname"})
STANDARD_ATTRIBUTES = frozenset(
    {*vars(logging.makeLogRecord({})), "taskName", "request", "status_code"}
)
MAX_CAUSES = 5


def logging_config(*, level: str) -> dict[str, Any]:
    """Return every process's configuration for `logging.config.dictConfig`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": "config.logging.JsonFormatter"}},
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": "json"},
            "errors": {"class": "jobs.metrics.errors.CountErrors"},
        },
        "root": {"handlers": ["stderr", "errors"], "level": level},
        "loggers": {
            # These bring handlers of their own, which would print requests and mail error pages.
            **{
                name: {"handlers": [], "propagate": True}
                for name in ("django", "django.server", "gunicorn.error")
            },
            # These lines have addresses with query strings; config.request_log has what is needed.
            "gunicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
            # These lines have statements with their parameters, at any level.
            "django.db.backends": {"handlers": [], "level": "CRITICAL", "propagate": False},
            "celery.worker.strategy": {"level": "WARNING"},
            # A line for every request to a model server; each call is a row of the ledger.
            **{name: {"level": "WARNING"} for name in ("httpx", "httpx2", "openai")},
        },
    }


def install_exception_hooks() -> None:
    """Log uncaught exceptions instead of printing them with their messages.

    This covers the main thread and all other threads of the process.
    """
    logger = logging.getLogger("config.uncaught")

    def log_process_error(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        logger.critical("the process ended with an error", exc_info=(kind, error, trace))

    def log_thread_error(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            details = (arguments.exc_type, arguments.exc_value, arguments.exc_traceback)
            logger.critical("a thread ended with an error", exc_info=details)

    sys.excepthook = log_process_error
    threading.excepthook = log_thread_error


class JsonFormatter(logging.Formatter):
    """Format one record as one line of JSON.

    It raises nothing for odd records: a log line must never stop the work.
    """

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "pid": record.process,
            "message": build_message(record),
            **collect_fields(record),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = describe(record.exc_info[1])
        return json.dumps(line, ensure_ascii=False, default=lambda value: type(value).__name__)


def build_message(record: logging.LogRecord) -> str:
    """Return the record's message without anything that may be outside text."""
    library = record.name.split(".", 1)[0]
    constant = isinstance(record.msg, str) and not record.name.startswith("django.security")
    if not constant or (library not in OURS and library not in TEMPLATED):
        return f"{WITHHELD} from {record.module}:{record.lineno}"
    if not record.args:
        return str(record.msg)
    clean = _clean_value if library in OURS else _clean_argument
    try:
        if isinstance(record.args, dict):
            return str(record.msg) % {
                key: clean(value) if key in CELERY_FIELDS else WITHHELD
                for key, value in record.args.items()
            }
        return str(record.msg) % tuple(clean(value) for value in record.args)
    except (TypeError, ValueError):
        return f"{WITHHELD} from {record.module}:{record.lineno}"


def collect_fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of `extra` and of the request.

    Only our own code's `extra` counts; values other than scalars are named by type. A request is
    given by method, route and status.
    """
    ours = record.name.split(".", 1)[0] in OURS
    fields = {
        key: _clean_value(value)
        for key, value in vars(record).items()
        if ours and key not in STANDARD_ATTRIBUTES
    }
    request = getattr(record, "request", None)
    if isinstance(request, HttpRequest):
        match = request.resolver_match
        fields |= {
            "method": request.method,
            "route": match.route if match else None,
            "status": getattr(record, "status_code", None),
        }
    return fields


def describe(error: BaseException, depth: int = 0) -> dict[str, Any]:
    """Describe an exception by type, database code, place and cause.

    The message is included only if the exception's class allows it.
    """
    kind = type(error)
    described: dict[str, Any] = {"type": f"{kind.__module__}.{kind.__qualname__}"}
    if getattr(kind, "log_safe", False):
        described["message"] = str(error)
    for name in ("errno", "sqlstate"):
        if isinstance(code := getattr(error, name, None), int | str):
            described[name] = code
    if constraint := getattr(getattr(error, "diag", None), "constraint_name", None):
        described["constraint"] = constraint
    described["frames"] = [
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    cause = error.__cause__ or error.__context__
    if cause is not None and depth < MAX_CAUSES:
        described["cause"] = describe(cause, depth + 1)
    return described


def _clean_value(value: Any) -> Any:
    """Return text and numbers unchanged, other values as their type's name."""
    return value if isinstance(value, str | int | float | None) else type(value).__name__


def _clean_argument(value: Any) -> Any:
    """An argument of a library's message: numbers and single identifiers stay."""
    if isinstance(value, int | float | None):
        return value
    if isinstance(value, str) and IDENTIFIER.fullmatch(value):
        return value
    return WITHHELD if isinstance(value, str) else type(value).__name__
