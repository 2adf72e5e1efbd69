from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        """Say how the API refuses a change that a job's state does not allow."""
        from accounts.api_access.errors import build_not_now, register_refusals
        from jobs.states import InvalidTransition

        register_refusals({InvalidTransition: build_not_now})
