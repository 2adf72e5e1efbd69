"""A person is erased: nothing names them, their id stays in the trail."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts.actions import LastAdmin, add_role
from accounts.api_access.tokens import issue_token
from accounts.audit.chain import chain_faults
from accounts.audit.trail import record
from accounts.membership.erasure import erase_account
from accounts.models import ApiToken, AuditEvent, Membership, Notification, Role, User
from accounts.permissions import NotAllowed
from tests import factories
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def person() -> User:
    """A clinician with a name, a token, a notification and a session."""
    study = factories.make_study()
    user = factories.make_user(study, Role.CLINICIAN, username="vega")
    User.objects.filter(pk=user.pk).update(
        first_name="Vera", last_name="Gamma", email="v@example.org"
    )
    user.refresh_from_db()
    issue_token(user=user, label="notebook", by=None)
    Notification.objects.create(recipient=user, study=study, kind="mentioned", path="/", name="x")
    record(actor=user, study=study, action="case.open", object_type="ehr.encounter", object_id="k7")
    return user


def test_nothing_names_an_erased_person_and_the_trail_stays_whole(person, client):
    client.force_login(person)
    assert client.get("/").status_code == 200
    events = AuditEvent.objects.filter(actor=person).count()
    gone = erase_account(user=person, by=None)
    assert gone["accounts_membership"] == gone["accounts_apitoken"] == 1
    assert gone["accounts_notification"] == 1
    person.refresh_from_db()
    assert person.username == f"erased-{person.public_id}"
    assert (person.first_name, person.last_name, person.email) == ("", "", "")
    assert not person.is_active
    assert not person.check_password(PASSWORD)
    assert not ApiToken.objects.exists()
    assert not Membership.objects.filter(user=person).exists()
    assert client.get("/").status_code == 302
    assert AuditEvent.objects.filter(actor=person).count() == events
    erased = AuditEvent.objects.get(action="account.erase")
    assert (erased.object_id, erased.detail) == (person.public_id, {"rows": 3})
    assert chain_faults() == []


def test_only_another_superuser_erases(person):
    study = Membership.objects.get(user=person).study
    admin = factories.make_user(study, Role.ADMIN)
    root = factories.make_user()
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    root.refresh_from_db()
    for user, by in ((person, admin), (person, person), (root, root)):
        with pytest.raises(NotAllowed, match="another superuser"):
            erase_account(user=user, by=by)
    erase_account(user=person, by=root)
    assert AuditEvent.objects.get(action="account.erase").actor == root


def test_the_last_admin_of_a_study_gives_the_role_away_first(person):
    study = Membership.objects.get(user=person).study
    add_role(study=study, user=person, role=Role.ADMIN, by=None)
    with pytest.raises(LastAdmin):
        erase_account(user=person, by=None)
    person.refresh_from_db()
    assert (person.username, person.is_active) == ("vega", True)
    with pytest.raises(CommandError, match="Give the role to another person first"):
        call_command("erase_account", "vega", confirm="vega")
    factories.make_user(study, Role.ADMIN)
    erase_account(user=person, by=None)


def test_the_command_asks_for_the_name_twice(person):
    for name, confirm, words in (
        ("nobody", "nobody", "no person of that user name"),
        ("vega", "lyra", "Nothing was erased"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("erase_account", name, confirm=confirm)
    out = StringIO()
    call_command("erase_account", "vega", confirm="vega", stdout=out)
    assert "accounts_apitoken: 1 deleted" in out.getvalue()
    assert f"the audit trail names the person as {person.public_id}" in out.getvalue()
