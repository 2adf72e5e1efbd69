"""Studies, roles, groups, scoping, the members' page and commands.

The commands are those that make accounts.
"""

from io import StringIO

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management import CommandError, call_command
from django.http import Http404
from django.test import Client
from django.urls import resolve

from accounts import registry
from accounts.actions import (
    AccountExists,
    LastAdmin,
    add_role,
    create_account,
    create_study,
    remove_role,
    reset_password,
)
from accounts.ids import new_public_id
from accounts.models import AuditEvent, Membership, Role, Study, User
from accounts.permissions import (
    NotAllowed,
    check_user_can_open,
    check_user_has_role,
    find_roles,
    user_can_manage_study,
    user_can_open_cases,
)
from accounts.registry import Card, Link, NavItem
from accounts.requests.context_processors import nav_links
from accounts.scoping import ANY_ROLE, filter_by_role, find_studies

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(db):
    return create_study(name="Cohort", by=None)


@pytest.fixture
def member(study):
    def make(name: str, *roles: Role, of: Study = study) -> User:
        user, _ = User.objects.get_or_create(username=name)
        for role in roles:
            add_role(study=of, user=user, role=role, by=None)
        return user

    return make


# Groups follow memberships.


def test_the_three_groups_exist_after_migrate():
    assert set(Group.objects.values_list("name", flat=True)) == {
        "clinician",
        "reviewer",
        "study admin",
    }


def test_groups_follow_memberships_by_whatever_way_they_change(study, member):
    user = member("ada", Role.CLINICIAN, Role.ADMIN)
    assert set(user.groups.values_list("name", flat=True)) == {"clinician", "study admin"}
    other = create_study(name="Other", by=None)
    add_role(study=other, user=user, role=Role.CLINICIAN, by=None)
    Membership.objects.filter(study=study, role=Role.CLINICIAN).delete()
    assert user.groups.filter(name="clinician").exists()  # still one in the other study
    Membership.objects.get(study=other, user=user).delete()
    assert set(user.groups.values_list("name", flat=True)) == {"study admin"}


def test_groups_of_other_origin_stay(member):
    user = member("ada")
    user.groups.add(Group.objects.create(name="statisticians"))
    member("ada", Role.REVIEWER)
    assert set(user.groups.values_list("name", flat=True)) == {"statisticians", "reviewer"}


# Rules.


def test_roles_count_in_their_own_study_alone(study, member):
    other = create_study(name="Other", by=None)
    user = member("ada", Role.ADMIN)
    assert (find_roles(user, study), find_roles(user, other)) == (
        frozenset({Role.ADMIN}),
        frozenset(),
    )
    assert user_can_manage_study(user, study)
    assert not user_can_manage_study(user, other)


def test_a_refusal_says_why(study, member):
    with pytest.raises(NotAllowed, match="not a member"):
        check_user_has_role(member("stranger"), study, Role.ADMIN)
    with pytest.raises(NotAllowed, match="needs the role clinician or study admin"):
        check_user_has_role(member("rev", Role.REVIEWER), study, Role.CLINICIAN, Role.ADMIN)
    check_user_has_role(member("rev"), study)


def test_cases_are_for_clinicians_and_admins(study, member):
    allowed = {role: user_can_open_cases(member(role.value, role), study) for role in Role}
    assert allowed == {Role.CLINICIAN: True, Role.REVIEWER: False, Role.ADMIN: True}


def test_the_inactive_and_the_superuser_without_membership_have_no_role(study, member):
    gone = member("gone", Role.ADMIN)
    gone.is_active = False
    assert find_roles(gone, study) == frozenset()
    assert not find_studies(gone).exists()
    root = User.objects.create(username="root", is_superuser=True)
    assert not user_can_open_cases(root, study)
    assert not find_studies(root).exists()


def test_a_page_guard_can_veto_an_object(study, member, monkeypatch):
    monkeypatch.setattr(registry, "_page_guards", {})
    user = member("ada", Role.CLINICIAN)
    words = "It would unblind a packet of yours."
    registry.register_page_guard(
        lambda user, kind, key: words if key == "blinded" else None,
        lambda user, kind: {"blinded"},
        ["case"],
    )
    check_user_can_open(user, study, "ehr.encounter", "open")
    with pytest.raises(PermissionDenied, match="unblind"):
        check_user_can_open(user, study, "ehr.encounter", "blinded")
    with pytest.raises(NotAllowed, match="not a member"):
        check_user_can_open(member("stranger"), study, "ehr.encounter", "open")


def test_lists_ask_the_guards_of_their_type(member, monkeypatch):
    monkeypatch.setattr(registry, "_page_guards", {})
    user, other = member("ada", Role.CLINICIAN), member("eve", Role.CLINICIAN)
    registry.register_page_guard(
        lambda *asked: None,
        lambda who, kind: {"a", kind} if who == user else set(),
        ["case", "finding"],
    )
    registry.register_page_guard(lambda *asked: "closed", lambda who, kind: {"b"}, ["other"])
    assert registry.closed_objects(user, "case") == {"a", "case"}
    assert registry.closed_objects(user, "other") == {"b"}
    assert registry.closed_objects(user, "ehr.encounter") == frozenset()
    monkeypatch.setattr(registry, "_page_guards", dict(list(registry._page_guards.items())[:1]))
    assert registry.all_closed_objects(user) == {"a", "case", "finding"}
    assert registry.all_closed_objects(other) == frozenset()


def test_scoping_shows_rows_of_ones_own_studies(study, member):
    other = create_study(name="Other", by=None)
    user = member("ada", Role.CLINICIAN, Role.ADMIN)
    AuditEvent.objects.create(study=other, action="x")
    assert set(
        filter_by_role(AuditEvent.objects.all(), user, roles=ANY_ROLE).values_list(
            "study", flat=True
        )
    ) == {study.pk}
    assert list(find_studies(user)) == [study]


# Actions.


def test_only_admins_of_the_study_change_its_members(study, member):
    clinician = member("ada", Role.CLINICIAN)
    foreign = member("eve", Role.ADMIN, of=create_study(name="Other", by=None))
    for by in (clinician, foreign):
        with pytest.raises(NotAllowed):
            add_role(study=study, user=by, role=Role.ADMIN, by=by)
        with pytest.raises(NotAllowed):
            remove_role(study=study, user=clinician, role=Role.CLINICIAN, by=by)
        with pytest.raises(NotAllowed):
            create_account(username="new", study=study, role=Role.ADMIN, by=by)
    assert find_roles(clinician, study) == {Role.CLINICIAN}


def test_the_last_active_admin_stays(study, member):
    first, second = member("first", Role.ADMIN), member("second", Role.ADMIN)
    User.objects.filter(pk=second.pk).update(is_active=False)
    with pytest.raises(LastAdmin):
        remove_role(study=study, user=first, role=Role.ADMIN, by=first)
    User.objects.filter(pk=second.pk).update(is_active=True)
    assert remove_role(study=study, user=first, role=Role.ADMIN, by=first)
    assert find_roles(first, study) == frozenset()


def test_account_names_are_taken_whatever_their_case(study):
    create_account(username="ada", study=study, role=Role.CLINICIAN, by=None)
    with pytest.raises(AccountExists):
        create_account(username="ADA", study=study, role=Role.CLINICIAN, by=None)
    with pytest.raises(ValidationError):
        create_account(username="a b", study=study, role=Role.CLINICIAN, by=None)


def test_every_generated_password_differs_and_is_stored_as_a_hash_only(study):
    made = [
        create_account(username=f"user{n}", study=study, role=Role.CLINICIAN, by=None)
        for n in range(5)
    ]
    assert len({password for _, password in made}) == 5
    for user, password in made:
        assert user.check_password(password)
        assert password not in str(User.objects.filter(pk=user.pk).values())
    assert all(password not in str(list(AuditEvent.objects.values())) for _, password in made)


def test_an_admin_resets_passwords_of_people_who_are_in_their_studies_alone(study, member):
    admin, other = member("admin", Role.ADMIN), create_study(name="Other", by=None)
    mine, shared, root = (
        member("mine", Role.CLINICIAN),
        member("shared", Role.CLINICIAN),
        member("root", Role.CLINICIAN),
    )
    add_role(study=other, user=shared, role=Role.CLINICIAN, by=None)
    User.objects.filter(pk=root.pk).update(is_superuser=True)
    root.refresh_from_db()
    assert mine.check_password(reset_password(user=mine, by=admin))
    for user in (shared, root, User.objects.create(username="nowhere")):
        with pytest.raises(NotAllowed):
            reset_password(user=user, by=admin)


def test_every_change_is_in_the_trail(study, member):
    admin = member("admin", Role.ADMIN)
    user, _ = create_account(username="new", study=study, role=Role.REVIEWER, by=admin)
    add_role(study=study, user=user, role=Role.CLINICIAN, by=admin)
    assert not add_role(study=study, user=user, role=Role.CLINICIAN, by=admin)
    remove_role(study=study, user=user, role=Role.REVIEWER, by=admin)
    events = AuditEvent.objects.filter(actor=admin, study=study, object_id=user.public_id).order_by(
        "id"
    )
    assert [(event.action, event.detail["role"]) for event in events] == [
        ("account.create", "reviewer"),
        ("member.add_role", "reviewer"),
        ("member.add_role", "clinician"),
        ("member.remove_role", "reviewer"),
    ]


# Pages.


def test_the_study_page_lists_members_and_adds_removes_and_creates(client, study, member):
    admin, ada = member("admin", Role.ADMIN), member("ada")
    client.force_login(admin)
    client.post("/study/add-role/", {"add-username": "ada", "add-role": "clinician"})
    page = client.get("/study/")
    assert [(line.person.username, line.roles) for line in page.context["lines"]] == [
        ("ada", (Role.CLINICIAN,)),
        ("admin", (Role.ADMIN,)),
    ]
    client.post("/study/remove-role/", {"person": ada.public_id, "role": "clinician"})
    assert find_roles(ada, study) == frozenset()
    made = client.post(
        "/study/create-account/", {"create-username": "grace", "create-role": "reviewer"}
    )
    grace = User.objects.get(username="grace")
    assert grace.must_change_password
    assert made.context["password"] in made.text
    assert grace.check_password(made.context["password"])
    assert "no-store" in made["Cache-Control"]
    assert made.context["password"] not in client.get("/study/").text


def test_mistakes_on_the_study_page_are_explained(client, study, member):
    admin = member("admin", Role.ADMIN)
    client.force_login(admin)
    unknown = client.post("/study/add-role/", {"add-username": "ghost", "add-role": "clinician"})
    assert (unknown.status_code, "no account" in unknown.text) == (400, True)
    taken = client.post(
        "/study/create-account/", {"create-username": "Admin", "create-role": "clinician"}
    )
    assert (taken.status_code, "name is taken" in taken.text) == (400, True)
    odd = client.post(
        "/study/create-account/", {"create-username": "a b", "create-role": "clinician"}
    )
    assert (odd.status_code, "valid username" in odd.text) == (400, True)
    nonsense = client.post("/study/add-role/", {"add-username": "admin", "add-role": "emperor"})
    assert nonsense.status_code == 400
    last = client.post(
        "/study/remove-role/", {"person": admin.public_id, "role": "admin"}, follow=True
    )
    assert "at least one study admin" in " ".join(
        str(message) for message in last.context["messages"]
    )
    assert (
        client.post(
            "/study/remove-role/", {"person": admin.public_id, "role": "emperor"}
        ).status_code
        == 404
    )


def test_forms_need_their_token(study, member):
    client = Client(enforce_csrf_checks=True)
    client.force_login(member("admin", Role.ADMIN))
    response = client.post(
        "/study/create-account/", {"create-username": "grace", "create-role": "reviewer"}
    )
    assert response.status_code == 403
    assert "form has expired" in response.text
    assert not User.objects.filter(username="grace").exists()


def test_switching_between_ones_studies(client, study, member):
    user = member("ada", Role.CLINICIAN)
    later = create_study(name="Zebra", by=None)
    member("ada", Role.ADMIN, of=later)
    client.force_login(user)
    assert client.get("/").context["active_study"] == study
    client.post("/switch-study/", {"study": later.public_id})
    page = client.get("/")
    assert (page.context["active_study"], page.context["study_roles"]) == (later, {Role.ADMIN})
    assert client.get("/study/").status_code == 200
    Membership.objects.filter(study=later).delete()
    assert client.get("/").context["active_study"] == study
    assert client.get("/study/").status_code == 403


def test_home_is_made_of_the_cards_for_this_person(client, study, member, monkeypatch):
    monkeypatch.setattr(registry, "_home_cards", [])
    registry.register_home_card(
        lambda user, study: Card("Later", lines=[f"for {user.username} in {study.name}"]), order=20
    )
    registry.register_home_card(
        lambda user, study: Card("First <b>", links=[Link("See them", "/somewhere/")]), order=10
    )
    registry.register_home_card(lambda user, study: None)
    client.force_login(member("ada", Role.CLINICIAN))
    text = client.get("/").text
    assert text.index("First &lt;b&gt;") < text.index("Later")
    assert "for ada in Cohort" in text
    assert '<a href="/somewhere/">See them</a>' in text


def test_home_without_cards_and_without_a_study_says_what_to_do(client, study, member, monkeypatch):
    monkeypatch.setattr(registry, "_home_cards", [])
    client.force_login(member("ada", Role.CLINICIAN))
    assert "Nothing to do" in client.get("/").text
    client.force_login(User.objects.create(username="lost"))
    assert "not in a study yet" in client.get("/").text


def test_navigation_is_by_role(monkeypatch):
    monkeypatch.setattr(registry, "_nav_items", [])
    cases = NavItem(
        "Cases", "timelines:cases", ("cases/",), frozenset({Role.CLINICIAN, Role.ADMIN})
    )
    queue = NavItem("Queue", "reviews", ("reviews/",), frozenset({Role.REVIEWER}))
    registry.register_nav_item(queue, order=20)
    registry.register_nav_item(cases, order=10)
    registry.register_nav_item(cases, order=10)
    assert registry.nav_items(frozenset(Role)) == [cases, queue]
    assert registry.nav_items(frozenset({Role.REVIEWER})) == [queue]
    assert registry.nav_items(frozenset()) == []


@pytest.mark.parametrize(
    ("path", "marked"),
    [
        ("/cases/", {"Cases": "page"}),
        ("/cases/{id}/record/", {"Cases": "section"}),
        ("/cases/{id}/compare/", {"Cases": "section"}),
        ("/runs/{id}/calls/", {"Runs": "section"}),
        ("/calls/{id}/", {"Runs": "section"}),
        ("/authoring/{id}/", {"Authoring": "section"}),
        ("/evaluations/new/", {"Evaluation": "section"}),
        ("/adjudication/runs/", {"Adjudication": "page"}),
        ("/adjudication/calls/{id}/", {"Adjudication": "section"}),
        ("/adjudication/findings/{id}/", {"Adjudication": "section"}),
        ("/packets/new/{id}/", {"Packets": "section"}),
        ("/review/{id}/item/", {"Review": "section"}),
        ("/models/", {"Models": "page"}),
        ("/study/", {"Study": "page"}),
        ("/audit-trail/", {"Audit trail": "page"}),
        ("/password/", {}),
        ("/", {}),
    ],
)
def test_navigation_marks_the_page_or_its_section(path, marked):
    items = [item for _, item in registry._nav_items]
    links = nav_links(items, resolve(path.format(id=new_public_id())))
    assert {
        link.label: "page" if link.is_page else "section" for link in links if link.is_section
    } == marked


def test_navigation_marks_nothing_on_a_page_without_a_view():
    links = nav_links(registry.nav_items(frozenset(Role)), None)
    assert links
    assert not any(link.is_page or link.is_section for link in links)


def test_an_unknown_study_and_a_foreign_one_look_the_same(client, study, member):
    other = create_study(name="Other", by=None)
    client.force_login(member("ada", Role.CLINICIAN))
    statuses = {
        client.post("/switch-study/", {"study": key}).status_code
        for key in (other.public_id, "nosuchstudy1", "")
    }
    assert statuses == {404}


# Commands.


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def demo_passwords(text: str) -> dict[str, str]:
    words = [line.split() for line in text.splitlines() if line.split()[-1].count("-") == 3]
    return {line[-2]: line[-1] for line in words}


def test_the_demo_accounts_get_passwords_that_are_shown_once(client):
    passwords = demo_passwords(run("create_demo_accounts", "--study", "demo"))
    assert set(passwords) == {"clinician", "reviewer", "admin"}
    study = Study.objects.get(name="demo")
    for name, password in passwords.items():
        assert find_roles(User.objects.get(username=name), study) == {Role(name)}
        assert client.post("/sign-in/", {"username": name, "password": password})["Location"] == "/"
        assert client.get("/").status_code == 200
        client.post("/sign-out/")
    again = run("create_demo_accounts", "--study", "demo")
    assert demo_passwords(again) == {}
    assert "--reset" in again
    assert all(password not in again for password in passwords.values())


def test_reset_gives_the_demo_accounts_new_passwords():
    old = demo_passwords(run("create_demo_accounts"))
    new = demo_passwords(run("create_demo_accounts", "--reset"))
    assert set(new) == set(old)
    for name, password in new.items():
        user = User.objects.get(username=name)
        assert user.check_password(password)
        assert not user.check_password(old[name])


def test_create_account_makes_the_study_too_and_refuses_a_taken_name():
    out = run("create_account", "--username", "grace", "--role", "reviewer", "--study", "Cohort 2")
    user = User.objects.get(username="grace")
    assert user.check_password(out.split()[1])
    assert user.must_change_password
    assert find_roles(user, Study.objects.get(name="Cohort 2")) == {Role.REVIEWER}
    with pytest.raises(CommandError, match="taken"):
        run("create_account", "--username", "grace", "--role", "reviewer", "--study", "Cohort 2")


def test_switching_to_a_foreign_study_raises_not_found(rf, study, member):
    from accounts.scoping import set_active_study

    request = rf.post("/")
    request.user, request.session = member("ada"), {}
    with pytest.raises(Http404):
        set_active_study(request, study.public_id)
    assert request.session == {}
