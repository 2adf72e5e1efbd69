"""Corrections: what is stored, who may, and the curated timeline."""

from __future__ import annotations

import random

import pytest
from django.db import DatabaseError, transaction

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from tests import factories
from tests.unit.timelines.curation.test_standing import read_slowly
from tests.worlds.corrected import make_corrected_world
from timelines.access.authoring import hidden_timelines
from timelines.authoring.actions import start_authoring
from timelines.curation.corrections import Corrected, correct, settle, undo
from timelines.curation.curated import as_mark, find_current
from timelines.curation.opening import find_base
from timelines.curation.standing import DEFAULT_REASON
from timelines.domain import TimelineKind
from timelines.drafts.values import EditRefused
from timelines.models import Authoring, Correction, CuratedTimeline, Entry, Timeline
from timelines.transfer.lines import Selection, export_cases

pytestmark = pytest.mark.django_db


@pytest.fixture
def world():
    return make_corrected_world()


def put(world, entered="", *, by=None, occurrence=None, **what) -> Correction:
    return correct(
        base=world.base,
        occurrence=occurrence or world.vancomycin,
        what=Corrected(entered=entered, reason=what.pop("reason", "read again"), **what),
        by=by or world.anna,
    )


def times(timeline) -> dict[str, float | None]:
    found = Entry.objects.filter(timeline=timeline)
    return dict(found.values_list("occurrence__mention", "time"))


BASE = {"fever": -6.0, "Vancomycin": 1.5, "head CT": None}


def test_a_correction_makes_a_curated_timeline_and_leaves_the_base(world):
    made = put(world, rows=[1], reason="")
    assert (made.time, made.rows, made.reason) == (6.25, [1], DEFAULT_REASON)
    curated = find_current(world.base)
    assert (curated.source, curated.kind, curated.alternative) == ("curated:rules", "revised", 1)
    assert times(curated) == {**BASE, "Vancomycin": 6.25}
    assert times(world.base) == BASE
    corrected = curated.entries.get(occurrence=world.vancomycin)
    assert (corrected.lower, corrected.upper, corrected.adopted_rows) == (None, None, [1])
    assert corrected.decided_by == "clinician's correction"
    assert curated.entries.get(occurrence=world.scan).context == [world.fever.uid4]
    [event] = AuditEvent.objects.filter(action="case.correct")
    assert (event.actor, event.object_id) == (world.anna, world.encounter.public_id)
    assert event.detail["uid4"] == world.vancomycin.uid4
    assert "6.25" not in str(event.detail)


def test_sent_twice_is_stored_once_and_each_change_supersedes(world):
    first = put(world, "+6.5")
    assert put(world, "+6.5") == first
    before = find_current(world.base)
    put(world, "+7")
    before.refresh_from_db()
    assert before.source == "curated:rules#1"
    assert times(before)["Vancomycin"] == 6.5, "what was judged before stays"
    assert times(find_current(world.base))["Vancomycin"] == 7.0
    exported = [
        t[0].source for case in export_cases([world.encounter], Selection()) for t in case.timelines
    ]
    assert exported == ["curated:rules", "rules", "rules"]


def test_undone_corrections_leave_no_curated_timeline(world):
    made = put(world, "HD 1 20:00")
    undo(correction=made, by=world.anna)
    assert find_current(world.base) is None
    assert Correction.objects.count() == 2
    with pytest.raises(EditRefused, match="undone already"):
        undo(correction=made, by=world.anna)
    again = put(world, "HD 1 20:00")
    assert again.pk != made.pk
    with pytest.raises(NotAllowed):
        undo(correction=again, by=world.boris)
    undo(correction=again, by=world.admin)
    assert find_current(world.base) is None


def test_two_who_differ_leave_the_time_until_an_admin_settles(world):
    put(world, "+6.5", by=world.anna)
    other = put(world, not_happened=True, by=world.boris)
    assert find_current(world.base) is None
    with pytest.raises(NotAllowed):
        settle(base=world.base, occurrence=world.vancomycin, chosen=other, reason="", by=world.anna)
    settled = settle(
        base=world.base, occurrence=world.vancomycin, chosen=other, reason="no row", by=world.admin
    )
    entry = find_current(world.base).entries.get(occurrence=world.vancomycin)
    assert (entry.time, entry.decided_by) == (None, "adjudicator's settlement")
    with pytest.raises(EditRefused, match="do not differ"):
        settle(base=world.base, occurrence=world.vancomycin, chosen=None, reason="", by=world.admin)
    put(world, "+8", by=world.anna)
    settle(base=world.base, occurrence=world.vancomycin, chosen=None, reason="", by=world.admin)
    assert find_current(world.base) is None, "the reconstructed time stays"
    assert settled.chosen == other


@pytest.mark.parametrize(
    ("what", "field"),
    [
        ({"entered": "soon"}, "entered"),
        ({"entered": ""}, "entered"),
        ({"entered": "+5", "rows": [99]}, "rows"),
        ({"entered": "+5", "reason": ""}, "reason"),
        ({"entered": "+5", "reason": "x" * 2001}, "reason"),
    ],
)
def test_what_is_no_correction_is_refused(world, what, field):
    with pytest.raises(EditRefused) as refused:
        put(world, **what)
    assert refused.value.field == field
    assert not Correction.objects.exists()


def test_a_correction_is_of_the_primary_timeline_of_the_run(world):
    assert find_base(world.text) == world.base
    put(world, "+6.5")
    assert find_base(find_current(world.base)) == world.base
    inventory = factories.make_inventory(world.encounter.notes.get())
    fell = factories.make_occurrence(inventory, "fever")
    reference = factories.make_timeline(inventory, {fell: 1.0}, kind=TimelineKind.REFERENCE)
    with pytest.raises(EditRefused, match="reference"):
        correct(
            base=find_base(reference),
            occurrence=fell,
            what=Corrected("+1", reason="x"),
            by=world.anna,
        )


def test_another_run_of_the_same_source_has_a_curated_timeline_of_its_own(world):
    put(world, "+6.5")
    run = factories.make_run(world.dataset, label="second")
    inventory = factories.make_inventory(world.encounter.notes.get(), run)
    fever = factories.make_occurrence(inventory, "fever")
    case_run = factories.make_case_run(run, world.encounter, inventory)
    base = factories.make_timeline(inventory, {fever: 0.5}, case_run=case_run)
    factories.seal(inventory)
    fever.inventory.refresh_from_db()
    correct(base=base, occurrence=fever, what=Corrected("+2", reason="x"), by=world.anna)
    assert find_current(base).source == f"curated:{base.public_id}"
    assert find_current(world.base).source == "curated:rules"
    put(world, "+7")
    assert find_current(world.base).source == "curated:rules", "its name stays"


@pytest.mark.parametrize("source", ["model#2", "m" * 90])
def test_a_source_of_any_name_can_be_corrected_again(world, source):
    Timeline.objects.filter(pk=world.base.pk).update(source=source)
    world.base.refresh_from_db()
    for hour in range(1, 13):
        put(world, f"+{hour}")
        assert times(find_current(world.base))["Vancomycin"] == hour
    assert CuratedTimeline.objects.filter(base=world.base).count() == 12


def test_those_who_must_not_see_the_case_cannot_correct(world):
    reviewer = factories.make_user(world.study, Role.REVIEWER)
    outsider = factories.make_user(factories.make_study(), Role.ADMIN)
    for person in (reviewer, outsider):
        with pytest.raises(NotAllowed):
            put(world, "+6.5", by=person)
    made = put(world, "+6.5", by=world.boris)
    for protocol in Authoring.Protocol:
        author = factories.make_user(world.study, Role.CLINICIAN)
        start_authoring(encounter=world.encounter, protocol=protocol, by=author)
        with pytest.raises(NotAllowed, match="writing"):
            put(world, "+6.5", by=author)
        assert find_current(world.base).pk in hidden_timelines(author, world.encounter)
    assert Correction.objects.get() == made


@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_gives_the_timeline_of_a_slow_reading(world, seed):
    """Corrections, undos and settlements of three people."""
    dice = random.Random(seed)
    occurrences = [world.fever, world.vancomycin, world.scan]
    for _ in range(14):
        occurrence, person = dice.choice(occurrences), dice.choice(world.people)
        log = Correction.objects.filter(occurrence=occurrence).exclude(kind="undo")
        live = list(log.filter(undone_by__isnull=True))
        step = dice.choice(["time", "time", "time", "not_placed", "not_happened", "undo", "settle"])
        try:
            if step == "undo" and live:
                undo(correction=dice.choice(live), by=person)
            elif step == "settle":
                chosen = dice.choice([None, *live])
                settle(
                    base=world.base, occurrence=occurrence, chosen=chosen, reason="", by=world.admin
                )
            elif step == "time":
                put(world, f"+{dice.randrange(4)}", by=person, occurrence=occurrence)
            elif step != "undo":
                put(world, by=person, occurrence=occurrence, **{step: True})
        except (EditRefused, NotAllowed):
            continue
    wanted = dict(BASE)
    for occurrence in occurrences:
        marks = [as_mark(c) for c in Correction.objects.filter(occurrence=occurrence)]
        applied, _ = read_slowly(marks)
        if applied:
            wanted[occurrence.mention] = applied[1]
    curated = find_current(world.base)
    assert times(curated or world.base) == wanted
    assert times(world.base) == BASE
    made = Timeline.objects.filter(source__startswith="curated:")
    assert sorted(CuratedTimeline.objects.values_list("timeline", flat=True)) == sorted(
        made.values_list("pk", flat=True)
    )


def refuse(statement):
    with pytest.raises(DatabaseError), transaction.atomic():
        statement()


def test_the_database_keeps_corrections(world):
    made = put(world, "+6.5")
    correction = Correction.objects.filter(pk=made.pk)
    curated = CuratedTimeline.objects.filter(timeline=find_current(world.base))
    for change in ({"time": 1.0}, {"author": world.boris}, {"rows": [0]}, {"reason": ""}):
        refuse(lambda change=change: correction.update(**change))
    refuse(lambda: curated.update(base=world.text))
    stray = factories.make_inventory(world.encounter.notes.get())
    fell = factories.make_occurrence(stray, "Discharged")
    common = {"base": world.base, "author": world.anna}
    for values in (
        {"occurrence": fell, "kind": "time", "time": 1.0},
        {"occurrence": world.fever, "kind": "time", "time": 1.0, "rows": [99]},
        {"occurrence": world.fever, "kind": "time"},
        {"occurrence": world.fever, "kind": "not_placed", "time": 1.0},
        {"occurrence": world.fever, "kind": "base"},
        {"occurrence": world.fever, "kind": "undo", "undoes": made},
        {"occurrence": world.fever, "kind": "undo"},
        {"occurrence": world.vancomycin, "kind": "time", "time": 1.0, "lower": 2.0},
        {
            "occurrence": world.vancomycin,
            "kind": "time",
            "time": 1.0,
            "base": find_current(world.base),
        },
    ):
        refuse(lambda values=values: Correction.objects.create(**{**common, **values}))


@pytest.mark.django_db(transaction=True)
def test_a_correction_leaves_only_with_its_base(world):
    made = put(world, "+6.5")
    with pytest.raises(DatabaseError, match="together with its base"):
        Correction.objects.filter(pk=made.pk).delete()
    with pytest.raises(DatabaseError, match="keeps its base"):
        CuratedTimeline.objects.all().delete()
    world.encounter.delete()
    assert not Correction.objects.exists()
    assert not Timeline.objects.exists()
