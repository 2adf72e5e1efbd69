"""The person's studies and the navigation, for every page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import ResolverMatch, reverse
from django.utils.functional import SimpleLazyObject

from accounts.notifications.reading import count_unread
from accounts.registry import NavItem, nav_items
from accounts.scoping import active_study, find_roles, find_studies


@dataclass(frozen=True)
class NavLink:
    """A link of the main navigation.

    `is_page`: the current page is the link's own. `is_section`: it is in the link's section.
    """

    label: str
    address: str
    is_page: bool
    is_section: bool


def study(request: HttpRequest) -> dict[str, Any]:
    """Return `active_study`, `studies`, `study_roles` and `nav_links`.

    `studies` are for the switcher. People who are not signed in get nothing.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    current = active_study(request)
    roles = find_roles(user, current) if current else frozenset()
    return {
        "active_study": current,
        "studies": find_studies(user),
        "study_roles": roles,
        "nav_links": nav_links(nav_items(roles, user, current), request.resolver_match),
        "unread_notifications": SimpleLazyObject(lambda: count_unread(user)),
    }


def nav_links(items: Iterable[NavItem], match: ResolverMatch | None) -> list[NavLink]:
    """Return the links of these items, marked for the page of that match."""
    name = match.view_name if match else ""
    route = match.route if match else ""
    return [
        NavLink(
            item.label,
            reverse(item.url_name),
            is_page=name == item.url_name,
            is_section=route.startswith(item.routes),
        )
        for item in items
    ]
