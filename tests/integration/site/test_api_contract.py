"""The comparison of responses with the OpenAPI description works.

The conftest makes it for every response of the API in these tests.
"""

import json

import pytest
from django.http import HttpResponse, JsonResponse
from rest_framework.renderers import JSONRenderer

from accounts.models import Role
from tests import factories
from tests.integration.api_contract import UndescribedAnswer, check_answer
from tests.support.api import ApiClient

PROGRESS = {"done": 1, "total": 2, "skipped": 0, "flagged": 0, "seconds_left": None}
ROUTE = "api/review/<public_id:public_id>/items/<public_id:item_id>/flag/"
LIST = "api/review/<public_id:public_id>/practice/"


def check(body, *, method="PUT", route=ROUTE, status=200):
    check_answer(method, route, JsonResponse(body, status=status, safe=False))


def test_described_answers_pass():
    check(PROGRESS)
    check(PROGRESS | {"seconds_left": 2.5})
    check([{"number": 1, "answered": False}], method="GET", route=LIST)
    check({"code": "not_found", "detail": "No such thing."}, status=404)
    check({"code": "method_not_allowed", "detail": "No."}, method="DELETE", status=405)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ({**PROGRESS, "judge": "A"}, "additionalProperties"),
        ({name: n for name, n in PROGRESS.items() if name != "done"}, "required"),
        ({**PROGRESS, "done": "1"}, "type"),
        ({**PROGRESS, "done": None}, "type"),
        ([PROGRESS], "type"),
    ],
)
def test_fields_that_differ_are_named(body, fault):
    with pytest.raises(UndescribedAnswer, match=fault):
        check(body)


def test_answers_inside_lists_are_compared():
    with pytest.raises(UndescribedAnswer, match=r"\$\[1\]: required"):
        check([{"number": 1, "answered": True}, {"number": 2}], method="GET", route=LIST)


def test_other_statuses_and_types_are_not_described():
    with pytest.raises(UndescribedAnswer, match="status"):
        check(PROGRESS, status=201)
    with pytest.raises(UndescribedAnswer, match="status"):
        check({"code": "refused", "detail": "No."}, status=422)
    with pytest.raises(UndescribedAnswer, match="text/html"):
        check_answer("PUT", ROUTE, HttpResponse("<p>"))
    with pytest.raises(UndescribedAnswer, match="additionalProperties"):
        check({"code": "not_found", "detail": "No.", "trace": ""}, status=404)


@pytest.mark.django_db
def test_requests_of_tests_are_compared(monkeypatch):
    """An answer with a field too many fails the test that asks for it."""
    api = ApiClient(factories.make_user(factories.make_study(), Role.REVIEWER))
    assert api.get("review/") == (200, [])
    monkeypatch.setattr(
        JSONRenderer, "render", lambda *args, **kwargs: json.dumps([{"a": 1}]).encode()
    )
    with pytest.raises(UndescribedAnswer, match="GET /api/review/ 200"):
        api.get("review/")
