"""People who could review a case are asked once before they see it."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from adjudication.access.asking import ACCEPTED
from adjudication.access.eligibility import find_ineligibility_reasons
from adjudication.models import Assignment
from adjudication.packets import actions as packets
from adjudication.packets.candidates import find_candidates
from tests import factories
from tests.worlds.authored import make_draft
from tests.worlds.judged import make_case
from tests.worlds.reviewing import Review, add_reviewer, draw_review

pytestmark = pytest.mark.django_db(transaction=True)
QUESTION = "Opening this case means that you cannot review it in packet “First packet”."


@pytest.fixture
def review() -> Review:
    return draw_review(cases=2)


def ask(client: Client, path: str, **headers: str) -> tuple[int, bool]:
    """Return the status, and whether the answer asks."""
    answer = client.get(path, headers=headers)
    return answer.status_code, "review/open-anyway/" in answer.content.decode()


ASKED, REFUSED, SHOWN = (403, True), (403, False), (200, False)


@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("clinician", ASKED),
        ("clinician and admin", ASKED),
        ("reviewer and admin", ASKED),
        ("admin alone", SHOWN),
        ("assigned", REFUSED),
        ("withdrawn", ASKED),
        ("has seen it", SHOWN),
        ("has seen another case of the packet", SHOWN),
        ("has seen a case without timelines", ASKED),
        ("author", SHOWN),
        ("author of another case", SHOWN),
        ("packet closed", SHOWN),
        ("case of no packet", SHOWN),
        ("another import of the stay", ASKED),
        ("another import without timelines", SHOWN),
    ],
)
def test_who_is_asked(review, client, who, expected):
    roles = {
        "clinician and admin": (Role.CLINICIAN, Role.ADMIN),
        "reviewer and admin": (Role.REVIEWER, Role.ADMIN),
        "admin alone": (Role.ADMIN,),
    }.get(who, (Role.CLINICIAN,))
    person = factories.make_user(review.study, *roles)
    first, second = review.world.encounters
    shown = first
    seen = {"has seen it": first, "has seen another case of the packet": second}.get(who)
    if seen is not None or who == "has seen a case without timelines":
        AuditEvent.objects.create(
            actor=person, study=review.study, action="case.open", object_type="ehr.encounter",
            object_id=(seen or first).public_id, detail={"timelines": seen is not None},
        )  # fmt: skip
    match who:
        case "assigned" | "withdrawn":
            made = packets.assign(packet=review.packet, person=person, by=review.admin)
            if who == "withdrawn":
                packets.withdraw_assignment(assignment=made, by=review.admin)
        case "author" | "author of another case":
            make_draft(first if who == "author" else second, person, "assisted")
        case "packet closed":
            add_reviewer(review)
            packets.open_packet(packet=review.packet, by=review.admin)
            packets.close_packet(packet=review.packet, by=review.admin)
        case "case of no packet":
            shown = make_case(review.world.dataset, "elsewhere")
        case "another import of the stay":
            shown = make_case(factories.make_dataset(review.study, "again"), first.case_id)
        case "another import without timelines":
            again = factories.make_dataset(review.study, "again")
            shown = factories.make_encounter(again, case_id=first.case_id)
            factories.make_note(shown, first.notes.get().text)
    client.force_login(person)
    assert ask(client, f"/cases/{shown.public_id}/") == expected
    exposed = AuditEvent.objects.filter(actor=person, action="case.open", detail__timelines=True)
    assert exposed.filter(object_id=shown.public_id).exists() is (
        who == "has seen it" or (expected is SHOWN and "without timelines" not in who)
    )


@pytest.mark.parametrize("opened", [False, True])
def test_an_answer_is_stored_and_the_question_is_not_asked_again(review, client, opened):
    if opened:
        add_reviewer(review)
        packets.open_packet(packet=review.packet, by=review.admin)
    person = factories.make_user(review.study, Role.CLINICIAN)
    first, second = (e.public_id for e in review.world.encounters)
    client.force_login(person)
    page = client.get(f"/cases/{first}/", headers={"Referer": "http://testserver/cases/"})
    text = page.content.decode()
    assert QUESTION in text
    assert 'href="/cases/"' in text
    # Nothing that would unblind: no source, no word of the note, no number of timelines.
    sources = {t.source for e in review.world.encounters for t in e.timelines.all()}
    assert sources
    assert not [s for s in sources if s in text]
    assert find_ineligibility_reasons(person, review.packet) == []

    answer = {"case": first, "next": f"/cases/{first}/?t="}
    went = client.post(reverse("adjudication:open_anyway"), answer)
    assert (went.status_code, went["Location"]) == (302, f"/cases/{first}/?t=")
    # The answer alone exposes nobody: the page was not shown.
    assert find_ineligibility_reasons(person, review.packet) == []
    assert ask(client, f"/cases/{second}/") == ASKED
    assert ask(client, f"/cases/{first}/") == SHOWN
    assert find_ineligibility_reasons(person, review.packet)
    for path in (f"/cases/{first}/", f"/cases/{second}/", f"/cases/{second}/compare/"):
        assert ask(client, path) == SHOWN
    client.post(reverse("adjudication:open_anyway"), answer)
    stored = AuditEvent.objects.filter(action=ACCEPTED)
    assert [(e.actor, e.object_type, e.object_id) for e in stored] == [
        (person, "ehr.encounter", first)
    ]


def test_partials_and_programs_get_a_refusal_that_says_so(review, client):
    person = factories.make_user(review.study, Role.CLINICIAN)
    client.force_login(person)
    first = review.world.encounters[0].public_id
    for headers in ({"HX-Request": "true"}, {"Sec-Fetch-Mode": "cors"}):
        answer = client.get(f"/cases/{first}/", headers=headers)
        assert answer.status_code == 403
        assert QUESTION in answer.content.decode()
        assert "open-anyway" not in answer.content.decode()
    answer = client.get(f"/api/cases/{first}/comparison/")
    assert answer.status_code == 403
    assert answer.json()["code"] == "ask_first"
    assert QUESTION in answer.json()["detail"]


def test_a_list_asks_about_its_packets_once(review, client):
    """The answer about one case of each packet is enough."""
    person = factories.make_user(review.study, Role.CLINICIAN)
    client.force_login(person)
    page = f"/adjudication/runs/{review.world.run.public_id}/findings/"
    text = client.get(page).content.decode()
    assert "Opening these cases means that you cannot review them in packet “First packet”." in text
    assert text.count('name="case"') == 1
    first = review.world.encounters[0].public_id
    client.post(reverse("adjudication:open_anyway"), {"case": first, "next": page})
    assert ask(client, page) == SHOWN


@pytest.mark.parametrize(
    "target",
    ["https://example.org/", "//example.org/", "javascript:alert(1)", "\\\\example.org", ""],
)
def test_an_answer_goes_on_to_pages_of_ours_only(review, client, target):
    client.force_login(factories.make_user(review.study, Role.CLINICIAN))
    case = review.world.encounters[0].public_id
    went = client.post(reverse("adjudication:open_anyway"), {"case": case, "next": target})
    assert went["Location"] == "/"


def test_an_answer_about_a_case_of_another_study_is_not_found(review, client):
    stranger = factories.make_user(factories.make_study("Other"), *Role)
    client.force_login(stranger)
    case = review.world.encounters[0].public_id
    assert client.post(reverse("adjudication:open_anyway"), {"case": case}).status_code == 404
    assert not AuditEvent.objects.filter(action=ACCEPTED).exists()


def test_the_packet_page_lists_who_is_eligible_and_why_others_are_not(review, client):
    fresh, author = (
        factories.make_user(review.study, Role.CLINICIAN, username=name) for name in ("ada", "bo")
    )
    make_draft(review.world.encounters[0], author)
    mine = add_reviewer(review, username="cy")
    client.force_login(review.admin)
    text = client.get(f"/packets/{review.packet.public_id}/").content.decode()
    lines = {line.person.username: line for line in find_candidates(review.packet)}
    assert lines["ada"].eligible
    assert lines["cy"].assigned
    assert not lines["cy"].reasons
    assert lines["bo"].reasons == ("They author a timeline of 1 case of the packet.",)
    assert "They author a timeline of 1 case of the packet." in text
    assert f'<option value="{fresh.public_id}">ada</option>' in text
    assert f'<option value="{author.public_id}" disabled>bo (not eligible)</option>' in text
    with pytest.raises(NotAllowed):
        packets.assign(packet=review.packet, person=author, by=review.admin)
    assert Assignment.objects.get(packet=review.packet).pk == mine.pk
