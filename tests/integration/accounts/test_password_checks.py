"""All password checks share one throttle, one wording, one trail.

There are no other checks.
"""

import ast
from dataclasses import dataclass

import pytest
from django.contrib.auth import password_validation
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from accounts.forms import OwnPasswordForm, SignInForm
from accounts.models import AuditEvent
from accounts.provider.values import Provider
from accounts.sign_in.password_check import Purpose
from accounts.sign_in.password_variety import varied_characters
from accounts.sign_in.passwords import generated_password
from config.env import BASE_DIR
from tests.factories import PASSWORD
from tests.worlds.reviewing import open_review

APPS = ("accounts", "jobs", "llm_runtime", "ehr", "timelines", "adjudication", "config", "demo")
#: Functions and methods of Django that compare a password with its hash, and what answers of
#: requests may be built on them.
CHECKS = {
    "check_password", "acheck_password", "verify_password", "authenticate", "aauthenticate", "BasicAuthentication", "LoginView",
    "AdminAuthenticationForm", "AdminPasswordChangeForm", "AuthenticationForm", "PasswordChangeForm", "PasswordChangeView", "ModelBackend",
}  # fmt: skip
#: They may be named here: in the one function, its backend, and forms and views of Django that use
#: that function.
ALLOWED = {
    ("accounts/sign_in/password_check.py", "authenticate"),
    ("accounts/sign_in/backends.py", "authenticate"),
    ("accounts/sign_in/backends.py", "ModelBackend"),
    ("accounts/forms.py", "AuthenticationForm"),
    ("accounts/views/sign_in.py", "AuthenticationForm"),
    ("accounts/forms.py", "PasswordChangeForm"),
    ("accounts/views/password.py", "PasswordChangeForm"),
    ("accounts/views/password.py", "PasswordChangeView"),
    ("accounts/views/sign_in.py", "LoginView"),
}
#: DRF's own method of that name reads tokens.
TOKENS = "accounts/api_access/authentication.py"


def find_uses() -> set[tuple[str, str]]:
    """(file, name) of every use of CHECKS in the application."""
    found = set()
    for app in APPS:
        for path in (BASE_DIR / app).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                name = (
                    node.id
                    if isinstance(node, ast.Name)
                    else node.attr
                    if isinstance(node, ast.Attribute)
                    else ""
                )
                if name in CHECKS:
                    found.add((path.relative_to(BASE_DIR).as_posix(), name))
    return found


def test_passwords_are_checked_in_one_place():
    assert find_uses() - {(TOKENS, "authenticate")} == ALLOWED


def test_forms_and_views_of_django_that_check_are_ours():
    def views(patterns):
        for pattern in patterns:
            yield from (
                views(pattern.url_patterns)
                if isinstance(pattern, URLResolver)
                else [pattern.callback]
            )

    classes = {getattr(view, "view_class", None) for view in views(get_resolver().url_patterns)} - {
        None
    }
    forms = {view.form_class for view in classes if issubclass(view, PasswordChangeView)}
    forms |= {
        view.authentication_form or view.form_class
        for view in classes
        if issubclass(view, LoginView)
    }
    assert forms == {OwnPasswordForm, SignInForm}
    assert OwnPasswordForm.clean_old_password is not PasswordChangeForm.clean_old_password
    assert SignInForm.clean is not AuthenticationForm.clean


@dataclass(frozen=True)
class Place:
    """Somewhere that asks for a password."""

    purpose: Purpose
    action: str

    def ask(self, world, password, address="10.0.0.1"):
        """What it answers, as text."""
        person, assignment = world.assignments[0].person, world.assignments[0]
        client = Client(REMOTE_ADDR=address)
        if self.purpose == Purpose.SIGN_IN:
            return client.post("/sign-in/", {"username": person.username, "password": password})
        client.force_login(person)
        if self.purpose == Purpose.NEW_PASSWORD:
            new = PASSWORD + "-new"
            return client.post(
                "/password/", {"old_password": password, "new_password1": new, "new_password2": new}
            )
        if self.purpose == Purpose.CONNECT:
            return client.post("/sign-in/provider/connect/", {"password": password})
        if self.purpose == Purpose.SECOND_STEP:
            return client.post("/second-step/password/", {"password": password})
        if self.action == "page":
            return client.post(
                reverse("adjudication:review_sign", args=[assignment.public_id]),
                {"password": password},
            )
        address = reverse("adjudication_api:review_sign", args=[assignment.public_id])
        return client.post(address, {"password": password}, content_type="application/json")


PLACES = [
    Place(Purpose.SIGN_IN, ""),
    Place(Purpose.NEW_PASSWORD, ""),
    Place(Purpose.SECOND_STEP, ""),
    Place(Purpose.CONNECT, ""),
    Place(Purpose.SIGNATURE, "page"),
    Place(Purpose.SIGNATURE, "api"),
]


@pytest.fixture
def world(transactional_db, settings):
    # it does not answer, but the password is checked before it is asked
    settings.OIDC = Provider("http://localhost:9", "occurrent", "secret", "Hospital")
    return open_review(pairings=1)


def refusals(purpose):
    if purpose == Purpose.SIGN_IN:
        return AuditEvent.objects.filter(action="session.sign_in_failed")
    return AuditEvent.objects.filter(
        action="account.password_refused", detail__purpose=purpose.value
    )


def test_every_purpose_has_a_place():
    assert {place.purpose for place in PLACES} == set(Purpose)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_guessing_is_throttled_and_in_the_trail(world, place):
    person = world.assignments[0].person
    answers = [place.ask(world, f"guess {n}") for n in range(8)]
    answers.append(place.ask(world, PASSWORD))
    assert ["Too many attempts. Try again in 15 minutes." in answer.text for answer in answers] == [
        False
    ] * 4 + [True] * 5
    assert [
        event.detail["locked"]
        for event in refusals(place.purpose).filter(actor=person).order_by("pk")
    ] == [False] * 3 + [True] * 2, "1, 2, 4, 5 and 8 failures"
    person.refresh_from_db()
    assert person.check_password(PASSWORD)
    for other in PLACES:
        assert "Too many attempts" in other.ask(world, PASSWORD).text, (
            "all places share one throttle"
        )
    assert "Too many attempts" not in place.ask(world, PASSWORD, address="10.0.0.2").text


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_the_right_password_gives_the_attempts_back(world, place):
    for _ in range(4):
        assert "Too many" not in place.ask(world, "a guess").text
    place.ask(world, PASSWORD)
    assert not any("Too many" in place.ask(world, "a guess").text for _ in range(4))


def test_the_new_password_is_no_way_to_guess_the_old_one(world):
    client = Client()
    client.force_login(world.assignments[0].person)
    pages = [
        client.post(
            "/password/", {"old_password": "wrong", "new_password1": new, "new_password2": new}
        )
        .context["form"]
        .errors
        for new in (PASSWORD, "another-horse-battery-7")
    ]
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    "password",
    ["aaaaaaaaaaaa", "abababababab", "abcabcabcabc", "123123123123", "012345678901", "abcdefghijklm", "zyxwvutsrqpo", "qwertyuiopas",
     "QWERTYqwerty", "1qaz2wsx3edc", "aaaaaabbbbbb", "passwordpassword", "aaaaaaaaaaab", "......-....."],
)  # fmt: skip
def test_a_repetition_or_a_sequence_is_no_password(password):
    with pytest.raises(ValidationError):
        password_validation.validate_password(password)


@pytest.mark.parametrize(
    "password",
    [PASSWORD, "Fifteen-Beige-Lampposts", "correcthorse", "xK3!vq9@Lm2#", "über-den-Wolken-7"],
)
def test_words_and_mixtures_are(password):
    password_validation.validate_password(password)


def test_generated_passwords_are():
    for _ in range(300):
        password_validation.validate_password(generated_password())


def test_the_count_of_varied_characters():
    assert [
        varied_characters(text)
        for text in ("", "a", "aaaa", "abcdefabcdef", "qwertyuiopas", "abzq")
    ] == [0, 1, 2, 3, 4, 4]
