"""Additions to the case page that upper apps register.

They do so in `AppConfig.ready`. This app knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable

from accounts.registry import Link
from ehr.models import Encounter

#: A link for the page that shows one of a case's timelines (its public id, how many the case has);
#: None if there is nothing to link to.
CaseLink = Callable[[Encounter, str, int], Link | None]

_case_links: list[CaseLink] = []


def register_case_link(build: CaseLink) -> None:
    """Add a link to the tools of the case page."""
    if build not in _case_links:
        _case_links.append(build)


def case_links(encounter: Encounter, timeline: str, timelines: int) -> list[Link]:
    """Return the available links, in order of registration."""
    built = (build(encounter, timeline, timelines) for build in _case_links)
    return [link for link in built if link is not None]
