"""What django-allauth asks us to decide about accounts and their sign-ins."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.models import User
from accounts.provider.sign_out import ID_TOKEN, PROVIDER_SESSION
from accounts.sign_in import throttle


class AccountAdapter(DefaultAccountAdapter):
    """Signing in, for passwords and the provider alike."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """No: accounts are created by study admins, invitations and the provider."""
        return False

    def add_message(self, *args: Any, **kwargs: Any) -> None:
        """Say nothing; our pages say what happened."""

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        """Send the person back to the sign-in page."""
        return redirect("accounts:sign_in")

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return the address as the throttle sees it; a socket has none."""
        return throttle.client_address(request) or "::"

    def get_login_stages(self) -> list[str]:
        """Ask for the second step, and nothing else."""
        return ["allauth.mfa.stages.AuthenticateStage"]

    def post_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse:
        """Remember what the sign-out at the provider needs."""
        login = (kwargs.get("signal_kwargs") or {}).get("sociallogin")
        if login is not None and hasattr(login, "claims"):
            request.session[ID_TOKEN] = login.id_token
            request.session[PROVIDER_SESSION] = login.claims.session
        response: HttpResponse = super().post_login(request, user, **kwargs)
        return response
