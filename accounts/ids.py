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
