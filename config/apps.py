"""Load the Celery application with Django in every process.

`shared_task` needs it there.
"""

from __future__ import annotations

from django.apps import AppConfig


class ProjectConfig(AppConfig):
    """The project itself, listed last among the applications."""

    name = "config"

    def ready(self) -> None:
        """Bind tasks to our Celery application; register the rest."""
        import config.celery
        import config.database_roles  # noqa: F401
        from accounts.registry import NavItem, register_nav_item
        from config.backups.history import backup_traces
        from ehr.registry import register_traces

        register_traces(backup_traces)
        register_nav_item(
            NavItem("Operations", "operations", ("operations/",), for_superusers=True), order=900
        )
