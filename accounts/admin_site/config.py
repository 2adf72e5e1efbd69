"""The admin site, for superusers only, with the common sign-in page.

That page limits failed attempts.
"""

from __future__ import annotations

from django.contrib.admin.apps import AdminConfig


class SuperuserAdminConfig(AdminConfig):
    """Django's admin with our site."""

    default_site = "accounts.admin_site.site.SuperuserAdminSite"
