"""The hash chain of a packet's decisions. No Django.

Each link's hash covers the link's content and the hash before it. `build_payload` has plain JSON
values. Canonical form: UTF-8, keys sorted, no white space, floats as the shortest decimal that
reads back the same. Anyone can recompute the hash from an export with SHA-256 alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: The hash before the first link.
BEGINNING = ""


def encode_canonical(payload: Mapping[str, Any]) -> bytes:
    """Return the canonical JSON of these values.

    Raises ValueError for NaN and infinities, TypeError for other than JSON values.
    """
    return json.dumps(
        payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode("utf-8")


def digest(payload: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the canonical form, 64 hex digits."""
    return hashlib.sha256(encode_canonical(payload)).hexdigest()


def link_hash(payload: Mapping[str, Any], previous_hash: str) -> str:
    """Return the hash of a link.

    It is SHA-256 over the hash before it, a line feed, and the canonical payload.
    """
    return hashlib.sha256(
        previous_hash.encode("ascii") + b"\n" + encode_canonical(payload)
    ).hexdigest()


@dataclass(frozen=True, slots=True)
class Link:
    """One stored link: its place, its content and its two hashes."""

    sequence: int
    payload: Mapping[str, Any]
    previous_hash: str
    hash: str


@dataclass(frozen=True, slots=True)
class Break:
    """A broken link and the reason, in words without any content."""

    sequence: int
    reason: str


def find_breaks(links: Iterable[Link]) -> list[Break]:
    """Return every break of the chain, in order; [] for a valid or empty one.

    After a break the check continues from the stored hash, so one altered link gives one break.
    """
    found = []
    expected, head = 1, BEGINNING
    for link in links:
        if link.sequence != expected:
            found.append(
                Break(
                    link.sequence,
                    (
                        f"link {expected} is missing"
                        if link.sequence > expected
                        else "the link occurs twice"
                    ),
                )
            )
        if link.previous_hash != head:
            found.append(
                Break(link.sequence, "its previous hash is not the hash of the link before it")
            )
        if link_hash(link.payload, link.previous_hash) != link.hash:
            found.append(Break(link.sequence, "its content does not match its hash"))
        expected, head = link.sequence + 1, link.hash
    return found
