"""What upper apps add to the case page, in `AppConfig.ready`. This app knows none of them."""

from __future__ import annotations

from collections.abc import Callable

from accounts.registry import Link
from ehr.models import Encounter

#: A link for the page that shows one of a case's timelines (its public id, how many the case has);
#: None where it leads nowhere.
CaseLink = Callable[[Encounter, str, int], Link | None]

_case_links: list[CaseLink] = []


def register_case_link(build: CaseLink) -> None:
    """Add a link to the tools of the case page."""
    if build not in _case_links:
        _case_links.append(build)


def case_links(encounter: Encounter, timeline: str, timelines: int) -> list[Link]:
    """The links that lead somewhere, in order of registration."""
    built = (build(encounter, timeline, timelines) for build in _case_links)
    return [link for link in built if link is not None]
