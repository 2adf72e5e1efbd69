"""Cards of the home page about single cases: go on, open again, look into."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, Q
from django.urls import reverse

from accounts.models import AuditEvent, Study, User
from accounts.permissions import user_can_open_cases
from accounts.registry import Card, Link, Place, Task
from ehr.models import Encounter
from ehr.presentation.wording import span_words
from timelines.access.closed import closed_encounters, exclude_closed
from timelines.cases.listing import title_line
from timelines.evaluations.differences import find_differences
from timelines.evaluations.opening import find_latest_evaluation
from timelines.models import Authoring, Correction, UnexplainedChange
from timelines.runs.study_timeline.selection import find_study_runs

SHOWN_DRAFTS = 4
SHOWN_RECENT = 6
SHOWN_CHANGES = 6
#: Openings of cases that are read to find the last different ones.
READ_EVENTS = 200


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A case as the home page names it, with a link and a remark."""

    case_id: str
    title: str
    link: str
    words: str = ""
    at: datetime | None = None


def drafts_card(user: User, study: Study) -> Card | None:
    """Return the person's own open drafts, with their progress.

    None without an open draft.
    """
    if not user_can_open_cases(user, study):
        return None
    drafts = Authoring.objects.filter(
        author=user, encounter__dataset__study=study, state=Authoring.State.DRAFT
    ).select_related("encounter")
    counted = drafts.annotate(
        total=Count("inventory__occurrences"),
        placed=Count(
            "inventory__occurrences", filter=Q(inventory__occurrences__draft__placed=True)
        ),
    )
    tasks = [
        Task(
            f"Timeline of {draft.encounter.case_id}",
            Link("Continue", reverse("timelines:authoring", args=[draft.public_id])),
            f"{draft.placed} of {draft.total} placed",
            done=draft.placed,
            total=draft.total,
        )
        for draft in counted[:SHOWN_DRAFTS]
    ]
    links = [Link("My timelines", reverse("timelines:authorings"))]
    return Card("My timelines", links=links, place=Place.NEXT, tasks=tasks) if tasks else None


def changes_card(user: User, study: Study) -> Card | None:
    """Return cases with the largest changes that cite no row.

    Of the study timelines, at most one change of a case. It says how far a time moved and not
    which: the words and times of a case are on its page, which records who opened it.
    """
    if not user_can_open_cases(user, study):
        return None
    closed = closed_encounters(user)
    runs = find_study_runs(study)
    lines = [
        CaseLine(
            case_id=encounter.case_id,
            title=title_line(encounter),
            link=f"{reverse('timelines:case', args=[encounter.public_id])}?o={found.occurrence.uid4}",
            words=span_words(found.hours),
        )
        for found in find_largest_changes(runs, closed)
        for encounter in [found.case_run.encounter]
    ]
    return (
        Card(
            "Large changes without a cited row",
            template="timelines/home/_changes_card.html",
            context={"lines": lines},
            place=Place.MAIN,
        )
        if lines
        else None
    )


def find_largest_changes(
    runs: Sequence[int], closed: Collection[int]
) -> Sequence[UnexplainedChange]:
    """Return the largest changes of these runs, the largest first.

    Each run's are read in the order of its index, however many cases it has. Occurrences that a
    person has answered are left out.
    """
    answered = Correction.objects.filter(occurrence=OuterRef("occurrence"))
    open_changes = exclude_closed(
        UnexplainedChange.objects.filter(~Exists(answered)), closed, "case_run__encounter"
    )
    of_runs = [
        open_changes.filter(run=run).order_by("-weight").values_list("weight", "pk")[:SHOWN_CHANGES]
        for run in runs
    ]
    if not of_runs:
        return []
    heaviest = sorted(of_runs[0].union(*of_runs[1:], all=True), reverse=True)[:SHOWN_CHANGES]
    found = UnexplainedChange.objects.filter(pk__in=[pk for _, pk in heaviest])
    return list(
        found.select_related("occurrence", "case_run__encounter").order_by("-weight", "-pk")
    )


def differences_card(user: User, study: Study) -> Card | None:
    """Return cases with times that differ most from the reference.

    Of the latest evaluation that the person may open; None without one. As in `changes_card`, it
    says how far a time is off and not which.
    """
    if not user_can_open_cases(user, study):
        return None
    evaluation = find_latest_evaluation(user, study)
    if evaluation is None:
        return None
    differences = find_differences(evaluation, find_study_runs(study))
    cases = exclude_closed(
        Encounter.objects.filter(pk__in=[d.encounter for d in differences], dataset__study=study),
        closed_encounters(user),
        "pk",
    ).in_bulk()
    answered = set(
        Correction.objects.filter(base__encounter__in=cases).values_list(
            "base__encounter", "occurrence__uid4"
        )
    )
    lines = [
        CaseLine(
            case_id=cases[d.encounter].case_id,
            title=title_line(cases[d.encounter]),
            link=f"{reverse('timelines:case', args=[cases[d.encounter].public_id])}?o={d.uid}",
            words=span_words(d.hours),
        )
        for d in differences
        if d.encounter in cases and (d.encounter, d.uid) not in answered
    ][:SHOWN_CHANGES]
    return (
        Card(
            "Furthest from the reference",
            links=[
                Link(
                    "Open the evaluation",
                    reverse("timelines:evaluation", args=[evaluation.public_id]),
                )
            ],
            template="timelines/home/_differences_card.html",
            context={"lines": lines, "reference": evaluation.reference},
            place=Place.MAIN,
        )
        if lines
        else None
    )


def recent_card(user: User, study: Study) -> Card | None:
    """Return the cases that the person opened last and may still open."""
    if not user_can_open_cases(user, study):
        return None
    opened = AuditEvent.objects.filter(actor=user, action="case.open", object_type="ehr.encounter")
    latest: dict[str, datetime] = {}
    for case, at in opened.order_by("-at", "-pk").values_list("object_id", "at")[:READ_EVENTS]:
        latest.setdefault(case, at)
    cases = exclude_closed(
        Encounter.objects.filter(public_id__in=latest, dataset__study=study),
        closed_encounters(user),
        "pk",
    )
    lines = [
        CaseLine(
            case_id=case.case_id,
            title=title_line(case),
            link=reverse("timelines:case", args=[case.public_id]),
            at=latest[case.public_id],
        )
        for case in sorted(cases, key=lambda case: latest[case.public_id], reverse=True)
    ]
    return (
        Card(
            "Recently opened",
            links=[Link("All cases", reverse("timelines:cases"))],
            template="timelines/home/_recent_card.html",
            context={"lines": lines[:SHOWN_RECENT]},
            place=Place.MAIN,
        )
        if lines
        else None
    )
