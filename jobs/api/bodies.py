"""Webhooks in the API."""

from __future__ import annotations

from rest_framework.serializers import CharField, ChoiceField, DateTimeField, IntegerField

from accounts.api_access.bodies import Page
from accounts.api_access.operations import Body
from jobs.models import JobState


class Webhook(Body):
    """An address that learns when work of a study has ended."""

    id = CharField(source="public_id")
    study = CharField(source="study.public_id")
    url = CharField()
    created_at = DateTimeField()


class WebhookPage(Page):
    """Webhooks, oldest first."""

    results = Webhook(many=True)


class WebhookMade(Webhook):
    """A new webhook with its secret, which is shown once."""

    secret = CharField(help_text="It signs what is sent.")


class WebhookStart(Body):
    """A new address."""

    url = CharField(max_length=500)


class WebhookDelivery(Body):
    """One message to a webhook."""

    id = CharField(source="public_id")
    event = CharField()
    object_id = CharField()
    state = ChoiceField(JobState.choices)
    attempts = IntegerField(source="attempt")
    status = IntegerField(allow_null=True, help_text="Of the last answer; null without one.")
    created_at = DateTimeField()


class WebhookDeliveryPage(Page):
    """Messages, newest first."""

    results = WebhookDelivery(many=True)
