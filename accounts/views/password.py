"""Changing one's own password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpResponse
from django.urls import reverse_lazy

from accounts.forms import OwnPasswordForm


class ChangePassword(PasswordChangeView):
    """The page; this session stays, the person's other sessions end."""

    template_name = "accounts/password_change.html"
    form_class = OwnPasswordForm
    success_url = reverse_lazy("home")

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Add the provider, which the person may connect with."""
        return {**super().get_context_data(**kwargs), "provider": settings.OIDC}

    def get_form_kwargs(self) -> dict[str, Any]:
        """The form counts attempts by the request's address."""
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        """Store it and say so."""
        response = super().form_valid(form)
        messages.success(
            self.request, "Your password was changed. Other sessions of yours have ended."
        )
        return response
