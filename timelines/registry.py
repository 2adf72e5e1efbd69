"""Additions to the case page, the case list and exports by upper apps.

They do so in `AppConfig.ready`. This app knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from accounts.registry import Link
from ehr.models import Encounter
from timelines.formats.lines import CaseLines
from timelines.models import Run

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


_as_of: list[Callable[[Encounter], str]] = []


def register_as_of(address: Callable[[Encounter], str]) -> None:
    """Set the address that says what of a stay was known when.

    Asked for a timeline (`t`) as JSON, it answers a list for each occurrence: earliest and latest
    hour at which it happened, and the hour from which it was documented; null for none.
    """
    _as_of[:] = [address]


def as_of_address(encounter: Encounter) -> str:
    """Return that address for a stay; "" without one."""
    return _as_of[0](encounter) if _as_of else ""


#: Called with a run that became a study timeline, in the transaction of the choice.
StudyRunHook = Callable[[Run], object]

_study_run_hooks: list[StudyRunHook] = []


def register_study_run_hook(hook: StudyRunHook) -> None:
    """Add what follows when a run becomes a study timeline."""
    if hook not in _study_run_hooks:
        _study_run_hooks.append(hook)


def call_study_run_hooks(run: Run) -> None:
    """Do what follows when this run becomes a study timeline."""
    for hook in _study_run_hooks:
        hook(run)


@dataclass(frozen=True, slots=True)
class CaseQuestion:
    """A yes-or-no filter of the case list.

    `condition` is met by the encounters for which the answer is yes. Cases that are closed to the
    reader match neither answer.
    """

    name: str
    label: str
    yes: str
    no: str
    condition: Callable[[], Q]


_case_questions: dict[str, CaseQuestion] = {}


def register_case_question(question: CaseQuestion) -> None:
    """Add a filter to the case list."""
    _case_questions[question.name] = question


def case_questions() -> dict[str, CaseQuestion]:
    """Return the filters by name, in order of registration."""
    return dict(_case_questions)


@dataclass(frozen=True, slots=True)
class ExportView:
    """A selection of occurrences that an export writes.

    `select` yields the cases that have any, in their order; `describe` says the selection for the
    data dictionary, `label` in a few words. All get the values that the export stores.
    """

    select: Callable[[Sequence[Encounter], Mapping[str, Any]], Iterator[CaseLines]]
    describe: Callable[[Mapping[str, Any]], str]
    label: Callable[[Mapping[str, Any]], str]


_export_views: dict[str, ExportView] = {}


def register_export_view(name: str, view: ExportView) -> None:
    """Add a selection by the name that exports store."""
    _export_views[name] = view


def find_export_view(values: Mapping[str, Any]) -> ExportView:
    """Return the selection that an export stores.

    Raises KeyError for an unknown one.
    """
    return _export_views[values["name"]]
