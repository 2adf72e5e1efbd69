"""Read the settings of the sign-in by OpenID Connect."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from accounts.provider.values import ROLES, GroupRole, Provider
from config.env import Env, EnvError

#: Columns of django-allauth have so many characters for the issuer.
LONGEST_ISSUER = 200


def read_provider(env: Env, *, production: bool) -> Provider | None:
    """Return the provider of OIDC_ISSUER, or None if it is not set.

    Raises EnvError for a setting that is missing or malformed.
    """
    schemes = ("https",) if production else ("https", "http")
    issuer = env.url("OIDC_ISSUER", schemes=schemes, default="")
    roles = _read_roles(env.mapping("OIDC_ROLES"))
    only = env.boolean("OIDC_ONLY", False)
    if not issuer:
        if only:
            raise EnvError("OIDC_ONLY is on without OIDC_ISSUER: nobody could sign in. Set both.")
        return None
    if len(issuer) > LONGEST_ISSUER:
        raise EnvError(f"OIDC_ISSUER is longer than {LONGEST_ISSUER} characters.")
    return Provider(
        issuer=issuer,
        client_id=env.text("OIDC_CLIENT_ID"),
        client_secret=env.text("OIDC_CLIENT_SECRET"),
        name=env.text("OIDC_NAME", "your organisation"),
        groups_claim=env.text("OIDC_GROUPS_CLAIM", "groups"),
        scopes=tuple(env.words("OIDC_SCOPES", "openid,profile,email")),
        roles=roles,
        only=only,
        token_days=env.integer("OIDC_TOKEN_DAYS", 7, minimum=1),
    )


def _read_roles(groups: Mapping[str, Any]) -> tuple[GroupRole, ...]:
    return tuple(role for group, listed in groups.items() for role in _read_group(group, listed))


def _read_group(group: str, listed: Any) -> Collection[GroupRole]:
    entries = listed if isinstance(listed, list) else [listed]
    try:
        found = [GroupRole(group, entry["study"], entry["role"]) for entry in entries]
    except (KeyError, TypeError):
        found = []
    if not found or not all(isinstance(one.study, str) and one.role in ROLES for one in found):
        raise EnvError(
            """OIDC_ROLES is not understood. Write {"group": [{"study": "name", "role": "reviewer"}]}"""
            f" with roles of {', '.join(ROLES)}."
        )
    return found
