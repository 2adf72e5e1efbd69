"""Cards of the home page about cases and runs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import Count, Q
from django.urls import reverse

from accounts.models import Study, User
from accounts.permissions import user_can_manage_study, user_can_open_cases
from accounts.registry import Card, Link
from accounts.wording import format_count
from ehr.models import Dataset, Encounter
from ehr.uploads.links import find_reasons_pages
from timelines.access.authoring import is_writing_unseen
from timelines.access.closed import (
    closed_encounters,
    exclude_closed,
    has_closed,
    open_runs,
)
from timelines.case_state import CaseState
from timelines.curation.reading import Dispute, find_disputes
from timelines.domain import TimelineKind
from timelines.evaluations.opening import find_latest_evaluation
from timelines.models import CaseRun, Correction, Run, Timeline
from timelines.runs.progress import count_runs, run_line, time_left_words
from timelines.runs.study_timeline.selection import (
    find_study_runs,
    history,
    is_study_run,
    run_words,
    study_timelines,
)

SHOWN_RUNS = 3
#: Runs among which those under way are looked for.
READ_RUNS = 12
SHOWN_FAILURES = 5
SHOWN_DISPUTES = 5


@dataclass(frozen=True, slots=True)
class Attention:
    """Something that needs a person, with a link to it."""

    words: str
    link: Link | None = None


def cases_card(user: User, study: Study) -> Card | None:
    """Return cohorts with the number of cases that the study timeline has.

    Without a study timeline, cases that any run has are counted.
    """
    if not user_can_open_cases(user, study):
        return None
    link = Link("All cases", reverse("timelines:cases"))
    closed = closed_encounters(user)
    datasets = Dataset.objects.filter(study=study).order_by("name")
    datasets = datasets.annotate(cases=Count("encounters", filter=~Q(encounters__in=list(closed))))
    imports = Link("Import a dataset", reverse("ehr:import_new"))
    may_import = user_can_manage_study(user, study)
    if not datasets:
        who = "Import one to begin." if may_import else "A study admin imports one."
        lines = [f"No cohort has been imported yet. {who}"]
        lead = imports if may_import else None
        return Card("Cases", lines, [imports] if may_import else [], lead=lead)
    chosen = study_timelines(study)
    opened = set(open_runs(Run.objects.filter(pk__in=[c.run_id for c in chosen.values()]), closed))
    of_runs = exclude_closed(Timeline.objects.filter(case_run__isnull=False), closed)
    revised = of_runs.annotate(of_study=is_study_run("case_run__run")).filter(
        of_study=True, kind=TimelineKind.REVISED.value
    )
    placed = Q(pk__in=revised.values("encounter")) | Q(pk__in=of_runs.values("encounter")) & ~Q(
        dataset__in=chosen
    )
    done = (
        Encounter.objects.filter(placed, dataset__study=study)
        .values("dataset")
        .annotate(n=Count("pk"))
    )
    counts = {d["dataset"]: d["n"] for d in done}
    cohorts = [
        {
            "name": d.name,
            "public_id": d.public_id,
            "cases": d.cases,
            "done": counts.get(d.pk, 0),
            # A run that is closed to the person is not named: its name says who made the timelines.
            "study_run": (
                chosen[d.pk].run if d.pk in chosen and chosen[d.pk].run in opened else None
            ),
        }
        for d in datasets
    ]
    context = {"cohorts": cohorts, "closed": has_closed(datasets, closed)}
    return Card(
        "Cases",
        links=[link, imports] if may_import else [link],
        template="timelines/home/_cases_card.html",
        context=context,
        lead=Link("Open the cases", link.url),
    )


def runs_card(user: User, study: Study) -> Card | None:
    """Runs under way with the time left, else the latest runs."""
    if not user_can_open_cases(user, study):
        return None
    closed = closed_encounters(user)
    runs = list(
        open_runs(Run.objects.filter(study=study).select_related("dataset"), closed)[:READ_RUNS]
    )
    links = [Link("All runs", reverse("timelines:runs"))]
    if user_can_manage_study(user, study):
        links.insert(0, Link("Launch a run", reverse("timelines:run_new")))
    if not runs:
        return Card("Runs", ["No run yet. A run reconstructs the timelines of a cohort."], links)
    counted = count_runs(runs, closed)
    chosen_runs = set(find_study_runs(study))
    runs.sort(key=lambda run: (not counted[run.pk].active, run.pk not in chosen_runs))
    lines = [
        {"line": run_line(run, counted[run.pk]), "left": time_left_words(run, counted[run.pk])}
        for run in runs[:SHOWN_RUNS]
    ]
    return Card(
        "Runs",
        links=links,
        template="timelines/home/_runs_card.html",
        context={"lines": lines, "study_runs": chosen_runs},
    )


def study_timelines_card(user: User, study: Study) -> Card | None:
    """Return each cohort's study timeline, for the study page.

    It says which run it is, since when and why.
    """
    datasets = Dataset.objects.filter(study=study).order_by("name")
    if not datasets:
        return None
    choices = history(study)
    opened = set(open_runs(Run.objects.filter(study=study), closed_encounters(user)))
    lines = [
        {"choice": choice, "words": run_words(choice.run)}
        for choice in choices
        if choice.run in opened
    ]
    chosen = study_timelines(study)
    context = {"lines": lines, "without": [d.name for d in datasets if d.pk not in chosen]}
    links = [Link("All runs", reverse("timelines:runs"))]
    return Card(
        "Study timelines",
        links=links,
        template="timelines/home/_study_timelines_card.html",
        context=context,
    )


def exports_card(user: User, study: Study) -> Card:
    """Return the way to the exports of the study, for the study page."""
    return Card(
        "Exports",
        ["Timelines of a cohort or a run as files."],
        [
            Link("Start an export", reverse("timelines:export_new")),
            Link("Your exports", reverse("timelines:exports")),
        ],
    )


def attention_card(user: User, study: Study) -> Card | None:
    """For admins: what needs a person."""
    if not user_can_manage_study(user, study):
        return None
    broken = (
        Dataset.objects.filter(study=study)
        .annotate(n=Count("rejected"))
        .filter(n__gt=0)
        .order_by("name")
    )
    pages = find_reasons_pages(broken)
    items: list[Attention] = [
        Attention(
            f"{d.name}: {format_count(d.n, 'piece')} of its input could not be imported",
            Link("See why", pages[d.pk]),
        )
        for d in broken
    ]
    failed = (
        exclude_closed(
            CaseRun.objects.filter(run__study=study, state=CaseState.FAILED),
            closed_encounters(user),
        )
        .values("run__public_id", "run__label", "run__source")
        .annotate(n=Count("pk"))
        .order_by("-run__created_at")
    )
    for f in failed[:SHOWN_FAILURES]:
        name = f["run__label"] or f["run__source"]
        address = f"{reverse('timelines:run', args=[f['run__public_id']])}?show={CaseState.FAILED}"
        items.append(
            Attention(
                f"{name}: {format_count(f['n'], 'case')} failed",
                Link("See why", address),
            )
        )
    items += _disputes(user, study)
    return (
        Card(
            "Needs attention",
            template="timelines/home/_attention_card.html",
            context={"attention": items},
        )
        if items
        else None
    )


def _disputes(user: User, study: Study) -> list[Attention]:
    """Cases with corrections that differ, each with a link to the first."""
    corrections = exclude_closed(
        Correction.objects.filter(base__encounter__dataset__study=study),
        closed_encounters(user),
        "base__encounter",
    )
    by_case: dict[Encounter, list[Dispute]] = defaultdict(list)
    for dispute in find_disputes(corrections):
        if not is_writing_unseen(user, dispute.encounter):
            by_case[dispute.encounter].append(dispute)
    found = []
    for encounter, disputes in list(by_case.items())[:SHOWN_DISPUTES]:
        first = disputes[0]
        page = reverse("timelines:occurrence", args=[encounter.public_id, first.uid4])
        words = f"{encounter.case_id}: {format_count(len(disputes), 'time')} with corrections that differ"
        found.append(Attention(words, Link("Settle", f"{page}?t={first.timeline}")))
    return found


def evaluations_card(user: User, study: Study) -> Card | None:
    """The latest finished evaluation, once there is one."""
    if not user_can_open_cases(user, study):
        return None
    found = find_latest_evaluation(user, study)
    if found is None:
        return None
    datasets = ", ".join(found.datasets.order_by("name").values_list("name", flat=True))
    links = [
        Link("Open the evaluation", reverse("timelines:evaluation", args=[found.public_id])),
        Link("All", reverse("timelines:evaluations")),
    ]
    return Card(
        "Evaluation",
        [f"{found.label or 'Latest evaluation'}: {datasets} against {found.reference}."],
        links,
    )
