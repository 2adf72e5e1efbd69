"""The admin site opens to superusers alone, and the trail cannot be edited there."""

import pytest

from accounts.audit import record
from accounts.models import Role, User
from tests.integration.matrix.world import make_world

pytestmark = pytest.mark.django_db

PAGES = ["/admin/", "/admin/accounts/user/", "/admin/accounts/study/", "/admin/accounts/auditevent/"]


@pytest.mark.parametrize("address", PAGES)
def test_superusers_alone(client, address):
    world = make_world()
    User.objects.filter(username="admin-person").update(is_staff=True)
    for person in ("clinician", "reviewer", "admin", "outsider", "nobody"):
        client.force_login(world.people[person])
        assert client.get(address, follow=True).status_code == 403, person
    client.force_login(world.people["superuser"])
    assert client.get(address).status_code == 200


def test_the_trail_is_read_only_there(client):
    world = make_world()
    event = record(actor=None, study=world.study, action="case.open")
    client.force_login(world.people["superuser"])
    assert client.get(f"/admin/accounts/auditevent/{event.pk}/change/").status_code == 200
    assert client.get("/admin/accounts/auditevent/add/").status_code == 403
    assert client.post(f"/admin/accounts/auditevent/{event.pk}/change/", {"action": "other"}).status_code == 403
    assert client.post(f"/admin/accounts/auditevent/{event.pk}/delete/", {"post": "yes"}).status_code == 403


def test_a_membership_made_there_puts_the_person_into_the_group(client):
    world = make_world()
    client.force_login(world.people["superuser"])
    form = {
        "name": world.study.name,
        "memberships-TOTAL_FORMS": "1",
        "memberships-INITIAL_FORMS": "0",
        "memberships-0-user": str(world.people["nobody"].pk),
        "memberships-0-role": Role.REVIEWER.value,
    }
    assert client.post(f"/admin/accounts/study/{world.study.pk}/change/", form).status_code == 302
    assert world.people["nobody"].groups.filter(name="reviewer").exists()
