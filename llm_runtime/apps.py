from django.apps import AppConfig


class LlmRuntimeConfig(AppConfig):
    name = "llm_runtime"

    def ready(self) -> None:
        """Put the models' state into the navigation of admins."""
        from accounts.models import Role
        from accounts.registry import NavItem, register_nav_item

        register_nav_item(
            NavItem("Models", "llm_runtime:models", ("models/",), frozenset({Role.ADMIN})),
            order=400,
        )
