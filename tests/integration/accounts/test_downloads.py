"""A file whose view records nothing is recorded all the same."""

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import resolve

from accounts.audit.downloads import DownloadTrailMiddleware
from accounts.audit.trail import record
from accounts.models import AuditEvent, Role
from tests import factories

pytestmark = pytest.mark.django_db

PATH = "/evaluations/k7m2p9w4x8qz/tables/main/csv/"


@pytest.fixture
def study():
    return factories.make_study()


@pytest.fixture
def person(study):
    return factories.make_user(study, Role.CLINICIAN)


def download(
    person, *, view=lambda request: None, status=200, study=None, disposition="attachment"
):
    """Answer with a file; return the events of the trail."""
    before = set(AuditEvent.objects.values_list("pk", flat=True))
    request = RequestFactory().get(PATH)
    request.user, request.resolver_match = person, resolve(PATH)
    if study is not None:
        request.study = study

    def answer(request):
        view(request)
        headers = {"Content-Disposition": f'{disposition}; filename="a.csv"'}
        return HttpResponse("a,b", status=status, headers=headers)

    assert DownloadTrailMiddleware(answer)(request).status_code == status
    return list(AuditEvent.objects.exclude(pk__in=before))


def test_the_file_is_named_by_its_address_and_object(person, study):
    (event,) = download(person)
    assert (event.action, event.actor, event.study) == ("file.download", person, study)
    assert (event.object_type, event.object_id) == ("timelines:evaluation_table", "k7m2p9w4x8qz")


def test_a_view_that_records_is_not_doubled(person, study):
    (event,) = download(
        person, view=lambda request: record(actor=person, study=study, action="table.export")
    )
    assert event.action == "table.export"


def test_the_study_is_that_of_the_view(person):
    other = factories.make_study("Other")
    (event,) = download(person, study=other)
    assert event.study == other


def test_a_person_of_two_studies_has_the_event_without_one(person):
    person.memberships.create(study=factories.make_study("Other"), role=Role.CLINICIAN)
    (event,) = download(person)
    assert event.study is None


@pytest.mark.parametrize("status", [302, 403, 404])
def test_what_is_not_sent_is_not_recorded(person, status):
    assert download(person, status=status) == []


def test_what_is_shown_is_no_file(person):
    assert download(person, disposition="inline") == []


def test_a_part_of_a_file_is_recorded(person):
    assert len(download(person, status=206)) == 1
