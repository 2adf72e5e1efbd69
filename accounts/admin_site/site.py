"""The admin site itself.

It is not in the AppConfig's module, because importing it needs the app registry.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.admin.options import InlineModelAdmin
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.models import User


class ReadOnly:
    """An admin page that shows rows and changes none.

    Every change is an action of an app, which checks and records it.
    """

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No."""
        return False


class ReadOnlyAdmin(ReadOnly, ModelAdmin):
    """A list and its details."""


class ReadOnlyInline(ReadOnly, InlineModelAdmin):
    """Rows below their parent, as a table."""

    template = "admin/edit_inline/tabular.html"
    extra = 0


class SuperuserAdminSite(AdminSite):
    """An admin site for active superusers; `is_staff` alone opens nothing.

    Changes are made through actions only.
    """

    site_header = "Occurrent administration"
    site_title = "Occurrent administration"
    index_title = "Accounts and studies"

    def register(
        self,
        model_or_iterable: type[Model] | Iterable[type[Model]],
        admin_class: type[ModelAdmin[Any]] | None = None,
        **options: Any,
    ) -> None:
        """Register read-only pages only.

        The pages of libraries (groups, tokens) would change rows without the actions, and are left
        out.
        """
        if admin_class is not None and issubclass(admin_class, ReadOnlyAdmin):
            super().register(model_or_iterable, admin_class, **options)

    def has_permission(self, request: HttpRequest) -> bool:
        """True for a superuser whose account is active."""
        user: User | AnonymousUser = request.user
        return user.is_active and user.is_superuser

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Send people who are not signed in to the sign-in page.

        Raises PermissionDenied for the others. The sign-in page limits failed attempts.
        """
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.get_full_path())

    def password_change(  # type: ignore[override]  # a redirect has no template
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Send everyone to the one page that changes a password."""
        return redirect("accounts:password_change")
