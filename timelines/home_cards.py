"""What the home page says about cases and runs."""

from __future__ import annotations

from django.db.models import Count, Q
from django.urls import reverse

from accounts.models import Study, User
from accounts.permissions import user_can_manage_study, user_can_open_cases
from accounts.registry import Card, Link
from ehr.models import Dataset, Encounter
from jobs.models import JobState
from timelines.models import Run, StageRun, Timeline
from timelines.run_progress import state_of_run, totals

SHOWN_RUNS = 3


def cases_card(user: User, study: Study) -> Card | None:
    """Cohorts and how many of their cases have a timeline."""
    if not user_can_open_cases(user, study):
        return None
    link = Link("All cases", reverse("timelines:cases"))
    datasets = Dataset.objects.filter(study=study).annotate(cases=Count("encounters")).order_by("name")
    if not datasets:
        return Card("Cases", ["No cohort has been imported yet. A study admin imports one with manage.py import_dataset."])
    placed = Timeline.objects.filter(case_run__isnull=False).values("encounter")
    done = Encounter.objects.filter(dataset__study=study, pk__in=placed).values("dataset").annotate(n=Count("pk"))
    counts = {d["dataset"]: d["n"] for d in done}
    lines = [f"{d.name}: {d.cases} case{'' if d.cases == 1 else 's'}, {counts.get(d.pk, 0)} reconstructed" for d in datasets]
    return Card("Cases", lines, [link])


def runs_card(user: User, study: Study) -> Card | None:
    """The latest runs with their states, and what failed."""
    if not user_can_open_cases(user, study):
        return None
    runs = list(Run.objects.filter(study=study).select_related("dataset")[:SHOWN_RUNS])
    links = [Link("All runs", reverse("timelines:runs"))]
    if user_can_manage_study(user, study):
        links.insert(0, Link("Launch a run", reverse("timelines:run_new")))
    if not runs:
        return Card("Runs", ["No run yet."], links)
    lines = []
    for run in runs:
        counts = totals(run)
        state = state_of_run(run, counts)
        lines.append(f"{run.label or run.source} on {run.dataset.name}: {state.label.lower()}, {counts.succeeded} of {counts.total} stages")
        links.append(Link(f"Open {run.label or run.source}", reverse("timelines:run", args=[run.public_id])))
    return Card("Runs", lines, links)


def attention_card(user: User, study: Study) -> Card | None:
    """For admins: what needs a person."""
    if not user_can_manage_study(user, study):
        return None
    broken = Dataset.objects.filter(study=study).annotate(n=Count("rejected")).filter(n__gt=0).order_by("name")
    lines = [f"{d.name}: {d.n} piece{'' if d.n == 1 else 's'} of its input could not be imported" for d in broken]
    failed = (
        StageRun.objects.filter(case_run__run__study=study, state=JobState.FAILED)
        .values("case_run__run__public_id", "case_run__run__label", "case_run__run__source")
        .annotate(n=Count("pk", filter=Q(state=JobState.FAILED)))
        .order_by()
    )
    links = []
    for f in failed:
        name = f["case_run__run__label"] or f["case_run__run__source"]
        lines.append(f"{name}: {f['n']} stage{'' if f['n'] == 1 else 's'} failed")
        links.append(Link(f"See why {name} failed", reverse("timelines:run", args=[f["case_run__run__public_id"]])))
    return Card("Needs attention", lines, links) if lines else None
