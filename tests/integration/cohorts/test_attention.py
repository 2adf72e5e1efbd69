"""What needs a look, and rows that no occurrence explains."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Role
from cohorts.attention.actions import (
    DismissalRefused,
    comment_on_row,
    dismiss_row,
    mark_looked_at,
)
from cohorts.attention.ranking import execute_ranking, find_items, rank_study, start_ranking
from cohorts.attention.unexplained import find_stays, find_unexplained
from cohorts.attention.values import Reason, score
from cohorts.models import (
    AttentionItem,
    AttentionRanking,
    MemberDecision,
    Window,
    WindowMember,
    WindowResult,
    WindowVersion,
)
from jobs.models import JobState
from tests import factories
from tests.worlds.cohorts import Event, Row, make_stay, make_study_run
from timelines.curation.corrections import Corrected, correct
from timelines.models import Comment, Mention, Occurrence

pytestmark = pytest.mark.django_db
STEADY = Event("Fell at home", -2.0, -2.0)
MOVED = Event("Fever began", 0.0, 84.0)
WIDE = Event("Cough began", 10.0, 10.0, record_bounds=(0.0, 84.0))
BOTH = Event("Rash appeared", 0.0, 72.0, record_bounds=(24.0, 108.0))


@pytest.fixture
def run():
    return make_study_run(factories.make_dataset())


@pytest.fixture
def study(run):
    return run.study


def make_result(study, dataset, members):
    window = Window.objects.create(study=study, name="Window")
    version = WindowVersion.objects.create(window=window, number=1, yaml="")
    result = WindowResult.objects.create(
        version=version,
        dataset=dataset,
        first="note",
        second="record",
        state=JobState.SUCCEEDED,
    )
    for encounter, (first, second) in members.items():
        WindowMember.objects.create(result=result, encounter=encounter, first=first, second=second)
    return result


def ranked(study, closed=frozenset()):
    rank_study(study)
    return [
        (item.encounter_id, item.uid4, item.reasons, round(item.score, 3))
        for item in find_items(study, closed)
    ]


def test_places_are_ranked_by_their_reasons_and_hours(run, study):
    stay = make_stay(run, [STEADY, MOVED, WIDE, BOTH])
    # 84 h are half of the hours that count twice; 72 h are 3/7 of them.
    assert ranked(study) == [
        (stay.pk, "a003", ["moved", "wide"], round(1 + 72 / 168 + 1.5, 3)),
        (stay.pk, "a001", ["moved"], 1.5),
        (stay.pk, "a002", ["wide"], 1.5),
    ]


def test_members_of_the_newest_result_count_more_than_times(run, study):
    first, second, third = (make_stay(run, [STEADY]) for _ in range(3))
    old = make_result(study, run.dataset, {third: ("yes", "uncertain")})
    WindowMember.objects.filter(result=old).delete()
    WindowMember.objects.create(result=old, encounter=first, first="yes", second="uncertain")
    WindowMember.objects.create(result=old, encounter=second, first="yes", second="no")
    WindowMember.objects.create(result=old, encounter=third, first="no", second="no")
    assert ranked(study) == [
        (first.pk, "", ["uncertain"], 3.0),
        (second.pk, "", ["changed"], 3.0),
    ]


def test_a_member_that_a_person_answered_is_left_out_until_it_is_withdrawn(run, study):
    stay, person = make_stay(run, [STEADY]), factories.make_user(study, Role.CLINICIAN)
    result = make_result(study, run.dataset, {stay: ("yes", "uncertain")})
    window = result.version.window
    for status, expected in (("yes", []), ("", [(stay.pk, "", ["uncertain"], 3.0)])):
        MemberDecision.objects.create(
            window=window, encounter=stay, status=status, reason="seen", by=person
        )
        assert ranked(study) == expected


def test_corrections_that_differ_come_first(run, study):
    stay = make_stay(run, [STEADY, MOVED])
    base = stay.timelines.get(kind="revised")
    occurrence = Occurrence.objects.get(inventory__encounter=stay, uid4="a000")
    for entered in ("1 h", "5 h"):
        person = factories.make_user(study, Role.CLINICIAN)
        what = Corrected(entered=entered, reason="As the nurse wrote.")
        correct(base=base, occurrence=occurrence, what=what, by=person)
    assert ranked(study)[0][1:3] == ("a000", ["disputed"])


def test_the_database_and_python_agree_on_the_score(run, study):
    make_stay(run, [MOVED, WIDE, BOTH])
    rank_study(study)
    hours = {"a000": {Reason.MOVED: 84.0}, "a001": {Reason.WIDE: 84.0}}
    hours["a002"] = {Reason.MOVED: 72.0, Reason.WIDE: 84.0}
    for item in AttentionItem.objects.all():
        assert item.score == pytest.approx(score(hours[item.uid4]))


def test_a_place_that_was_looked_at_comes_back_with_another_reason(run, study):
    stay = make_stay(run, [MOVED])
    person = factories.make_user(study, Role.CLINICIAN)
    rank_study(study)
    mark_looked_at(item=AttentionItem.objects.get(), by=person)
    assert ranked(study) == []
    AttentionItem.objects.update(reasons=["moved", "wide"])
    assert find_items(study, frozenset()).get().encounter == stay


def test_cases_that_are_closed_are_left_out(run, study):
    stay = make_stay(run, [MOVED])
    assert ranked(study, frozenset({stay.pk})) == []


def test_another_study_is_not_ranked(run, study):
    make_stay(run, [MOVED])
    other = make_study_run(factories.make_dataset())
    make_stay(other, [MOVED])
    rank_study(other.study)
    assert not find_items(study, frozenset()).exists()


@pytest.mark.django_db(transaction=True)
def test_the_job_ranks_and_waiting_once_is_enough(run, study):
    make_stay(run, [MOVED])
    first, second = start_ranking(study), start_ranking(study)
    assert first == second
    assert execute_ranking(first.pk) == JobState.SUCCEEDED
    assert find_items(study, frozenset()).count() == 1
    assert execute_ranking(start_ranking(study).pk) == JobState.SUCCEEDED
    assert AttentionRanking.objects.count() == 1


# Rows without an occurrence.

TRANSFUSED = Row("med:packed red blood cells:start", 20.0, "350")


def unexplained(run, *stays):
    found = find_unexplained(run.dataset, stays)
    return [
        (episode.first.kind.name, episode.first.hours, len(episode.rows))
        for stay in stays
        for episode in found.get(stay.pk, ())
    ]


def test_an_important_row_without_an_occurrence_is_offered(run):
    stay = make_stay(run, [STEADY], [TRANSFUSED])
    assert unexplained(run, stay) == [("red cells", 20.0, 1)]
    nearest = find_unexplained(run.dataset, [stay])[stay.pk][0].nearest
    assert nearest.mention == "Fell at home"


@pytest.mark.parametrize(
    ("said", "explained"),
    [
        (Event("Transfused two units", 20.0, 20.0), True),
        (Event("Transfused two units", None, None), True),
        (Event("Transfused two units", 18.0, 17.5), True),
        (Event("Transfused two units", 2.0, 2.0), False),
        (Event("Transfused two units", 2.0, 2.0, record_bounds=(0.0, 24.0)), True),
        (Event("Fever to 39", 20.0, 20.0), False),
        (Event("Improved", 60.0, 60.0, rows=(0,)), True),
    ],
)
def test_what_explains_a_row(run, said, explained):
    stay = make_stay(run, [said], [TRANSFUSED])
    assert (unexplained(run, stay) == []) is explained


def test_rows_of_one_kind_close_in_time_are_one_episode(run):
    rows = [Row("med:packed red blood cells:start", h, "350") for h in (2.0, 20.0, 44.0, 69.0)]
    stay = make_stay(run, [STEADY], rows)
    assert unexplained(run, stay) == [("red cells", 2.0, 3), ("red cells", 69.0, 1)]


def test_a_dismissed_row_is_not_offered_again(run, study):
    stay = make_stay(run, [STEADY], [TRANSFUSED])
    person = factories.make_user(study, Role.CLINICIAN)
    with pytest.raises(DismissalRefused, match="reason"):
        dismiss_row(encounter=stay, row_index=0, kind="red cells", reason=" ", by=person)
    with pytest.raises(DismissalRefused, match="no such row"):
        dismiss_row(encounter=stay, row_index=9, kind="red cells", reason="x", by=person)
    for reason in ("given in theatre", "again"):
        dismiss_row(encounter=stay, row_index=0, kind="red cells", reason=reason, by=person)
    assert unexplained(run, stay) == []
    assert AuditEvent.objects.filter(action="attention.dismiss").count() == 1


def test_a_row_is_copied_into_a_comment_and_names_nobody(run, study):
    person = factories.make_user(study, Role.CLINICIAN, username="anna")
    stay = make_stay(run, [STEADY], [Row("med:red cells:start", 20.0, f"@anna {'x' * 300}")])
    made = comment_on_row(encounter=stay, row_index=0, words="Ask the ward.", by=person)
    first, second = made.body.split("\n")
    assert first.startswith("Row 0 of the record, HD ")
    assert "med:red cells:start, ＠anna xxx" in first
    assert first.endswith("x…. No occurrence of the study timeline explains it.")
    assert (second, made.occurrence, made.author) == ("Ask the ward.", None, person)
    assert not Mention.objects.exists()
    assert AuditEvent.objects.filter(action="case.comment", actor=person).count() == 1
    assert Occurrence.objects.filter(inventory__encounter=stay).count() == 1
    with pytest.raises(DismissalRefused, match="no such row"):
        comment_on_row(encounter=stay, row_index=9, words="", by=person)


def test_stays_without_such_series_or_closed_are_not_searched(run):
    stay, _ = make_stay(run, [STEADY], [TRANSFUSED]), make_stay(run, [STEADY])
    assert list(find_stays(run.dataset, frozenset())) == [stay]
    assert list(find_stays(run.dataset, frozenset({stay.pk}))) == []


# Pages.


def test_pages_show_places_rows_and_reasons(run, study, client):
    stay = make_stay(run, [Event("<b>Fever</b> began", 0.0, 84.0)], [TRANSFUSED])
    person = factories.make_user(study, Role.CLINICIAN)
    client.force_login(person)
    assert b"Not ranked yet" in client.get(reverse("cohorts:attention")).content
    rank_study(study)
    AttentionRanking.objects.create(
        study=study, state=JobState.SUCCEEDED, finished_at=timezone.now()
    )
    page = client.get(reverse("cohorts:attention")).content.decode()
    assert "&lt;b&gt;Fever&lt;/b&gt; began" in page
    assert "Moved a day or more by the record" in page
    assert AuditEvent.objects.filter(action="cohort.case", object_id=stay.public_id).exists()
    rows = client.get(reverse("cohorts:unexplained")).content.decode()
    assert "med:packed red blood cells:start" in rows
    dismiss = reverse("cohorts:unexplained_dismiss", args=[stay.public_id, 0])
    client.post(dismiss, {"kind": "red cells", "reason": "in theatre"})
    assert b"No such rows here" in client.get(reverse("cohorts:unexplained")).content
    item = AttentionItem.objects.get()
    client.post(reverse("cohorts:attention_look", args=[item.pk]))
    assert b"Nothing needs a look" in client.get(reverse("cohorts:attention")).content


def test_the_comment_is_shown_on_the_case_page_and_the_row_stays(run, study, client):
    stay = make_stay(run, [STEADY], [TRANSFUSED])
    client.force_login(factories.make_user(study, Role.CLINICIAN))
    case = reverse("timelines:case", args=[stay.public_id])
    assert b"on the whole case" not in client.get(case).content
    address = reverse("cohorts:unexplained_comment", args=[stay.public_id, 0])
    answer = client.post(address, {"words": "Given <b>where</b>?"}, follow=True)
    assert "med:packed red blood cells:start" in answer.content.decode()
    page = client.get(case).content.decode()
    assert "1 comment on the whole case" in page
    assert "Row 0 of the record" in page
    assert "Given &lt;b&gt;where&lt;/b&gt;?" in page
    client.post(address, {"words": "x" * 4001})
    assert Comment.objects.count() == 1
