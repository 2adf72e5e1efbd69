"""Webhooks in the API, for study admins."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Any

from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from accounts.api_access.access import (
    ADMINS,
    STUDY,
    ApiView,
    find_requested_studies,
    find_study,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import LIMIT, OFFSET, load_page
from jobs.api import bodies
from jobs.models import Webhook, WebhookDelivery
from jobs.webhooks.actions import add_webhook, remove_webhook, send_test

webhook_operation = partial(operation, "webhooks")


class Webhooks(ApiView):
    @webhook_operation("webhook_list", bodies.WebhookPage, parameters=[STUDY, LIMIT, OFFSET])
    def get(self, request: Request) -> dict[str, Any]:
        """Return the webhooks of your studies, without their secrets."""
        studies = find_requested_studies(request, ADMINS)
        return load_page(request, Webhook.objects.filter(study__in=studies).select_related("study"))

    @webhook_operation(
        "webhook_add",
        bodies.WebhookMade,
        refuses=(422,),
        takes=bodies.WebhookStart,
        status=HTTPStatus.CREATED,
        parameters=[STUDY],
    )
    def post(self, request: Request) -> Webhook:
        """Add an address; the answer has its secret, once."""
        study = find_study(request, request.query_params.get("study", ""))
        url = read_body(bodies.WebhookStart, request)["url"]
        return add_webhook(study=study, url=url, by=require_person(request))


class WebhookOne(ApiView):
    @webhook_operation("webhook_remove", None)
    def delete(self, request: Request, webhook_id: str) -> None:
        """Remove an address with its deliveries."""
        remove_webhook(webhook=_find(request, webhook_id), by=require_person(request))


class WebhookTest(ApiView):
    @webhook_operation("webhook_test", bodies.WebhookDelivery, status=HTTPStatus.CREATED)
    def post(self, request: Request, webhook_id: str) -> WebhookDelivery:
        """Queue a test message."""
        return send_test(webhook=_find(request, webhook_id), by=require_person(request))


class WebhookDeliveries(ApiView):
    @webhook_operation("webhook_deliveries", bodies.WebhookDeliveryPage, parameters=[LIMIT, OFFSET])
    def get(self, request: Request, webhook_id: str) -> dict[str, Any]:
        """Return the messages of the last 30 days, newest first."""
        return load_page(
            request, WebhookDelivery.objects.filter(webhook=_find(request, webhook_id))
        )


def _find(request: Request, webhook_id: str) -> Webhook:
    """Return a webhook of this admin. Raises Http404, NotAllowed."""
    studies = require_studies(request, ADMINS)
    found = Webhook.objects.select_related("study")
    return get_object_or_404(found, study__in=studies, public_id=webhook_id)
