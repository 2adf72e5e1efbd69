"""Addresses of webhooks."""

from __future__ import annotations

from django.urls import path

from jobs import views

app_name = "jobs"
urlpatterns = [
    path("study/webhooks/", views.add, name="webhook_add"),
    path("study/webhooks/<public_id:public_id>/remove/", views.remove, name="webhook_remove"),
    path("study/webhooks/<public_id:public_id>/test/", views.test, name="webhook_test"),
]
