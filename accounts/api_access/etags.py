"""ETags: nobody overwrites what another person has changed meanwhile.

An object that can be edited comes with an ETag of its editable values. An edit sends it as
If-Match.
"""

from __future__ import annotations

import hashlib
from http import HTTPStatus

from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.errors import Refusal

ETAG = OpenApiParameter(
    "ETag",
    str,
    OpenApiParameter.HEADER,
    response=[200, 201],
    description="Send it as If-Match to edit the object.",
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="The ETag of what you read, or `*` to overwrite.",
)


def make_etag(*values: object) -> str:
    """Return the ETag of an object with these editable values."""
    return f'"{hashlib.sha256(repr(values).encode()).hexdigest()[:24]}"'


def check_match(request: Request, etag: str) -> None:
    """Raise Refusal unless If-Match has this ETag.

    It is 428 without the header, 412 for another ETag. The caller has locked the object.
    """
    sent = request.headers.get("If-Match", "")
    if not sent.strip():
        raise Refusal(
            HTTPStatus.PRECONDITION_REQUIRED,
            "etag_required",
            "Send the ETag of what you read as If-Match.",
        )
    if not {"*", etag} & {part.strip() for part in sent.split(",")}:
        raise Refusal(
            HTTPStatus.PRECONDITION_FAILED,
            "changed",
            "It was changed meanwhile. Read it again, and send its new ETag.",
        )
