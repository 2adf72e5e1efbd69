"""Add, remove and test webhooks, and queue their messages."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import Study, User
from accounts.permissions import check_user_can_manage_study
from jobs.hints import send_hints
from jobs.models import Webhook, WebhookDelivery
from jobs.webhooks.addresses import AddressRefused, check_address
from jobs.webhooks.registry import TEST, find_ended

#: Most webhooks of a study.
MOST = 10
#: Work that ended within this time is looked at; a round comes every half minute.
RECENT = timedelta(minutes=15)
#: Backoffs of these attempts add up to an hour.
ATTEMPTS = 9
#: Older deliveries are deleted.
KEPT = timedelta(days=30)


@transaction.atomic
def add_webhook(*, study: Study, url: str, by: User) -> Webhook:
    """Add an address, with a new secret. Raises AddressRefused, NotAllowed."""
    check_user_can_manage_study(by, study)
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    check_address(url)
    if Webhook.objects.filter(study=study, url=url).exists():
        raise AddressRefused("The study has this address already.")
    if Webhook.objects.filter(study=study).count() >= MOST:
        raise AddressRefused(f"A study has at most {MOST} webhooks. Remove one first.")
    made = Webhook.objects.create(study=study, url=url, secret=secrets.token_hex(32), created_by=by)
    _audit(made, "webhook.add", by)
    return made


@transaction.atomic
def remove_webhook(*, webhook: Webhook, by: User) -> None:
    """Remove an address with its deliveries. Raises NotAllowed."""
    check_user_can_manage_study(by, webhook.study)
    _audit(webhook, "webhook.remove", by)
    webhook.delete()


@transaction.atomic
def send_test(*, webhook: Webhook, by: User) -> WebhookDelivery:
    """Queue a test message. Raises NotAllowed."""
    check_user_can_manage_study(by, webhook.study)
    _audit(webhook, "webhook.test", by)
    (made,) = _queue([webhook], TEST, webhook.public_id, f"{timezone.now():%Y%m%d%H%M%S%f}")
    return made


def announce_recent() -> None:
    """Queue messages for work that has just ended, once for each occasion."""
    if not Webhook.objects.exists():
        return
    WebhookDelivery.objects.filter(created_at__lt=timezone.now() - KEPT).delete()
    since = timezone.now() - RECENT
    for event, ended in find_ended(since):
        # A webhook that was added later does not learn of what was before.
        hooks = Webhook.objects.filter(study=ended.study_id, created_at__lte=ended.at)
        with transaction.atomic():
            _queue(hooks, event, ended.object_id, f"{ended.at:%Y%m%d%H%M%S%f}")


def _queue(
    webhooks: Iterable[Webhook], event: str, object_id: str, occasion: str
) -> list[WebhookDelivery]:
    """Queue one message for each webhook that has none for the occasion."""
    made = []
    for webhook in webhooks:
        delivery, new = WebhookDelivery.objects.get_or_create(
            webhook=webhook,
            event=event,
            object_id=object_id,
            occasion=occasion,
            defaults={"max_attempts": ATTEMPTS},
        )
        made += [delivery] if new else []
    send_hints(WebhookDelivery, [delivery.pk for delivery in made])
    return made


def _audit(webhook: Webhook, action: str, by: User) -> None:
    record(
        actor=by,
        study=webhook.study,
        action=action,
        object_type="jobs.webhook",
        object_id=webhook.public_id,
    )
