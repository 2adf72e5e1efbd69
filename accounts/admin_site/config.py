"""The admin site for superusers alone, signed in to by the same throttled page as everything else."""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig


class SuperuserAdminConfig(AdminConfig):
    """Django's admin with our site."""

    default_site = "accounts.admin_site.site.SuperuserAdminSite"
