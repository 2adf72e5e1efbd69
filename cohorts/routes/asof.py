"""Addresses of asof: random public ids and numbers, never text of a note or a record."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
