from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "jobs"

    def ready(self) -> None:
        """Register webhooks, and how the API refuses a change of a job."""
        from accounts.api_access.errors import build_not_now, build_refused, register_refusals
        from accounts.registry import register_study_card
        from jobs.models import WebhookDelivery
        from jobs.registry import register
        from jobs.states import InvalidTransition
        from jobs.tasks import send_delivery_hints
        from jobs.webhooks.addresses import AddressRefused
        from jobs.webhooks.card import webhooks_card

        register_refusals({InvalidTransition: build_not_now, AddressRefused: build_refused})
        register(WebhookDelivery, send_delivery_hints)
        register_study_card(webhooks_card, order=200)
