"""The admin site's pages (superusers only): people, studies, memberships, and the trail to read."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from accounts.models import AuditEvent, Membership, Study, User


class MembershipInline(admin.TabularInline):
    model = Membership
    extra = 0
    autocomplete_fields = ["user"]


@admin.register(User)
class PersonAdmin(UserAdmin):
    list_display = ["username", "is_active", "is_superuser", "must_change_password", "last_login"]
    fieldsets = (*(UserAdmin.fieldsets or ()), ("First sign-in", {"fields": ("must_change_password",)}))


@admin.register(Study)
class StudyAdmin(admin.ModelAdmin):
    list_display = ["name", "public_id", "created_at"]
    search_fields = ["name"]
    inlines = [MembershipInline]


@admin.register(AuditEvent)
class AuditEventAdmin(admin.ModelAdmin):
    list_display = ["at", "actor", "study", "action", "object_type", "object_id"]
    list_select_related = ["actor", "study"]
    list_filter = ["action"]
    date_hierarchy = "at"

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Events are appended by the application alone."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Append-only."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Append-only."""
        return False
