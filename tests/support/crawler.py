"""Follow every link and GET form of a site breadth-first, as a person.

At most so many addresses of each shape are visited, and so many shapes of each path. It asks through a function, so it crawls the
test client as well as a running server.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from accounts.ids import ALPHABET, PUBLIC_ID_LENGTH

#: Attributes whose value is an address; every `data-…` value that begins with a slash is one too.
ADDRESSES = ("href", "src", "hx-get", "action")
PUBLIC_ID = re.compile(f"(?<=/)[{ALPHABET}]{{{PUBLIC_ID_LENGTH}}}(?=/|$)")
UID = re.compile(r"(?<=/o/)[0-9a-f]{4}(?=/)")
NUMBER = re.compile(r"(?<=/)\d+(?=/|$)")
#: How many combinations of the options of one form are asked.
FORM_ADDRESSES = 8


@dataclass(frozen=True)
class Answer:
    """The response of an address. `location` is the target of a redirect."""

    status: int
    content_type: str
    body: str
    location: str = ""


@dataclass(frozen=True)
class Visit:
    """A requested address, the page that links to it, and its status.

    `whole`: a page, and not a fragment of one.
    """

    address: str
    shape: str
    found_on: str
    status: int
    is_page: bool
    whole: bool = False


def find_shape(address: str) -> str:
    """Return the address without ids and numbers, with parameter names."""
    parts = urlsplit(address)
    path = NUMBER.sub("{n}", UID.sub("{uid}", PUBLIC_ID.sub("{id}", parts.path)))
    if path.startswith("/static/"):
        return "/static/"
    names = sorted({name for name, _ in parse_qsl(parts.query, keep_blank_values=True)})
    return f"{path}?{'&'.join(names)}" if names else path


@dataclass
class _Form:
    address: str
    fields: list[tuple[str, list[str]]] = field(default_factory=list)


class Links(HTMLParser):
    """Every address of a page that a browser may GET, relative to it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._form: _Form | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag == "form":
            self._form = (
                _Form(given.get("action", ""))
                if given.get("method", "get").lower() == "get"
                else None
            )
        elif tag == "input" and given.get("name") and given.get("type") not in ("submit", "file"):
            value = given.get("value", "")
            self._field(
                given["name"],
                ["", value] if given.get("type") in ("checkbox", "radio") else [value],
            )
        elif tag == "select" and given.get("name"):
            self._field(given["name"], [])
        elif tag == "option" and self._form and self._form.fields:
            self._form.fields[-1][1].append(given.get("value", ""))
        if tag != "form":
            self.found += [
                v
                for n, v in given.items()
                if n in ADDRESSES or (n.startswith("data-") and v.startswith("/"))
            ]

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self._form is not None:
            self.found += list(_fill_form(self._form))
            self._form = None

    def _field(self, name: str, values: list[str]) -> None:
        if self._form is not None:
            self._form.fields.append((name, values))


def _fill_form(form: _Form) -> Iterator[str]:
    """Yield some of the addresses that the form leads to.

    Each option once, the others as they are.
    """
    width = max((len(values) for _, values in form.fields), default=1)
    for number in range(min(max(width, 1), FORM_ADDRESSES)):
        chosen = {name: values[number % len(values)] for name, values in form.fields if values}
        yield f"{form.address}?{urlencode(chosen)}" if chosen else form.address


def crawl(
    ask: Callable[[str], Answer],
    start: str,
    *,
    each: int,
    narrowed: int = 100_000,
    most: int = 100_000,
) -> list[Visit]:
    """Request `start` and everything reachable from it.

    At most `each` addresses of a shape, `narrowed` combinations of parameters of a path, `most`
    addresses in all.
    """
    asked: Counter[str] = Counter()
    combinations: Counter[str] = Counter()
    seen = {start}
    waiting = deque([(start, "")])
    visits: list[Visit] = []
    while waiting and len(visits) < most:
        address, found_on = waiting.popleft()
        shape = find_shape(address)
        path = shape.partition("?")[0]
        combinations[path] += not asked[shape]
        if asked[shape] >= each or combinations[path] > narrowed:
            continue
        asked[shape] += 1
        answer = ask(address)
        is_page = answer.content_type.startswith("text/html")
        visits.append(
            Visit(address, shape, found_on, answer.status, is_page, "<html" in answer.body)
        )
        links = Links(answer.body).found if is_page else []
        for link in itertools.chain(links, [answer.location] if answer.location else []):
            target = find_local_address(urljoin(address, link))
            if target is not None and target not in seen:
                seen.add(target)
                waiting.append((target, address))
    return visits


def find_local_address(address: str) -> str | None:
    """The address without host and fragment; None for another site or scheme."""
    parts = urlsplit(address)
    if (
        parts.scheme not in ("", "http")
        or parts.netloc not in ("", "testserver")
        or not parts.path.startswith("/")
    ):
        return None
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def select_shapes(visits: list[Visit]) -> Mapping[str, Visit]:
    """One visit of each shape that gave a page."""
    found: dict[str, Visit] = {}
    for visit in visits:
        if visit.is_page and visit.status == 200:
            found.setdefault(visit.shape, visit)
    return found
