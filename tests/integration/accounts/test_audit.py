"""The audit trail: no changes, and admins read their study's part.

The database refuses every change.
"""

import pytest
from django.db import IntegrityError, connection, transaction

from accounts import registry
from accounts.actions import add_role, create_study
from accounts.audit.trail import AuditFilter, find_events, record
from accounts.models import AuditEvent, Role, User

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(db):
    return create_study(name="Cohort", by=None)


@pytest.fixture
def admin(study):
    user = User.objects.create(username="admin")
    add_role(study=study, user=user, role=Role.ADMIN, by=None)
    return user


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_auditevent SET action = 'other'",
        "UPDATE accounts_auditevent SET action = 'other' WHERE false",
        "DELETE FROM accounts_auditevent",
        "TRUNCATE accounts_auditevent",
        "TRUNCATE accounts_study CASCADE",
    ],
)
def test_the_database_refuses_to_change_the_trail(study, statement):
    event = record(actor=None, study=study, action="case.open")
    with connection.cursor() as cursor:
        # The test session switches this one off to empty the tables between tests; here it is as in
        # every other database.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE accounts_auditevent ENABLE TRIGGER accounts_audit_no_truncate")
    with (
        pytest.raises(IntegrityError, match="append-only"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
    assert AuditEvent.objects.get(pk=event.pk).action == "case.open"


def test_the_orm_is_refused_too(study):
    event = record(actor=None, study=study, action="case.open")
    event.action = "case.close"
    with pytest.raises(IntegrityError), transaction.atomic():
        event.save()
    with pytest.raises(IntegrityError), transaction.atomic():
        event.delete()


@pytest.mark.parametrize("action", ["Case.open", "case open", "", "case.", "patient/1"])
def test_an_action_is_dotted_lower_case_words(action):
    with pytest.raises(ValueError, match="dotted lower-case"):
        record(actor=None, study=None, action=action)


@pytest.mark.parametrize("detail", [{"note": "x" * 201}, {"rows": [1, 2]}, {"nested": {"a": 1}}])
def test_a_detail_holds_no_text_worth_hiding(detail):
    with pytest.raises(ValueError, match="detail"):
        record(actor=None, study=None, action="case.open", detail=detail)


def test_the_page_shows_the_study_and_the_sign_ins_of_its_members_alone(client, study, admin):
    stranger, other = User.objects.create(username="stranger"), create_study(name="Other", by=None)
    record(
        actor=admin, study=study, action="case.open", object_type="ehr.encounter", object_id="abcd"
    )
    record(actor=admin, study=None, action="session.sign_in")
    record(actor=stranger, study=None, action="session.sign_in_failed")
    record(actor=stranger, study=other, action="case.export")
    client.force_login(admin)
    page = client.get("/audit-trail/")
    actions = [event.action for event in page.context["page"].object_list]
    assert actions[:3] == ["session.sign_in", "session.sign_in", "case.open"]
    assert "session.sign_in_failed" not in actions
    assert "case.export" not in page.text
    assert "abcd" in page.text


def test_the_page_filters_by_person_and_action(study, admin):
    other = User.objects.create(username="other")
    for actor, action in ((admin, "case.open"), (other, "case.open"), (other, "case.export")):
        record(actor=actor, study=study, action=action)
    mine = find_events(study, AuditFilter(person=admin.public_id, action="case.open"))
    assert [(event.actor, event.action) for event in mine] == [(admin, "case.open")]
    assert find_events(study, AuditFilter(action="case.open")).count() == 2
    assert find_events(study, AuditFilter(person=other.public_id)).count() == 2


def test_events_of_closed_cases_are_left_out(client, study, admin, monkeypatch):
    monkeypatch.setattr(registry, "_page_guards", {})
    admin.is_superuser = True
    admin.save()
    other = User.objects.create(username="other", is_superuser=True)
    add_role(study=study, user=other, role=Role.ADMIN, by=None)
    registry.register_page_guard(
        lambda *asked: None, lambda who, kind: {"shut"} if who == admin else set(), ["case"]
    )
    record(actor=other, study=study, action="case.correct", object_id="shut")
    record(actor=other, study=study, action="draft.start", object_id="d1", detail={"case": "shut"})
    record(actor=other, study=study, action="draft.start", object_id="d2", detail={"case": "open"})
    record(actor=other, study=study, action="case.open", object_id="open")
    shut = AuditEvent.objects.get(action="case.correct")
    for person, expected in ((admin, {"d2", "open"}), (other, {"d1", "d2", "open", "shut"})):
        client.force_login(person)
        page = client.get("/audit-trail/")
        assert {e.object_id for e in page.context["page"].object_list} & {
            "d1",
            "d2",
            "open",
            "shut",
        } == expected
        assert ("case.correct" in page.text) is (person == other)
        listed = client.get("/admin/accounts/auditevent/").text
        assert ("case.correct" in listed) is (person == other)
        opened = client.get(f"/admin/accounts/auditevent/{shut.pk}/change/")
        assert opened.status_code == (200 if person == other else 302)


def test_the_page_is_paginated_with_the_filter_kept(client, study, admin):
    for _ in range(60):
        record(actor=admin, study=study, action="case.open")
    client.force_login(admin)
    first = client.get("/audit-trail/?action=case.open")
    assert len(first.context["page"].object_list) == 50
    assert "?action=case.open&amp;page=2" in first.text
    second = client.get("/audit-trail/?action=case.open&page=2")
    assert len(second.context["page"].object_list) == 10


def test_a_user_name_is_shown_as_text(client, study, admin):
    User.objects.filter(pk=admin.pk).update(username="<b>admin</b>")
    client.force_login(admin)
    assert "<b>admin</b>" not in client.get("/audit-trail/").text


def test_twice_as_many_events_take_no_more_queries(
    client, study, admin, django_assert_max_num_queries
):
    for _ in range(40):
        record(actor=admin, study=study, action="case.open")
    client.force_login(admin)
    with django_assert_max_num_queries(19):
        client.get("/audit-trail/")
