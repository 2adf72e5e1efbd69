"""A reviewer without a password here signs after a new sign-in."""

from __future__ import annotations

import time

import pytest
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.urls import reverse

from adjudication.models import Decision
from tests.integration.review.test_decisions import decide_all
from tests.worlds.provider import come_back, find_address, now, run_organisation, sign_in_at
from tests.worlds.reviewing import open_review

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def organisation(settings):
    with run_organisation() as found:
        settings.OIDC = found.settings()
        found.know("rosalind")
        yield found


@pytest.fixture
def assignment(organisation):
    """A decided review of a person of the provider."""
    found = open_review(pairings=1).assignments[0]
    found.person.set_unusable_password()
    found.person.save()
    SocialAccount.objects.create(user=found.person, provider=organisation.issuer, uid="rosalind")
    decide_all(found)
    return found


@pytest.fixture
def reviewer(organisation, assignment):
    client = Client()
    sign_in_at(organisation, client, "rosalind")
    return client


def address_of(assignment) -> str:
    return reverse("adjudication:review_sign", args=[assignment.public_id])


def confirm(organisation, reviewer, assignment, what=""):
    organisation.know("rosalind", auth_time=now())
    path = address_of(assignment)
    form = {"purpose": "signature", "what": what or assignment.public_id, "next": path}
    there = find_address(reviewer.post("/sign-in/provider/confirm/", form))
    assert come_back(reviewer, organisation.decide(there, "rosalind"))["Location"] == path


def is_signed(assignment) -> bool:
    assignment.refresh_from_db()
    return assignment.signed_at is not None


def test_the_signature_follows_a_new_sign_in(organisation, reviewer, assignment):
    path = address_of(assignment)
    page = reviewer.get(path)
    assert "Sign in again" in page.text
    assert 'type="password"' not in page.text
    refused = reviewer.post(path, {"password": ""})
    assert (refused.status_code, is_signed(assignment)) == (400, False)
    assert "Sign in again first" in refused.text
    confirm(organisation, reviewer, assignment)
    assert "You have signed in again" in reviewer.get(path).text
    assert reviewer.post(path).status_code == 302
    assert is_signed(assignment)
    assert Decision.objects.filter(kind=Decision.Kind.SIGN).count() == 1


def test_a_confirmation_counts_once_for_one_review_and_for_minutes(
    organisation, reviewer, assignment, monkeypatch
):
    path = address_of(assignment)
    confirm(organisation, reviewer, assignment, what="another-review")
    assert reviewer.post(path).status_code == 400
    confirm(organisation, reviewer, assignment)
    later = time.time() + 301
    with monkeypatch.context() as patched:
        patched.setattr("accounts.provider.confirmation.time.time", lambda: later)
        assert reviewer.post(path).status_code == 400
    assert not is_signed(assignment)
    assert reviewer.post(path).status_code == 302
    reviewer.post(
        reverse("adjudication:review_unsign", args=[assignment.public_id]), {"reason": "a slip"}
    )
    assert not is_signed(assignment)
    assert reviewer.post(path).status_code == 400, "the confirmation is used up"


def test_the_api_refuses_without_a_confirmation(reviewer, assignment):
    path = reverse("adjudication_api:review_sign", args=[assignment.public_id])
    answer = reviewer.post(path, {"password": "x"}, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
    assert not is_signed(assignment)
