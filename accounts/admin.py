"""The admin site's pages, for superusers only.

They show people, studies, memberships and the trail, and can deactivate accounts.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.actions import set_active
from accounts.admin_site.site import ReadOnlyAdmin, ReadOnlyInline
from accounts.audit.trail import exclude_closed_events
from accounts.models import AuditEvent, Membership, Study, User
from accounts.permissions import NotAllowed
from accounts.registry import all_closed_objects
from accounts.sessions.actions import end_sessions


class MembershipInline(ReadOnlyInline):
    model = Membership


@admin.register(User)
class PersonAdmin(ReadOnlyAdmin):
    list_display = ["username", "is_active", "is_superuser", "must_change_password", "last_login"]
    search_fields = ["username"]
    fields = [
        "username",
        "public_id",
        "is_active",
        "is_superuser",
        "must_change_password",
        "last_login",
        "date_joined",
    ]
    inlines = [MembershipInline]
    actions = ["deactivate", "activate", "end_sessions"]

    @admin.action(description="Deactivate the selected accounts")
    def deactivate(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """End their sessions and tokens, and refuse further sign-ins."""
        self._set_active(request, people, False)

    @admin.action(description="Activate the selected accounts")
    def activate(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """Let them sign in again."""
        self._set_active(request, people, True)

    @admin.action(description="End all sessions of the selected accounts")
    def end_sessions(self, request: HttpRequest, people: QuerySet[User]) -> None:
        """Sign them out everywhere."""
        assert isinstance(request.user, User)
        for person in people:
            end_sessions(user=person, by=request.user)

    def _set_active(self, request: HttpRequest, people: QuerySet[User], active: bool) -> None:
        assert isinstance(request.user, User)
        for person in people:
            try:
                set_active(user=person, active=active, by=request.user)
            except NotAllowed as refused:
                messages.error(request, f"{person.get_username()}: {refused}")


@admin.register(Study)
class StudyAdmin(ReadOnlyAdmin):
    list_display = ["name", "public_id", "created_at"]
    search_fields = ["name"]
    inlines = [MembershipInline]


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = ["at", "actor", "study", "action", "object_type", "object_id"]
    #: The numbers in addresses of events would show how many are left out.
    list_display_links = None
    list_select_related = ["actor", "study"]
    list_filter = ["action"]
    date_hierarchy = "at"

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEvent]:
        """Leave out the events of cases that are closed to the person now."""
        return exclude_closed_events(super().get_queryset(request), _find_closed(request))

    def get_list_display(self, request: HttpRequest) -> Any:
        """Show the details too, unless they count results in closed cases."""
        return [*self.list_display, *([] if _find_closed(request) else ["detail"])]

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> list[str] | None:
        """Leave the details out for a person who may not open everything.

        The details count results in cases.
        """
        return ["detail"] if _find_closed(request) else None


def _find_closed(request: HttpRequest) -> frozenset[str]:
    return all_closed_objects(request.user) if isinstance(request.user, User) else frozenset()
