"""Addresses of ratings and what they rest on."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
