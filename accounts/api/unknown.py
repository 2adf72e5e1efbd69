"""The response to unknown addresses of the API, as to any missing object."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponsePermanentRedirect
from django.http.response import HttpResponseBase
from django.urls import resolve
from rest_framework.request import Request

from accounts.api_access.access import ApiView

NAME = "api-unknown"


class Unknown(ApiView):
    """Answer 404, or 401 to a client that is not signed in."""

    schema = None

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Redirect if only a slash is missing, as elsewhere; else respond 404."""
        path = request.path_info
        if (
            request.method in ("GET", "HEAD")
            and not path.endswith("/")
            and resolve(f"{path}/").url_name != NAME
        ):
            return HttpResponsePermanentRedirect(request.get_full_path(force_append_slash=True))
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise NotAuthenticated, then Http404, for every method."""
        super().initial(request, *args, **kwargs)
        raise Http404
