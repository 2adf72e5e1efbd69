"""Addresses of authoring: a clinician's own timeline of a case."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
