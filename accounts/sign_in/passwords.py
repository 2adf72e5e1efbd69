"""Generated passwords: shown once, stored only as a hash."""

from __future__ import annotations

import secrets

_ALPHABET = "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_GROUPS, _GROUP_LENGTH = 4, 5


def generated_password() -> str:
    """Return twenty characters without look-alikes in four groups (115 bits).

    They are easy to copy by hand: "h7Kpw-…".
    """
    return "-".join(
        "".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_LENGTH)) for _ in range(_GROUPS)
    )
