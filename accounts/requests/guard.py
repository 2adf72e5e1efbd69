"""Reject requests with text or numbers that no column can store.

They get 400 with a sentence before any view reads them. Addresses are strict by their converters
(`accounts.requests.converters`). The rest is checked here, once for all views: query strings,
forms, cookies of sessions, and by `check_json` the bodies of JSON.
"""

from __future__ import annotations

import codecs
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    QueryDict,
    UnreadablePostError,
)
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render

GetResponse = Callable[[HttpRequest], HttpResponseBase]

API = "/api/"
#: Its form has files, which are read only after the person is known (`ehr.uploads.receiving`).
UPLOADS = "/imports/new/"
#: The same in the API.
API_UPLOADS = "/api/imports/"
NOT_UTF8 = "This is not UTF-8 text. Send UTF-8."
ODD_TEXT = (
    "This has a character that cannot be stored: NUL, or half of a surrogate pair. Remove it and"
    " send again."
)
TOO_MUCH = "The request is too large. Send less at once."
UNREADABLE = "The form cannot be read. Reload the page and send it again."
ODD_NUMBER = "A number is too large. Send a smaller one."
#: NUL, which PostgreSQL cannot store, and code points that are no characters.
ODD = re.compile("[\x00\ud800-\udfff]")
SESSION_KEY = re.compile("[a-z0-9]{32}")
LARGEST = 2**63 - 1


class OddValue(ValueError):
    """A value that cannot be stored, in that field of a body.

    The message is a sentence and quotes nothing.
    """

    log_safe = True

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field


class RequestGuardMiddleware:
    """Refuses what `find_refusal` names; ignores impossible session cookies."""

    def __init__(self, get_response: GetResponse) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, or refuse it."""
        try:
            sentence = find_refusal(request)
        except RequestDataTooBig:
            return refuse(request, TOO_MUCH, 413)
        except (SuspiciousOperation, MultiPartParserError, UnreadablePostError):
            return refuse(request, UNREADABLE)
        if sentence is not None:
            return refuse(request, sentence)
        key = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
        if key is not None and not SESSION_KEY.fullmatch(key):
            del request.COOKIES[settings.SESSION_COOKIE_NAME]
        return self._get_response(request)


def find_refusal(request: HttpRequest) -> str | None:
    """Return why the request cannot be accepted, None if it can.

    Raises what Django raises for forms that it cannot read.
    """
    # Another encoding may not even be one of text. It must be refused before `GET` and `POST` use
    # it to decode.
    if request.encoding and codecs.lookup(request.encoding).name != "utf-8":
        request.encoding = "utf-8"
        return NOT_UTF8
    # The API accepts only JSON (`check_json`). If a form were read here, the API would see an empty
    # body and not refuse it.
    later = request.path_info.startswith(API) or request.path_info == UPLOADS
    if not later and is_large(request):
        raise RequestDataTooBig
    form = () if later else _texts(request.POST)
    if any(ODD.search(text) for text in (*_texts(request.GET), *form)):
        return ODD_TEXT
    return None


def is_large(request: HttpRequest) -> bool:
    """Return True for a body that is not read into memory.

    The web process answers such a request while it arrives (`config.web.arrival`), so a client that
    stops sending keeps a thread waiting.
    """
    stated = request.META.get("CONTENT_LENGTH") or "0"
    return stated.isdigit() and int(stated) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def find_odd_text(form: QueryDict) -> str | None:
    """Return why a form that was read later cannot be accepted."""
    return ODD_TEXT if any(ODD.search(text) for text in _texts(form)) else None


def refuse(request: HttpRequest, sentence: str, status: int = 400) -> HttpResponse:
    """Answer in the form that the caller reads."""
    if request.path_info.startswith(API):
        return JsonResponse({"code": "invalid", "detail": sentence}, status=status)
    if "application/json" in (request.content_type, request.headers.get("Accept", "")):
        return JsonResponse({"message": sentence}, status=status)
    return render(None, "400.html", {"sentence": sentence}, status=status)


def check_json(body: Mapping[str, Any]) -> None:
    """Raise OddValue for texts and numbers of an object that cannot be stored.

    All levels of the JSON object are checked.
    """
    for name, value in body.items():
        if ODD.search(name):
            raise OddValue("", ODD_TEXT)
        if sentence := next(filter(None, map(_find_fault, _leaves(value))), None):
            raise OddValue(name, sentence)


def _find_fault(value: Any) -> str | None:
    match value:
        case str():
            return ODD_TEXT if ODD.search(value) else None
        case int():
            return ODD_NUMBER if abs(value) > LARGEST else None
        case float():
            return None if math.isfinite(value) else ODD_NUMBER
    return None


def _leaves(found: Any) -> Iterator[Any]:
    """Yield every key and value below.

    There is no recursion, because a body may be as deep as the interpreter's own limit.
    """
    waiting = [found]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
        else:
            yield value


def _texts(values: QueryDict) -> Iterator[str]:
    for name, listed in values.lists():
        yield name
        yield from (text for text in listed if isinstance(text, str))
