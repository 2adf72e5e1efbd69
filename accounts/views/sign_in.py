"""Signing in and out."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from accounts.forms import SignInForm


class SignIn(LoginView):
    """The sign-in page; people who are signed in already go home."""

    template_name = "accounts/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Reload the page if a fragment was redirected here (its session ended).

        Otherwise the sign-in page would be swapped into it.
        """
        if request.method == "GET" and "HX-Request" in request.headers:
            return HttpResponse(headers={"HX-Refresh": "true"})
        return super().dispatch(request, *args, **kwargs)


class SignOut(LogoutView):
    """Ends the session (POST only)."""
