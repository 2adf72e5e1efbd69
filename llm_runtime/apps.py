from django.apps import AppConfig


class LlmRuntimeConfig(AppConfig):
    name = "llm_runtime"

    def ready(self) -> None:
        """Put the models' state into the menu; say how the API refuses a model."""
        from accounts.api_access.errors import build_refused, register_refusals
        from accounts.models import Role
        from accounts.registry import NavItem, register_nav_item
        from llm_runtime.base import ProviderError

        register_refusals({ProviderError: build_refused})

        register_nav_item(
            NavItem("Models", "llm_runtime:models", ("models/",), frozenset({Role.ADMIN})),
            order=400,
        )
