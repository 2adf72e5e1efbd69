"""The study timeline: chosen once by rule, then by people alone.

A newer run does not change the default.
"""

from __future__ import annotations

import json
import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import DatabaseError, transaction
from django.db.models import RestrictedError
from django.urls import reverse

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from ehr.actions import delete_dataset
from ehr.models import Dataset, Encounter
from jobs.models import JobState
from tests import factories
from tests.unit.timelines.pipeline.reconstruction import ANDEXANET, LACTATE, NOTE, script
from tests.unit.timelines.pipeline.test_variants import EveryVariant
from tests.worlds.authored import Page, make_author, make_draft
from tests.worlds.reconstructed import LIGHT_ROLES
from timelines.cases.choices import load_choices
from timelines.cases.listing import CaseFilter, case_rows, find_cases, shown_case_runs
from timelines.models import (
    AnchorSuggestion,
    CaseRun,
    Run,
    RunPreparation,
    StageRun,
    StudyTimeline,
    Timeline,
)
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs import actions, tools
from timelines.runs.following import work_inline
from timelines.runs.preparing import execute_preparation
from timelines.runs.study_timeline.actions import ChoiceRefused, choose_study_timeline
from timelines.runs.study_timeline.selection import current

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def backbone(monkeypatch) -> EveryVariant:
    """Return a scripted backbone that can run every variant.

    The embedder is the small one that needs no weights.
    """
    scripted = EveryVariant(*script().spans)
    monkeypatch.setattr(tools, "backbone", lambda name, *_: scripted.backbone())
    roles = tools.ModelRoles(LIGHT_ROLES)
    monkeypatch.setattr(tools, "roles", lambda: roles)
    return scripted


@pytest.fixture
def dataset() -> Dataset:
    """Two cases with the same small note."""
    made = factories.make_dataset(name="cohort")
    for case_id in ("a", "b"):
        add_case(made, case_id)
    return made


def add_case(dataset: Dataset, case_id: str) -> Encounter:
    encounter = factories.make_encounter(dataset, case_id=case_id)
    factories.make_note(encounter, NOTE)
    factories.make_series(encounter, ANDEXANET, [factories.make_row(encounter, ANDEXANET, 6.5)])
    factories.make_series(
        encounter, LACTATE, [factories.make_row(encounter, LACTATE, 4.0, value="3.1")]
    )
    return encounter


def start_run(dataset: Dataset, cases: list[str] | None = None, **settings: object) -> Run:
    config = PipelineConfig(**settings)  # type: ignore[arg-type]  # named by the tests
    return actions.start_run(dataset=dataset, backbone="rules", config=config, cases=cases, by=None)


def run(dataset: Dataset, cases: list[str] | None = None, **settings: object) -> Run:
    made = start_run(dataset, cases, **settings)
    work_inline(made, lambda words: None)
    return made


def find_current_run(dataset: Dataset) -> Run | None:
    found = current().filter(dataset=dataset).select_related("run").first()
    return found.run if found else None


def export_timeline(dataset: Dataset, folder, **options: object) -> tuple[str, str]:
    said = StringIO()
    call_command(
        "export_timelines",
        dataset=dataset.public_id,
        format="prov",
        out=folder / "t.json",
        stdout=said,
        **options,
    )
    return (folder / "t.json").read_text(encoding="utf-8"), said.getvalue()


def test_the_first_finished_default_run_over_the_whole_cohort_is_chosen_once(dataset):
    run(dataset, cases=["a"])
    run(dataset, rho_threshold=0.2)
    run(dataset, variant=Variant.NO_ROWS)
    run(dataset, alternatives=1)
    assert find_current_run(dataset) is None, (
        "a trial run, one with its own settings or a variant was chosen"
    )
    first = start_run(dataset)
    assert find_current_run(dataset) is None, "a run was chosen before it had finished"
    work_inline(first, lambda words: None)
    assert find_current_run(dataset) == first
    event = AuditEvent.objects.get(action="study_timeline.choose")
    assert (event.actor, event.object_id, event.detail["by_rule"]) == (None, first.public_id, True)
    run(dataset)
    assert find_current_run(dataset) == first
    assert StudyTimeline.objects.count() == 1


def test_of_runs_that_finished_before_there_was_a_choice_the_oldest_is_chosen(dataset):
    oldest = run(dataset)
    StudyTimeline.objects.all().delete()
    run(dataset)
    assert find_current_run(dataset) == oldest


def test_a_run_whose_preparation_ends_after_its_cases_is_chosen_too(dataset):
    first = run(dataset)
    StudyTimeline.objects.all().delete()
    RunPreparation.objects.filter(run=first).update(state=JobState.QUEUED, finished_at=None)
    execute_preparation(RunPreparation.objects.get(run=first).pk)
    assert find_current_run(dataset) == first


def test_a_newer_run_changes_nothing_that_opens_by_itself(dataset, client, tmp_path):
    study_run = run(dataset)
    clinician = factories.make_user(dataset.study, Role.CLINICIAN)
    client.force_login(clinician)
    encounter = dataset.encounters.get(case_id="a")

    def seen() -> dict[str, object]:
        page = client.get(reverse("timelines:case", args=[encounter.public_id])).content.decode()
        comparison = client.get(reverse("adjudication:compare", args=[encounter.public_id]))
        listed = list(find_cases(dataset.study, CaseFilter()))
        done = find_cases(dataset.study, CaseFilter(state="done"))
        return {
            "case": re.findall(r'data-timeline="(\w+)"', page),
            "data": json.loads(
                page.split('id="case-data" type="application/json">')[1].split("</script>")[0]
            ),
            "default": load_choices(encounter).default.case_run_id,
            "compared": comparison.context.get("a") and comparison.context["a"].pk,
            "list": [(r.case_id, r.state, r.occurrences, r.other_run) for r in case_rows(listed)],
            "listed runs": {c.run_id for c in shown_case_runs([e.pk for e in listed]).values()},
            "done": [e.case_id for e in done],
            "home": re.findall(
                r"\d+ of \d+ reconstructed in the study timeline", client.get("/").content.decode()
            ),
            "export": export_timeline(dataset, tmp_path, source=["rules"])[0],
        }

    before = seen()
    assert before["listed runs"] == {study_run.pk}
    assert before["list"][0][1:] == ("done", before["list"][0][2], False)
    waiting = start_run(dataset)
    assert seen() == before, "a run that has only started"
    work_inline(waiting, lambda words: None)
    with_own_rho = run(dataset, rho_threshold=0.2)
    actions.cancel_run(run=start_run(dataset), by=clinician)
    assert seen() == before
    other = client.get(
        reverse("timelines:case", args=[encounter.public_id]),
        {"t": _find_revised(with_own_rho, encounter).public_id},
    ).content.decode()
    assert f"Other run: rules, {with_own_rho.created_at:%Y-%m-%d %H:%M} UTC, ρ 0.2" in other
    assert "This is not the study timeline." in other
    assert "Study timeline: rules" in other


def _find_revised(run: Run, encounter: Encounter) -> Timeline:
    return Timeline.objects.get(
        case_run__run=run, encounter=encounter, kind="revised", alternative=1
    )


def test_suggestions_come_from_the_study_timeline(dataset):
    study_run = run(dataset)
    newer = run(dataset)
    for made, name in ((study_run, "study"), (newer, "newer")):
        Run.objects.filter(pk=made.pk).update(tools={"backbone": name})
    encounter = dataset.encounters.get(case_id="a")
    page = Page(make_draft(encounter, make_author(encounter), "assisted"))
    uid = page.add("reversal agent", NOTE)
    assert page.client.get(reverse("timelines:authoring_suggestions", args=[page.id, uid])).json()[
        "rows"
    ]
    assert set(AnchorSuggestion.objects.values_list("made_by", flat=True)) == {"study"}


def test_a_case_that_the_study_timeline_lacks_shows_another_run_and_says_so(
    dataset, client, tmp_path
):
    study_run = run(dataset)
    late = add_case(dataset, "late")
    newer, newest = run(dataset), run(dataset, rho_threshold=0.2)
    client.force_login(factories.make_user(dataset.study, Role.CLINICIAN))
    choices = load_choices(late)
    assert [g.run for g in choices.groups] == [newer, newest], "a run with its own ρ comes first"
    page = client.get(reverse("timelines:case", args=[late.public_id])).content.decode()
    assert "This case has no study timeline (rules" in page
    assert "Other run: rules" in page
    assert [
        (r.case_id, r.other_run) for r in case_rows(list(find_cases(dataset.study, CaseFilter())))
    ] == [
        ("a", False),
        ("b", False),
        ("late", True),
    ]
    lines, said = export_timeline(dataset, tmp_path, source=["rules"])
    assert "1 case is not in the study timeline (rules" in said
    taken = {
        (trail["entity"]["case:note"]["occurrent:case_id"], stage["occurrent:run"])
        for trail in map(json.loads, lines.splitlines())
        for stage in trail["activity"].values()
    }
    assert taken == {
        ("a", study_run.public_id),
        ("b", study_run.public_id),
        ("late", newer.public_id),
    }


def test_without_a_choice_the_oldest_full_run_opens_first(dataset):
    first, second = run(dataset, cases=["a"], rho_threshold=0.2), run(dataset, cases=["a"])
    run(dataset, cases=["a"])
    run(dataset, cases=["a"], variant=Variant.NO_ROWS)
    choices = load_choices(dataset.encounters.get(case_id="a"))
    assert choices.first_group is not None
    assert choices.first_group.run == second, "not the run with its own ρ, and not the newest"
    assert first in [g.run for g in choices.groups]


def test_an_admin_chooses_another_with_a_reason_and_nobody_else_does(dataset, client):
    first, second = run(dataset), run(dataset, rho_threshold=0.2)
    admin, clinician = (
        factories.make_user(dataset.study, role) for role in (Role.ADMIN, Role.CLINICIAN)
    )
    with pytest.raises(NotAllowed):
        choose_study_timeline(run=second, reason="better", by=clinician)
    with pytest.raises(ChoiceRefused, match="Enter a reason"):
        choose_study_timeline(run=second, reason="  ", by=admin)
    for refused in (run(dataset, variant=Variant.NO_ROWS), start_run(dataset)):
        with pytest.raises(ChoiceRefused):
            choose_study_timeline(run=refused, reason="better", by=admin)
    assert find_current_run(dataset) == first
    client.force_login(admin)
    client.post(
        reverse("timelines:study_timeline", args=[second.public_id]), {"reason": "fewer wrong rows"}
    )
    assert find_current_run(dataset) == second
    assert (
        load_choices(dataset.encounters.get(case_id="a")).default.pk
        == _find_revised(second, dataset.encounters.get(case_id="a")).pk
    )
    event = AuditEvent.objects.filter(action="study_timeline.choose", actor=admin).get()
    assert (event.object_id, event.detail) == (
        second.public_id,
        {"dataset": dataset.public_id, "before": first.public_id, "by_rule": False},
    )
    assert "fewer wrong rows" not in json.dumps(event.detail)
    for address in (reverse("timelines:run", args=[second.public_id]), reverse("accounts:study")):
        assert "fewer wrong rows" in client.get(address).content.decode()
    assert (
        client.get(reverse("timelines:runs")).content.decode().count(">Study timeline</span>") == 1
    )
    assert [(c.run, c.replaced_at is None) for c in StudyTimeline.objects.order_by("pk")] == [
        (first, False),
        (second, True),
    ]


def test_the_database_keeps_choices_and_their_runs(dataset):
    first = run(dataset)
    foreign = factories.make_run(factories.make_dataset(dataset.study))
    choice = StudyTimeline.objects.get()
    for change in ({"run": foreign}, {"reason": "other"}, {"chosen_at": None}):
        with pytest.raises(DatabaseError), transaction.atomic():
            StudyTimeline.objects.filter(pk=choice.pk).update(**change)
    with pytest.raises(DatabaseError), transaction.atomic():
        StudyTimeline.objects.create(dataset=dataset, run=first)
    StudyTimeline.objects.filter(pk=choice.pk).update(replaced_at=choice.chosen_at)
    with pytest.raises(DatabaseError), transaction.atomic():
        StudyTimeline.objects.create(dataset=dataset, run=foreign)
    with pytest.raises(RestrictedError):
        first.delete()
    delete_dataset(dataset=dataset, by=None)
    assert not StudyTimeline.objects.exists()
    assert not CaseRun.objects.filter(run=first).exists()
    assert not StageRun.objects.filter(state=JobState.QUEUED).exists()
