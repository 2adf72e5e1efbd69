"""The admin site itself; apart from its AppConfig, because importing it needs the app registry."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse

from accounts.models import User


class SuperuserAdminSite(AdminSite):
    """Admits active superusers; `is_staff` alone opens nothing."""

    site_header = "Occurrent administration"
    site_title = "Occurrent administration"
    index_title = "Accounts and studies"

    def has_permission(self, request: HttpRequest) -> bool:
        """True for a superuser whose account is active."""
        user: User | AnonymousUser = request.user
        return user.is_active and user.is_superuser

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Send people who are not signed in to the throttled sign-in page; raises PermissionDenied for the others."""
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.get_full_path())
