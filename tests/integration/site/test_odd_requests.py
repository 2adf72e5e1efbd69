"""Odd requests to every address: wrong text, numbers, bodies, headers.

No response is 500, no error is logged, nothing is stored.
"""

from __future__ import annotations

import ast
import json
import logging
import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.generators import SchemaGenerator

from adjudication.models import Assignment, Finding, JudgeRun, Packet, PacketItem
from ehr.models import Encounter
from llm_runtime.models import ModelCall
from tests.paths import ROOT
from tests.worlds.demo_world import Demo, make_demo
from timelines.models import Authoring, CaseRun, Evaluation, Occurrence, Run

pytestmark = pytest.mark.django_db(transaction=True)

APPS = ("accounts", "ehr", "timelines", "adjudication", "llm_runtime", "cohorts", "config")
#: Where views read parameters: `request.GET.get("x")`, `parameters.get("x")`, `body["x"]`,
#: `read_text(body, "x")`.
READERS = {"GET", "POST", "query_params", "parameters", "body", "data", "values"}
TEXTS = (
    "",
    "\x00",
    "a\x00b",
    "\ufffd",
    "²",
    "١٢",
    "-1",
    "0",
    "1.5",
    "1e309",
    "9" * 30,
    "-" + "9" * 19,
    "9" * 5000,
    "NaN",
    "inf",
    "2024-13-45",
    "0001-01-01T00:00",
    "../../etc/passwd",
    "' OR 1=1 --",
    "%",
    "\\",
    "x" * 10_000,
    "\u202e\U0001f600",
    "a,b",
    "[]",
    "{",
    "\r\n",
    " 1 ",
    "true",
)
VALUES: tuple[Any, ...] = (
    *TEXTS,
    "\ud800",
    None,
    True,
    0,
    -1,
    10**30,
    -(2**63) - 1,
    2**31,
    1e308,
    1.5,
    [],
    {},
    [None],
    [[]],
    ["\x00"],
    {"\x00": 1},
    {"a": "\ud800"},
)
DEEP = "[" * 100_000
BODIES = (
    ("application/json", b"\xff\xfe"),
    ("application/json", DEEP.encode()),
    ("application/json", b'{"a": 1e999}'),
    ("application/json", b"null"),
    ("application/json", b'{"a": ' + b"[" * 900 + b"]" * 900 + b"}"),
    ("application/json", b"9" * 5000),
    ("application/json; charset=utf-7", b"{}"),
    ("application/x-www-form-urlencoded", b"page=%00&%ED%A0%80=%ff"),
    ("application/x-www-form-urlencoded; charset=rot13", b"a=b"),
    ("application/x-www-form-urlencoded; charset=utf-16", b"a=b"),
    ("multipart/form-data", b"x"),
    ("multipart/form-data; boundary=x", b"--x\r\n\r\n"),
    (
        "multipart/form-data; boundary=x; charset=base64",
        b'--x\r\nContent-Disposition: form-data; name="a\x00"\r\n\r\nb\x00\r\n--x--\r\n',
    ),
    ("multipart/form-data; boundary=\u2603", b"--x"),
    ("text/plain", b"a=b"),
    ("", b"\x00"),
    ("x" * 5000, b""),
)
HEADERS: tuple[dict[str, str], ...] = (
    {"Cookie": "sessionid=a\x00b"},
    {"Cookie": "sessionid=" + "x" * 20_000},
    {"Cookie": "sessionid=\u00ff; csrftoken=\x00"},
    {"Cookie": "=;;=\x01"},
    {"Authorization": "Bearer \x00"},
    {"Authorization": "Bearer " + "f" * 64},
    {"Authorization": "Basic =="},
    {"Accept": "\x00/*;q=x"},
    {"HX-Request": "true", "HX-Current-URL": "http://[", "HX-Prompt": "\x00"},
    {"X-Forwarded-For": "\x00"},
    {"Content-Length": "x"},
    {"Content-Type": "x; charset=rot13"},
    {"If-Modified-Since": "\x00"},
    {"Range": "bytes=9-1"},
    {"Referer": "http://["},
    {"Origin": "null"},
)


@dataclass(frozen=True)
class Json:
    """A JSON object with one value for many names, encoded when it is sent."""

    names: Iterable[str]
    value: Any

    def encode(self) -> bytes:
        return json.dumps(dict.fromkeys(self.names, self.value)).encode()


@dataclass(frozen=True)
class Odd:
    """One request."""

    person: str
    method: str
    address: str
    content: bytes | dict[str, str] | Json = b""
    content_type: str = ""
    headers: Mapping[str, str] | None = None


def routes(patterns: list[Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield (route, module of its view) of our addresses and the admin's."""
    for pattern in patterns:
        route = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern) and "(?P" not in route:
            view = pattern.callback
            yield route, getattr(getattr(view, "view_class", view), "__module__", "")


def names_of_parameters() -> tuple[dict[str, set[str]], set[str]]:
    """Return the names that each module of views reads, and all body names.

    Bodies are those of forms and of the API.
    """
    read: dict[str, set[str]] = {}
    for path in (p for app in APPS for p in (ROOT / app).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        read[module] = {name for node in ast.walk(tree) for name in _find_parameters(node)}
    schema = SchemaGenerator().get_schema(request=None, public=True)
    bodies = {
        name
        for found in schema["components"]["schemas"].values()
        for name in found.get("properties", {})
    }
    asked = {
        p["name"]
        for methods in schema["paths"].values()
        for operation in methods.values()
        for p in operation.get("parameters", [])
    }
    forms = set(
        re.findall(
            r'name="([\w-]+)"',
            "".join(p.read_text(encoding="utf-8") for p in (ROOT / "templates").rglob("*.html")),
        )
    )
    fields = {name for module, names in read.items() if "forms" in module for name in names}
    return read, bodies | asked | forms | fields


def _find_parameters(node: ast.AST) -> Iterator[str]:
    if (
        isinstance(node, ast.Call)
        and node.args
        and isinstance(node.args[-1 if len(node.args) > 1 else 0], ast.Constant | ast.expr)
    ):
        constants = [
            a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
        ]
        of = node.func.value if isinstance(node.func, ast.Attribute) else None
        named = (
            (
                of.attr
                if isinstance(of, ast.Attribute)
                else of.id
                if isinstance(of, ast.Name)
                else ""
            )
            if of is not None
            else ""
        )
        if named in READERS or (
            isinstance(node.func, ast.Name) and node.func.id in ("read_text", "_number")
        ):
            yield from constants[:1]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    if isinstance(node, ast.Assign):
        yield from (t.id for t in node.targets if isinstance(t, ast.Name) and t.id.islower())


def known_ids(demo: Demo) -> dict[str, str]:
    """Values in the addresses: by the segment before them, or by name."""
    review = Assignment.objects.filter(person=demo.people["reviewer"]).get()
    practised = Assignment.objects.filter(person=demo.people["adjudicator"]).get()
    run, judged, packet = (
        Run.objects.filter(dataset__name="demo", inventories__isnull=False).first(),
        JudgeRun.objects.get(),
        Packet.objects.get(),
    )
    case_run = CaseRun.objects.filter(run=run).first()
    assert run is not None
    assert case_run is not None
    finding, call = Finding.objects.first(), ModelCall.objects.first()
    assert finding is not None
    assert call is not None
    return {
        "cases/": case_run.encounter.public_id,
        "runs/": run.public_id,
        "adjudication/runs/": judged.public_id,
        "judge-runs/": judged.public_id,
        "run_id": judged.public_id,
        "later_id": judged.public_id,
        "case_run_id": case_run.public_id,
        "calls/": call.public_id,
        "authoring/": Authoring.objects.filter(state=Authoring.State.DRAFT).get().public_id,
        "evaluations/": Evaluation.objects.get().public_id,
        "games/": finding.game.public_id,
        "game_id": finding.game.public_id,
        "findings/": finding.public_id,
        "finding_id": finding.public_id,
        "case_id": Encounter.objects.filter(dataset__name="demo").get().public_id,
        "packets/": packet.public_id,
        "review/": practised.public_id,
        "assignment_id": review.public_id,
        "item_id": PacketItem.objects.filter(packet=packet)[0].public_id,
        "uid4": Occurrence.objects.filter(inventory__run=run)[0].uid4,
        "uid": Occurrence.objects.filter(inventory__authoring__isnull=False)[0].uid4,
    }


PART = re.compile(r"<(?:(\w+):)?(\w+)>")
WORDS = {
    "action": "pause",
    "format": "csv",
    "form": "jsonl",
    "name": "ratings",
    "number": "1",
    "row": "1",
    "series_id": "1",
}
ODD_PARTS = (
    "%00",
    "a%00b",
    "%ED%A0%80",
    "9" * 30,
    "-1",
    "²",
    "x" * 300,
    "%0A",
    "..%2F..",
    "aaaaaaaaaaaa",
    "AAAAAAAAAAAA",
    "%F0%9F%98%80",
)


def fill_address(route: str, ids: Mapping[str, str]) -> str:
    """The address of the route with what there is."""

    def part(match: re.Match[str]) -> str:
        name = match.group(2)
        before = route[: match.start()]
        by_segment = next(
            (
                value
                for key, value in sorted(ids.items(), key=lambda i: -len(i[0]))
                if key.endswith("/") and before.endswith(key)
            ),
            "",
        )
        return (
            WORDS.get(name)
            or (ids.get(name, "") if name != "public_id" else "")
            or by_segment
            or "aaaaaaaaaaaa"
        )

    return "/" + PART.sub(part, route)


def person_for(route: str) -> str:
    if route.startswith(("review/", "api/review/")):
        return "adjudicator"
    return (
        "author"
        if route.startswith("authoring/")
        else "superuser"
        if route.startswith(("admin/", "operations/"))
        else "admin"
    )


def requests_to(
    route: str, module: str, ids: Mapping[str, str], names: tuple[dict[str, set[str]], set[str]]
) -> Iterator[Odd]:
    """Every odd request to one route."""
    address, person = fill_address(route, ids), person_for(route)
    mine = {n for m, found in names[0].items() if m == module for n in found} & (
        names[1] | names[0].get(module, set())
    )
    everything = {**dict.fromkeys(sorted(names[1] | mine), None)}
    for match in PART.finditer(route):
        for odd in ODD_PARTS:
            yield Odd(
                person,
                "get",
                fill_address(route[: match.start()] + "\x01" + route[match.end() :], ids).replace(
                    "\x01", odd
                ),
            )
    for text in TEXTS:
        if len(text) < 100:  # no server takes a request line that long
            yield Odd(person, "get", address, dict.fromkeys(everything, text))
        yield Odd(person, "post", address, dict.fromkeys(everything, text))
        for name in sorted(mine):
            yield Odd(person, "get", address, {name: text})
            yield Odd(person, "post", address, {name: text})
    for value in VALUES:
        for method in ("post", "put") if route.startswith("api/") else ("post",):
            yield Odd(
                person,
                method,
                address,
                Json(everything, value),
                "application/json",
            )
            for name in sorted(
                mine | ({"token", "answer", "values", "comment"} if "review" in route else set())
            ):
                yield Odd(person, method, address, Json([name], value), "application/json")
    for content_type, body in BODIES:
        yield Odd(person, "post", address, body, content_type)
    for headers in HEADERS:
        yield Odd(
            "anonymous" if "Cookie" in headers or "Authorization" in headers else person,
            "get",
            address,
            {},
            "",
            headers,
        )
    for method in ("put", "delete", "patch", "options", "head"):
        yield Odd(person, method, address)


def send(clients: Mapping[str, Client], odd: Odd) -> int:
    """The status; the request's changes of the database are undone."""
    client, headers = clients[odd.person], dict(odd.headers or {})
    content = odd.content.encode() if isinstance(odd.content, Json) else odd.content
    cookies = client.cookies.output(header="", sep=";")
    with transaction.atomic():
        if isinstance(content, bytes):
            # As it is: the client's own methods would encode it by the content type.
            response = client.generic(
                odd.method.upper(), odd.address, content, odd.content_type, headers=headers
            )
        else:
            response = getattr(client, odd.method)(odd.address, data=content, headers=headers)
        if response.streaming:
            list(response)
        transaction.set_rollback(True)
    # Also a sign-out is undone.
    client.cookies.clear()
    client.cookies.load(cookies)
    return int(response.status_code)


def check(caplog, *, most: int) -> None:
    """Send `most` of the requests, some of every route.

    They are drawn with a fixed seed.
    """
    demo = make_demo()
    clients = {
        name: Client(raise_request_exception=False)
        for name in ("anonymous", "admin", "adjudicator", "author", "superuser")
    }
    for name, client in clients.items():
        if name != "anonymous":
            client.force_login(demo.people[name])
    ids, names = known_ids(demo), names_of_parameters()
    found = {
        route: list(requests_to(route, module, ids, names))
        for route, module in routes(get_resolver().url_patterns)
    }
    assert len(found) > 130
    assert {"page", "text", "answer", "token", "sort"} <= names[1] | set().union(*names[0].values())
    caplog.set_level(logging.ERROR)
    rng, wrong = random.Random(7), []
    each = max(1, most // len(found))
    for route, listed in found.items():
        drawn = rng.sample(listed, min(each, len(listed)))
        for odd in (Odd(person_for(route), "options", fill_address(route, ids)), *drawn):
            caplog.clear()
            status = send(clients, odd)
            if status >= 500 or caplog.records:
                wrong.append(
                    f"{status} {odd.method} {route} {str(odd.content)[:80]!r} {odd.content_type[:40]} {odd.headers} {caplog.text[-300:]}"
                )
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("address", "body", "status"),
    [
        ("/cases/", {"text": "x" * 3_000_000}, 413),
        ("/cases/", {f"n{number}": "" for number in range(1100)}, 400),
        ("/cases/", {"text": "a\x00"}, 400),
        ("/sign-in/", {"username": "a\x00", "password": "b"}, 400),
    ],
    ids=["too large", "too many fields", "NUL", "NUL of a stranger"],
)
def test_a_form_that_cannot_be_taken_is_refused_with_a_sentence(
    client, caplog, address, body, status
):
    caplog.set_level(logging.ERROR)
    response = client.post(address, body)
    assert response.status_code == status
    assert "<h1>" in response.content.decode()
    assert not caplog.records


@pytest.mark.xdist_group("demo")  # one worker builds the world for both
def test_no_odd_request_is_answered_with_500(caplog):
    check(caplog, most=300)


@pytest.mark.deep
def test_no_odd_request_at_all_is_answered_with_500(caplog):
    check(caplog, most=20_000)
