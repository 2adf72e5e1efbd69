"""Time stamps of anchors by an authority (RFC 3161). No Django.

A stamp proves that a line existed at a time, even to people who trust neither this installation's
clock nor its key.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import urllib.request
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from cryptography.x509 import Certificate, load_pem_x509_certificates
from rfc3161_client import (
    HashAlgorithm,
    TimestampRequestBuilder,
    VerifierBuilder,
    decode_timestamp_response,
)
from rfc3161_client.errors import VerificationError
from rfc3161_client.tsp import TimeStampRequest, TimeStampResponse

from adjudication.anchors.keys import AnchorError

SECONDS = 20.0
#: Real answers have about 6 kB.
LONGEST_ANSWER = 100_000


class StampFailed(Exception):
    """The authority gave no valid time stamp."""

    log_safe = True


def request_stamp(url: str, data: bytes, roots: Sequence[Certificate]) -> str:
    """Return the authority's answer for `data` as base64.

    It is verified if there are `roots`; else only that it answers this request. Raises StampFailed.
    """
    request = TimestampRequestBuilder().data(data).hash_algorithm(HashAlgorithm.SHA256).build()
    answer = _post(url, request.as_bytes())
    response = _decode(answer)
    _check_answer(response, request)
    stamp = base64.b64encode(answer).decode()
    if roots:
        verify_stamp(stamp, data, roots)
    return stamp


def verify_stamp(stamp: str, data: bytes, roots: Sequence[Certificate]) -> datetime:
    """Return the time that the stamp proves for `data`. Raises StampFailed."""
    try:
        response = _decode(base64.b64decode(stamp, validate=True))
    except ValueError:
        raise StampFailed("its time stamp cannot be read") from None
    verifier = VerifierBuilder(roots=list(roots)).build()
    try:
        verifier.verify(response, hashlib.sha256(data).digest())
    except (VerificationError, ValueError):
        raise StampFailed(
            "its time stamp is of other content, or of no authority in ANCHOR_TSA_CERTIFICATES_FILE"
        ) from None
    return response.tst_info.gen_time


def load_roots(path: Path | None) -> list[Certificate]:
    """Return the certificates in a PEM file; [] without a path.

    Raises AnchorError.
    """
    if path is None:
        return []
    try:
        return load_pem_x509_certificates(path.read_bytes())
    except OSError as error:
        raise AnchorError(
            f"ANCHOR_TSA_CERTIFICATES_FILE names a file that cannot be read ({error.strerror})."
            " Check its path and permissions."
        ) from None
    except ValueError:
        raise AnchorError(
            "ANCHOR_TSA_CERTIFICATES_FILE names a file without certificates. Write the"
            " authority's root certificate into it, as PEM."
        ) from None


def _post(url: str, body: bytes) -> bytes:
    request = urllib.request.Request(
        url, body, {"Content-Type": "application/timestamp-query", "User-Agent": "occurrent"}
    )
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return bytes(answer.read(LONGEST_ANSWER))
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise StampFailed(
            f"the time-stamping authority did not answer: {type(error).__name__}"
        ) from None


def _decode(answer: bytes) -> TimeStampResponse:
    try:
        return decode_timestamp_response(answer)
    except ValueError:
        raise StampFailed("the answer of the time-stamping authority cannot be read") from None


def _check_answer(response: TimeStampResponse, request: TimeStampRequest) -> None:
    """Raise StampFailed unless the authority granted exactly this request."""
    if response.status != 0:
        raise StampFailed(
            f"the time-stamping authority refused the request with status {response.status}"
        )
    info = response.tst_info
    same = info.message_imprint.message == request.message_imprint.message
    if not same or info.nonce != request.nonce:
        raise StampFailed("the time-stamping authority answered another request")
