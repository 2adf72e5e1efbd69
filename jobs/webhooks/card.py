"""Webhooks on the page of a study."""

from __future__ import annotations

from accounts.models import Study, User
from accounts.registry import Card
from jobs.models import Webhook, WebhookDelivery

#: Deliveries shown of each webhook.
SHOWN = 5


def webhooks_card(user: User, study: Study) -> Card:
    """Return the webhooks of the study with their last deliveries."""
    hooks = [
        {"hook": hook, "deliveries": WebhookDelivery.objects.filter(webhook=hook)[:SHOWN]}
        for hook in Webhook.objects.filter(study=study)
    ]
    return Card("Webhooks", template="jobs/_webhooks.html", context={"hooks": hooks})
