"""Read a body of the case page, and answer in JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.http import HttpResponseBase, JsonResponse

from accounts.permissions import NotAllowed
from accounts.requests.json_bodies import BadBody, refusal
from accounts.scoping import StudyRequest
from timelines.curation.curated import find_current
from timelines.drafts.time_entry import TimeNotUnderstood
from timelines.drafts.values import EditRefused
from timelines.models import Timeline

P = ParamSpec("P")


def read_rows(body: dict[str, Any]) -> list[int]:
    """Return the row numbers of a body. Raises EditRefused."""
    found = body.get("rows", [])
    if not isinstance(found, list) or not all(type(i) is int and 0 <= i < 2**31 for i in found):
        raise EditRefused("rows", "Must be a list of row numbers.")
    return found


def shown_after(base: Timeline) -> JsonResponse:
    """Say which timeline shows the base with what counts now."""
    return JsonResponse({"timeline": (find_current(base) or base).public_id})


def answer_in_json(
    view: Callable[Concatenate[StudyRequest, P], HttpResponseBase],
) -> Callable[Concatenate[StudyRequest, P], HttpResponseBase]:
    """Answer refusals as JSON: 4xx for the body, 403, 422 for a value."""

    @wraps(view)
    def wrapper(request: StudyRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except BadBody as error:
            return refusal(error.message, error.status)
        except EditRefused as error:
            return refusal(error.message, 422, field=error.field)
        except TimeNotUnderstood as error:
            return refusal(str(error), 422, field="entered")
        except NotAllowed as error:
            return refusal(str(error), 403)

    return wrapper
