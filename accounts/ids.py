"""Random public identifiers for URLs.

A case_id may be a record number, so no URL ever has one.
"""

from __future__ import annotations

import secrets

PUBLIC_ID_LENGTH = 12
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"


def new_public_id() -> str:
    """Return twelve characters of an alphabet without look-alikes.

    They have 59 bits: unguessable, and short enough to read out.
    """
    return "".join(secrets.choice(ALPHABET) for _ in range(PUBLIC_ID_LENGTH))


def parse_place(text: str, count: int) -> int | None:
    """Return a place in a list of `count` from an address, counted from 0.

    None for anything else. Only so many digits are read as a list can need: Python refuses to read
    some thousands of them.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) < count):
        return None
    return int(text)
