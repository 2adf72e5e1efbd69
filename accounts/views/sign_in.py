"""Signing in and out."""

from __future__ import annotations

from typing import Any

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from accounts.forms import SignInForm
from accounts.views.provider import leave
from accounts.views.provider_sign_out import find_sign_out_address


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

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the provider, if there is one."""
        return {**super().get_context_data(**kwargs), "provider": settings.OIDC}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in, after a second step if the person has one."""
        login = Login(user=form.get_user(), redirect_url=self.get_success_url())
        answer: HttpResponse = perform_password_login(self.request, {}, login)
        return answer


class SignOut(LogoutView):
    """Ends the session (POST only), here and at the provider."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Sign out here first: the provider may not answer."""
        address = find_sign_out_address(request)
        answer = super().post(request, *args, **kwargs)
        return leave(request, address) if address else answer
