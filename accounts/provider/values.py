"""What is known of the OpenID Connect provider and of a person there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

#: The values of `accounts.models.Role`, which settings cannot import. A test compares them.
ROLES = ("clinician", "reviewer", "admin")


@dataclass(frozen=True)
class GroupRole:
    """The role in a study (by its name) that a group of the provider gives."""

    group: str
    study: str
    role: str


@dataclass(frozen=True)
class Provider:
    """The organisation's sign-in, as the operator set it up.

    `only` refuses local passwords. `token_days`: API tokens of its people work for so many days
    after a sign-in.
    """

    issuer: str
    client_id: str
    client_secret: str
    name: str
    groups_claim: str = "groups"
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    roles: tuple[GroupRole, ...] = ()
    only: bool = False
    token_days: int = 7

    def find_roles(self, groups: Collection[str]) -> frozenset[tuple[str, str]]:
        """Return the (study, role) pairs that these groups give."""
        return frozenset((one.study, one.role) for one in self.roles if one.group in groups)


@dataclass(frozen=True)
class Claims:
    """What the provider says about a person at one sign-in."""

    username: str
    email: str
    groups: frozenset[str]
    nonce: str
    #: When the person last authenticated there, in seconds since 1970.
    authenticated_at: int | None
    session: str

    @classmethod
    def read(cls, claims: Mapping[str, Any], groups_claim: str) -> Claims:
        """Read the claims; odd values count as missing."""
        listed = claims.get(groups_claim)
        groups = [listed] if isinstance(listed, str) else listed
        at = claims.get("auth_time")
        return cls(
            username=_text(claims, "preferred_username"),
            email=_text(claims, "email"),
            groups=frozenset(
                group
                for group in (groups if isinstance(groups, list) else [])
                if isinstance(group, str)
            ),
            nonce=_text(claims, "nonce"),
            authenticated_at=int(at) if isinstance(at, int | float) else None,
            session=_text(claims, "sid"),
        )


def _text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) else ""
