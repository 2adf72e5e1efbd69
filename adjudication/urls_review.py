"""Addresses of the blinded review. They carry random public ids and nothing else."""

from __future__ import annotations

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
