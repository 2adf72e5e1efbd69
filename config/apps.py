"""Loads the Celery application with Django, in every process alike, so that `shared_task` finds it."""

from __future__ import annotations

from django.apps import AppConfig


class ProjectConfig(AppConfig):
    """The project itself, listed last among the applications."""

    name = "config"

    def ready(self) -> None:
        """Bind the task decorators to our Celery application, and register the checks of the
        project.
        """
        import config.celery
        import config.database_roles  # noqa: F401
