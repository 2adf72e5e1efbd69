"""Record each file that a person gets.

Most views record their files themselves, with what is in them. This records the rest, so that no
file of a later view can be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from accounts.audit.trail import count_recorded, record
from accounts.models import Study, User
from accounts.scoping import find_studies

SENT = (200, 206)
#: The column of the trail.
LONGEST = 60


class DownloadTrailMiddleware:
    """Adds an event for a file whose view recorded nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request, and record a file before it is sent."""
        before = count_recorded()
        response = self._get_response(request)
        person, match = request.user, request.resolver_match
        if (
            is_file(response)
            and isinstance(person, User)
            and match is not None
            and count_recorded() == before
        ):
            named = [value for name, value in match.kwargs.items() if name.endswith("id")]
            record(
                actor=person,
                study=_find_study(request, person),
                action="file.download",
                object_type=match.view_name[:LONGEST],
                object_id=str(named[0])[:LONGEST] if named else "",
            )
        return response


def is_file(response: HttpResponseBase) -> bool:
    """Return True for a file that was sent."""
    disposition = response.get("Content-Disposition", "")
    return response.status_code in SENT and disposition.startswith("attachment")


def _find_study(request: HttpRequest, person: User) -> Study | None:
    """Return the study of the view, or the person's only one."""
    if isinstance(study := getattr(request, "study", None), Study):
        return study
    studies = list(find_studies(person)[:2])
    return studies[0] if len(studies) == 1 else None
