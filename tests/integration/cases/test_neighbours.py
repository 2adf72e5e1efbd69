"""Next and previous follow the list that the person came from."""

from datetime import timedelta
from itertools import pairwise

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.test import RequestFactory
from django.urls import reverse

from accounts.models import Role
from tests import factories
from tests.worlds.authored import make_draft
from timelines.cases.listing import SORTS, CaseFilter, find_cases
from timelines.cases.neighbours import MAX_IDS, SESSION_KEY, neighbours

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return factories.make_study()


@pytest.fixture
def web(client, study):
    """Asks for an address as a clinician of the study."""
    client.force_login(factories.make_user(study, Role.CLINICIAN, username="reader"))
    return client


@pytest.fixture
def cases(study):
    """Two cohorts with equal values in every column."""
    made = []
    for cohort in range(2):
        dataset = factories.make_dataset(study)
        for n in range(6):
            case = factories.make_encounter(
                dataset,
                case_id=f"case-{n}",
                title="Stroke" if n % 2 else "Sepsis",
                admitted_at=factories.ADMITTED + timedelta(days=n % 3),
                stay_hours=None if n == 4 else 24.0 * (n % 2 + 1),
            )
            case.row_count = cohort
            case.save()
            made.append(case)
    return made


def ask(web, encounter):
    """Return the neighbours that the case page of this session gets."""
    request = RequestFactory().get("/")
    request.user = factories.User.objects.get(username="reader")
    request.session = SessionStore(session_key=web.session.session_key)
    return neighbours(request, encounter)


def walk(web, cases):
    """Follow next to the last case; check that previous leads back."""
    by_id = {case.public_id: case for case in cases}
    (current,) = [c.public_id for c in cases if ask(web, c)[0] is None]
    order = [current]
    while (current := ask(web, by_id[order[-1]])[1]) is not None:
        order.append(current)
    assert all(ask(web, by_id[right])[0] == left for left, right in pairwise(order))
    return order


@pytest.mark.parametrize("sort", sorted(SORTS))
def test_next_and_previous_walk_the_list_in_each_order(web, study, cases, sort):
    assert web.get(reverse("timelines:cases"), {"sort": sort}).status_code == 200
    listed = find_cases(study, CaseFilter(sort=sort)).values_list("public_id", flat=True)
    assert walk(web, cases) == list(listed)


def test_they_stay_within_the_filter_and_leave_out_closed_cases(web, cases):
    assert walk(web, cases) == [
        c.public_id for c in sorted(cases, key=lambda c: (c.case_id, c.pk))
    ]  # no list yet
    cohort = cases[0].dataset
    web.get(reverse("timelines:cases"), {"dataset": cohort.public_id, "sort": "-case"})
    factories.make_note(cases[3], "Fell at home.")
    make_draft(cases[3], factories.User.objects.get(username="reader"))
    opened = [c for c in cases if c.dataset == cohort and c != cases[3]]
    assert walk(web, opened) == [c.public_id for c in reversed(opened)]
    outside = cases[-1]
    assert ask(web, outside) == (cases[5].public_id, None)  # not in the list: all cases


def test_a_list_found_by_words_is_walked_without_storing_the_words(web, study, cases):
    web.post(reverse("timelines:cases"), {"text": "strok", "sort": "-case"})
    found = [c for c in cases if c.title == "Stroke"]
    assert walk(web, found) == [
        c.public_id for c in sorted(found, key=lambda c: (c.case_id, c.pk), reverse=True)
    ]
    assert "strok" not in str(dict(web.session)).lower()
    dataset = factories.make_dataset(study)
    for n in range(MAX_IDS + 1):
        factories.make_encounter(dataset, case_id=f"many-{n:04}", title="Many")
    web.post(reverse("timelines:cases"), {"text": "many"})
    assert len(web.session[SESSION_KEY]["ids"]) == MAX_IDS


def test_a_case_of_another_study_has_the_neighbours_of_its_own_study(web, cases):
    web.get(reverse("timelines:cases"), {"dataset": cases[0].dataset.public_id})
    elsewhere = factories.make_encounter()
    assert ask(web, elsewhere) == (None, None)


def test_the_palette_finds_cases_by_id_and_title(web, study, cases):
    def found(text):
        answer = web.post(reverse("timelines:case_find"), {"text": text})
        return [(line["url"], line["label"], line["detail"]) for line in answer.json()]

    factories.make_encounter(title="Stroke elsewhere")
    closed = factories.make_encounter(cases[0].dataset, case_id="zz-1", title="Stroke, closed")
    factories.make_note(closed, "Fell at home.")
    make_draft(closed, factories.User.objects.get(username="reader"))
    first = factories.make_encounter(cases[0].dataset, case_id="xcase-1", title="Stroke")
    assert [label for _, label, _ in found(" sTROk ")] == ["Stroke"] * 7
    assert [detail.split(" · ")[0] for *_, detail in found("case-1")] == ["case-1"] * 2 + [
        "xcase-1"
    ]
    assert found("xcase")[0][0] == reverse("timelines:case", args=[first.public_id])
    assert found("") == found("zz-1") == found("nothing") == []
    factories.Encounter.objects.filter(dataset=cases[0].dataset).update(title="Stroke")
    for n in range(30):
        factories.make_encounter(cases[0].dataset, case_id=f"many-{n:04}", title="Many")
    assert len(found("many")) == 20
