"""Addresses of the API of webhooks."""

from __future__ import annotations

from django.urls import URLPattern, path

from jobs.api import views

app_name = "jobs_api"
_ONE = "webhooks/<public_id:webhook_id>/"
urlpatterns: list[URLPattern] = [
    path("webhooks/", views.Webhooks.as_view(), name="webhooks"),
    path(_ONE, views.WebhookOne.as_view(), name="webhook"),
    path(f"{_ONE}test/", views.WebhookTest.as_view(), name="webhook_test"),
    path(f"{_ONE}deliveries/", views.WebhookDeliveries.as_view(), name="webhook_deliveries"),
]
