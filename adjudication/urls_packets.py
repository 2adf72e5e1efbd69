"""Addresses of packets and their report cards."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
