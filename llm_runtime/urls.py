"""Addresses of the models' state."""

from __future__ import annotations

from django.urls import path

from llm_runtime import views

app_name = "llm_runtime"
urlpatterns = [
    path("models/", views.models, name="models"),
    path("models/health/", views.health, name="health"),
]
