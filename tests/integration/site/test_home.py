"""What the home page lists of single cases, for whom, and at what cost."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import Role
from accounts.registry import Place
from ehr.models import Dataset, Encounter
from tests import factories
from tests.made_report import REVISED, make_report
from tests.support.pages import extract_text
from tests.worlds.evaluated import make_evaluation, store_case
from timelines.authoring.actions import start_authoring
from timelines.cases.home_work import SHOWN_CHANGES
from timelines.domain import TimelineKind
from timelines.evaluation.values import CaseFunnel, CaseResult, FunnelLine, Lost
from timelines.models import (
    Authoring,
    Correction,
    Evaluation,
    Inventory,
    Occurrence,
    Run,
    StudyTimeline,
    Timeline,
    UnexplainedChange,
)
from timelines.runs import storage

pytestmark = pytest.mark.django_db
NOTE = "Fell at home. Given andexanet."


@pytest.fixture
def study():
    return factories.make_study()


@pytest.fixture
def clinician(study):
    return factories.make_user(study, Role.CLINICIAN)


@pytest.fixture
def web(client, clinician):
    client.force_login(clinician)
    return client


def choose(dataset: Dataset) -> Run:
    run = factories.make_run(dataset)
    StudyTimeline.objects.create(dataset=dataset, run=run)
    return run


def add_case(run: Run, case_id: str, moved: float) -> Encounter:
    """A case of the run in which the time of one occurrence moved."""
    encounter = factories.make_encounter(run.dataset, case_id=case_id, title=f"Fall {case_id}")
    inventory = factories.make_inventory(factories.make_note(encounter, NOTE), run)
    fall, drug = (factories.make_occurrence(inventory, words) for words in ("Fell", "andexanet"))
    case_run = factories.make_case_run(run, encounter, inventory)
    factories.make_timeline(inventory, {fall: 0.0, drug: 0.0}, case_run=case_run)
    factories.make_timeline(
        inventory, {fall: moved, drug: 1.0}, kind=TimelineKind.REVISED, case_run=case_run
    )
    (text,) = storage.load_timelines(case_run, TimelineKind.TEXT_ONLY)
    (revised,) = storage.load_timelines(case_run, TimelineKind.REVISED)
    storage.save_unexplained_change(case_run, text, revised)
    return encounter


def listed(web, title: str) -> list[str]:
    """The case ids of a card, in order."""
    cards = web.get(reverse("home")).context["main"]
    found = [card for card in cards if card.title == title]
    return [line.case_id for card in found for line in card.context["lines"]]


CHANGES, RECENT = "Large changes without a cited row", "Recently opened"
FURTHEST = "Furthest from the reference"


def test_the_largest_changes_of_all_study_timelines_come_first(web, study):
    first, second = (choose(factories.make_dataset(study, name)) for name in ("One", "Two"))
    for number in range(SHOWN_CHANGES):
        add_case(first, f"a{number}", 10.0 + 2 * number)
    add_case(first, "small", 2.5)
    for number in range(3):
        add_case(second, f"b{number}", 11.0 + 2 * number)
    other = factories.make_run(first.dataset, label="not chosen")
    add_case(other, "other", 400.0)
    elsewhere = choose(factories.make_dataset())
    add_case(elsewhere, "elsewhere", 400.0)
    assert listed(web, CHANGES) == ["a5", "a4", "a3", "b2", "a2", "b1"]
    page = web.get(reverse("home"))
    assert "a5 Fall a5 moved 20 h" in extract_text(page)
    encounter = Encounter.objects.get(case_id="a5")
    uid = UnexplainedChange.objects.get(case_run__encounter=encounter).occurrence.uid4
    assert f'href="{reverse("timelines:case", args=[encounter.public_id])}?o={uid}"' in page.text
    # Words and times of a case are on its page, which records who opened it.
    assert "Fell" not in extract_text(page)


def test_home_asks_as_many_queries_for_many_cases_as_for_few(web, clinician, study):
    run = choose(factories.make_dataset(study))

    def ask() -> int:
        with CaptureQueriesContext(connection) as found:
            assert web.get(reverse("home")).status_code == 200
        return len(found)

    def add(case_id: str) -> None:
        encounter = add_case(run, case_id, 50.0)
        record(
            actor=clinician,
            study=study,
            action="case.open",
            object_type="ehr.encounter",
            object_id=encounter.public_id,
            detail={},
        )

    add("first")
    few = ask()
    for number in range(8):
        add(f"c{number}")
    assert ask() == few


def find_first_occurrence(timeline: Timeline) -> Occurrence:
    entry = timeline.entries.order_by("pk")[0]
    assert entry.occurrence is not None
    return entry.occurrence


def evaluate(run: Run, times: dict[str, tuple[float, float]]) -> Evaluation:
    """Evaluate the run: by case the reference's time and its own."""
    evaluation = make_evaluation(run.study, [run.dataset], report=make_report())
    for case_id, (right, ours) in times.items():
        timeline = Timeline.objects.get(
            encounter__case_id=case_id, case_run__run=run, kind=TimelineKind.REVISED
        )
        uid = find_first_occurrence(timeline).uid4
        line = FunnelLine("0001", uid, "finding", right, ours, (), Lost.OTHER_ROW)
        funnel = CaseFunnel(REVISED, timeline.public_id, (line,))
        result = CaseResult(case_id, run.dataset.name, (), (funnel,))
        store_case(evaluation, timeline.encounter, result)
    return evaluation


def test_times_furthest_from_the_reference_come_first(web, clinician, study):
    run = choose(factories.make_dataset(study))
    for number in range(SHOWN_CHANGES + 2):
        add_case(run, f"a{number}", 1.0)
    assert listed(web, FURTHEST) == [], "without an evaluation there is no reference"
    evaluate(
        run,
        # Ten years before, 5 000 h is less than a tolerance; 50 h of the stay are ten.
        {f"a{n}": (10.0, 10.0 + 5 * n) for n in range(7)} | {"a7": (-87_600.0, -92_600.0)},
    )
    assert listed(web, FURTHEST) == ["a6", "a5", "a4", "a3", "a2", "a1"]
    page = web.get(reverse("home"))
    assert "a6 Fall a6 30 h apart" in extract_text(page)
    assert "Fell" not in extract_text(page)
    # What a person has corrected no longer asks for anyone, and other runs are no study timeline.
    revised = Timeline.objects.get(encounter__case_id="a6", kind=TimelineKind.REVISED)
    occurrence = find_first_occurrence(revised)
    Inventory.objects.filter(pk=revised.inventory_id).update(sealed_at=timezone.now())
    Correction.objects.create(
        base=revised, occurrence=occurrence, author=clinician, kind=Correction.Kind.NOT_PLACED
    )
    assert listed(web, FURTHEST)[0] == "a5"
    StudyTimeline.objects.update(replaced_at=timezone.now())
    StudyTimeline.objects.create(
        dataset=run.dataset, run=factories.make_run(run.dataset, label="another")
    )
    assert listed(web, FURTHEST) == []


def test_a_closed_case_closes_what_is_known_of_the_reference(web, clinician, study):
    run = choose(factories.make_dataset(study))
    _, closed = (add_case(run, case_id, 50.0) for case_id in ("kept", "closed"))
    evaluate(run, {"kept": (0.0, 10.0), "closed": (0.0, 20.0)})
    assert listed(web, FURTHEST) == ["closed", "kept"]
    start_authoring(encounter=closed, protocol=Authoring.Protocol.UNAIDED, by=clinician)
    # The evaluation's figures depend on the closed case, so all of it is closed.
    assert listed(web, FURTHEST) == []
    assert "closed Fall closed" not in extract_text(web.get(reverse("home")))


def test_closed_cases_are_on_no_list(web, clinician, study):
    run = choose(factories.make_dataset(study))
    kept, closed = (add_case(run, case_id, 50.0) for case_id in ("kept", "closed"))
    for encounter in (kept, closed, kept):
        assert web.get(reverse("timelines:case", args=[encounter.public_id])).status_code == 200
    assert listed(web, RECENT) == ["kept", "closed"]
    start_authoring(encounter=closed, protocol=Authoring.Protocol.UNAIDED, by=clinician)
    assert listed(web, RECENT) == listed(web, CHANGES) == ["kept"]
    draft, *_ = web.get(reverse("home")).context["tasks"]
    assert draft.words == "Timeline of closed"


def test_a_person_sees_what_they_opened_themselves_and_in_this_study(web, clinician, study):
    run = choose(factories.make_dataset(study))
    encounter = add_case(run, "mine", 1.0)
    record(
        actor=factories.make_user(study, Role.CLINICIAN),
        study=study,
        action="case.open",
        object_type="ehr.encounter",
        object_id=encounter.public_id,
        detail={},
    )
    elsewhere = factories.make_encounter()
    record(
        actor=clinician,
        study=elsewhere.dataset.study,
        action="case.open",
        object_type="ehr.encounter",
        object_id=elsewhere.public_id,
        detail={},
    )
    assert listed(web, RECENT) == []
    assert all(card.place is not Place.NEXT for card in web.get(reverse("home")).context["side"])
