"""JSON answers to the editor page: a draft's state, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.http import HttpResponseBase

from accounts.requests.json_bodies import BadBody, refusal
from accounts.scoping import StudyRequest
from ehr.presentation.clock import Clock
from timelines.authoring.edits import Locked
from timelines.drafts.document import Document
from timelines.drafts.time_entry import TimeNotUnderstood
from timelines.drafts.undoing import Stacks
from timelines.drafts.values import EditRefused
from timelines.presentation.authoring.values import occurrences_json, progress_json

P = ParamSpec("P")


LOCKED = "This timeline is submitted. Reopen it with a reason to change it."


CONFLICT = "This draft was changed in another window. The current version is shown."


def answer_refusals(
    view: Callable[Concatenate[StudyRequest, P], HttpResponseBase],
) -> Callable[Concatenate[StudyRequest, P], HttpResponseBase]:
    """Answer refusals as JSON.

    400/413/415 for the body, 409 for a conflict, 422 for a value, 423 for a submitted timeline.
    """

    @wraps(view)
    def wrapper(request: StudyRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except BadBody as error:
            return refusal(error.message, error.status)
        except EditRefused as error:
            return refusal(error.message, 422, field=error.field)
        except TimeNotUnderstood as error:
            return refusal(str(error), 422, field="text")
        except Locked:
            return refusal(LOCKED, 423)

    return wrapper


def state_json(document: Document, revision: int, clock: Clock) -> dict[str, Any]:
    """Return the whole document for the page."""
    return {
        "revision": revision,
        "occurrences": occurrences_json(document.ordered, clock),
        "progress": progress_json(document),
    }


def stacks_json(found: Stacks) -> dict[str, bool]:
    """Return whether there is an edit to undo, and to redo."""
    return {"can_undo": bool(found.undo), "can_redo": bool(found.redo)}
