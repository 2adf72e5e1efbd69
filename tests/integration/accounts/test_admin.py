"""The admin site is for superusers alone and shows only.

No address of it writes without an action.
"""

from collections.abc import Iterator
from io import StringIO

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from accounts.actions import set_active
from accounts.admin_site.site import ReadOnly
from accounts.audit.trail import record
from accounts.models import AuditEvent, Membership, Role, User
from accounts.permissions import NotAllowed
from tests.integration.site.matrix.world import make_world

pytestmark = pytest.mark.django_db

PAGES = [
    "/admin/",
    "/admin/accounts/user/",
    "/admin/accounts/study/",
    "/admin/accounts/auditevent/",
]
#: What the library itself writes for a signed-in person.
SESSION = (
    'UPDATE "django_session"',
    'INSERT INTO "django_session"',
    'DELETE FROM "django_session"',
)


@pytest.mark.parametrize("address", PAGES)
def test_superusers_alone(client, address):
    world = make_world()
    User.objects.filter(username="admin-person").update(is_staff=True)
    for person in ("clinician", "reviewer", "admin", "outsider", "nobody"):
        client.force_login(world.people[person])
        assert client.get(address, follow=True).status_code == 403, person
    client.force_login(world.people["superuser"])
    assert client.get(address).status_code == 200


def admin_patterns(
    patterns: list[URLPattern | URLResolver] | None = None, inside: bool = False
) -> Iterator[URLPattern]:
    """Every pattern of the admin site."""
    for pattern in patterns or get_resolver().url_patterns:
        if isinstance(pattern, URLResolver):
            inside_now = inside or pattern.namespace == "admin"
            yield from admin_patterns(pattern.url_patterns, inside_now)
        elif inside:
            yield pattern


def writes(captured: CaptureQueriesContext) -> list[str]:
    """Statements that change rows, but for the session."""
    changing = ("INSERT", "UPDATE", "DELETE", "TRUNCATE")
    return [
        q["sql"]
        for q in captured
        if q["sql"].startswith(changing) and not q["sql"].startswith(SESSION)
    ]


def test_no_address_of_it_writes(client):
    world = make_world()
    event = record(actor=None, study=world.study, action="case.open")
    membership = Membership.objects.filter(study=world.study).first()
    objects = {
        "user": world.people["nobody"],
        "study": world.study,
        "auditevent": event,
        "membership": membership,
    }
    form = {
        "username": "changed", "name": "changed", "action": "delete_selected", "_selected_action": [str(world.people["nobody"].pk)],
        "password1": "Fifteen-Beige-Lampposts", "password2": "Fifteen-Beige-Lampposts", "usable_password": "true", "post": "yes",
        "memberships-TOTAL_FORMS": "1", "memberships-INITIAL_FORMS": "0", "memberships-0-user": str(world.people["nobody"].pk),
        "memberships-0-role": Role.REVIEWER.value, "is_superuser": "on",
    }  # fmt: skip
    client.force_login(world.people["superuser"])
    asked = 0
    for pattern in admin_patterns():
        names = list(pattern.pattern.converters) or list(pattern.pattern.regex.groupindex)
        if pattern.name in (None, "logout", "view_on_site", "app_list"):
            continue
        assert len(names) <= 1, pattern.name
        model = pattern.name.split("_")[1] if names else ""
        kwargs = {name: str(objects[model].pk if model in objects else 1) for name in names}
        for method in ("get", "post"):
            with CaptureQueriesContext(
                connection,
            ) as captured:
                answer = getattr(client, method)(
                    reverse(f"admin:{pattern.name}", kwargs=kwargs),
                    form if method == "post" else {},
                )
            assert writes(captured) == [], f"{method} {pattern.name}: {answer.status_code}"
            assert answer["Cache-Control"] == "no-store"
            asked += 1
    assert asked > 30


def test_only_read_only_pages_are_registered():
    assert all(isinstance(page, ReadOnly) for page in admin.site._registry.values())
    assert all(
        issubclass(inline, ReadOnly)
        for page in admin.site._registry.values()
        for inline in page.inlines
    )
    assert Group not in admin.site._registry


def test_a_page_that_could_change_rows_is_not_registered():
    admin.site.register(Membership, admin.ModelAdmin)
    assert Membership not in admin.site._registry


def test_the_passwords_of_others_have_no_page_and_ones_own_the_usual_one(client):
    world = make_world()
    client.force_login(world.people["superuser"])
    assert client.post(
        f"/admin/accounts/user/{world.people['nobody'].pk}/password/", {"password1": "x"}
    ).status_code in (302, 404)
    for method in (client.get, client.post):
        assert method("/admin/password_change/")["Location"] == reverse("accounts:password_change")


def test_accounts_are_deactivated_there_through_the_action(client):
    world = make_world()
    person, root = world.people["clinician"], world.people["superuser"]
    theirs = Client()
    theirs.force_login(person)
    client.force_login(root)
    for name, active in (("deactivate", False), ("activate", True)):
        client.post(
            "/admin/accounts/user/",
            {"action": name, "_selected_action": [str(person.pk), str(root.pk)]},
        )
        person.refresh_from_db()
        assert person.is_active is active
        assert AuditEvent.objects.get(action=f"account.{name}").object_id == person.public_id
        assert (theirs.get("/").status_code == 200) is active
    root.refresh_from_db()
    assert root.is_active, "nobody deactivates their own account"


def test_superusers_and_admins_of_all_the_persons_studies_deactivate(client):
    world = make_world()
    clinician, both = world.people["clinician"], world.people["two_studies"]
    for person, by in (
        (clinician, "clinician"),  # oneself
        (clinician, "outsider"),
        (both, "admin"),  # an admin of one of their two studies
        (world.people["superuser"], "admin"),
        (world.people["nobody"], "admin"),
    ):
        with pytest.raises(NotAllowed):
            set_active(user=person, active=False, by=world.people[by])
    assert set_active(user=clinician, active=False, by=world.people["admin"])
    assert set_active(user=clinician, active=True, by=None)
    assert set_active(user=world.people["clinician"], active=False, by=None)
    assert not set_active(user=world.people["clinician"], active=False, by=None)


def test_djangos_own_commands_are_in_the_trail_too(monkeypatch):
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "Fifteen-Beige-Lampposts")
    call_command(
        "createsuperuser",
        "--no-input",
        "--username",
        "root",
        "--email",
        "root@example.org",
        verbosity=0,
    )
    monkeypatch.setattr("getpass.getpass", lambda prompt: "Sixteen-Beige-Lampposts")
    call_command("changepassword", "root", stdout=StringIO())
    root = User.objects.get(username="root")
    assert root.check_password("Sixteen-Beige-Lampposts")
    events = (
        AuditEvent.objects.filter(object_id=root.public_id)
        .order_by("pk")
        .values_list("action", flat=True)
    )
    assert list(events) == ["account.create_superuser", "account.reset_password"]
