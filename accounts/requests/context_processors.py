"""What every page knows of the person's studies."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from accounts.registry import nav_items
from accounts.scoping import active_study, roles_in, studies_of


def study(request: HttpRequest) -> dict[str, Any]:
    """`active_study`, `studies` (for the switcher), `study_roles` and `nav_items`; nothing for
    people not signed in.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    current = active_study(request)
    roles = roles_in(user, current) if current else frozenset()
    return {
        "active_study": current,
        "studies": studies_of(user),
        "study_roles": roles,
        "nav_items": nav_items(roles, user, current),
    }
