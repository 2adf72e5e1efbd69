"""The page an unaided author gets instead of their case's timelines.

It says why they are closed and links back to the draft.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, ParamSpec

from django.http import HttpResponseBase
from django.shortcuts import render

from accounts.scoping import StudyRequest
from timelines.access.authoring import CaseClosed

P = ParamSpec("P")


def link_back_to_draft(
    view: Callable[Concatenate[StudyRequest, P], HttpResponseBase],
) -> Callable[Concatenate[StudyRequest, P], HttpResponseBase]:
    """Answer CaseClosed with a page of its own.

    Without this the plain 403 page shows the same sentence.
    """

    @wraps(view)
    def wrapper(request: StudyRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except CaseClosed as closed:
            return render(
                request,
                "timelines/cases/closed.html",
                {"closed": closed},
                status=HTTPStatus.FORBIDDEN,
            )

    return wrapper
