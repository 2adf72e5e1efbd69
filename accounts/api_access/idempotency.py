"""Idempotency keys: a request that starts work can be sent again.

A client makes a key for each thing that it starts. If the connection is lost, it sends the same
request with the same key and gets the same answer. Refused requests are not stored.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.http import QueryDict
from django.http.response import HttpResponseBase
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_access.errors import Refusal
from accounts.models import StoredAnswer, User

NAME = "Idempotency-Key"
KEY = OpenApiParameter(
    NAME,
    str,
    OpenApiParameter.HEADER,
    description="A name that you make for this request, 1 to 100 letters, digits, `.`, `_`, `-`."
    " The same request with the same key within a day returns the same answer.",
)
#: Header of an answer that was stored.
REPLAYED = "Idempotent-Replayed"
KEPT = timedelta(days=1)
_VALID = re.compile(r"[A-Za-z0-9._-]{1,100}")


def answer_once(request: Request, respond: Callable[[], HttpResponseBase]) -> HttpResponseBase:
    """Return the stored answer to the request's key, else a new one.

    The new answer is stored. A request that comes while the first is being answered waits for it: the row of the key is
    stored first, in the same transaction. Raises Refusal (409) if the key was used for another
    request, ValidationError for a key that cannot be used.
    """
    key = request.headers.get(NAME)
    if key is None:
        return respond()
    if not _VALID.fullmatch(key):
        raise ValidationError({NAME: ["1 to 100 letters, digits, dots, underscores or hyphens."]})
    person, digest = request.user, _digest(request)
    assert isinstance(person, User)
    StoredAnswer.objects.filter(user=person, created_at__lt=timezone.now() - KEPT).delete()
    with transaction.atomic():
        stored, new = StoredAnswer.objects.get_or_create(
            user=person, key=key, defaults={"request_sha256": digest}
        )
        if not new:
            return _replay(stored, digest)
        response = respond()
        assert isinstance(response, Response)
        StoredAnswer.objects.filter(pk=stored.pk).update(
            status=response.status_code, body=response.data
        )
        return response


def _replay(stored: StoredAnswer, digest: str) -> Response:
    if stored.request_sha256 != digest:
        raise Refusal(
            HTTPStatus.CONFLICT,
            "key_reused",
            "This Idempotency-Key was used for another request. Make a new key for a new request.",
        )
    return Response(stored.body, status=stored.status, headers={REPLAYED: "true"})


def _digest(request: Request) -> str:
    """Return the SHA-256 of the method, the address and the body.

    Of files the name and the contents count, not how the form separates them.
    """
    asked = [request.method, request.get_full_path(), _describe_body(request)]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _describe_body(request: Request) -> Any:
    """Return the body as plain values."""
    if not isinstance(request.data, QueryDict):
        return request.data
    files = [
        [field, file.name, _digest_file(file)]
        for field, several in request.FILES.lists()
        for file in several
    ]
    return [[[name, values] for name, values in request._request.POST.lists()], files]


def _digest_file(file: UploadedFile) -> str:
    found = hashlib.sha256()
    for piece in file.chunks():
        found.update(piece)
    return found.hexdigest()
