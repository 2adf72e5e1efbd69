"""Pairs of a mapping in templates."""

from __future__ import annotations

from collections.abc import ItemsView, Mapping
from typing import Any

from django import template

register = template.Library()


@register.filter
def pairs(mapping: Mapping[str, Any]) -> ItemsView[str, Any]:
    """Return keys with their values.

    `mapping.items` in a template gives the value of a key "items" if there is one.
    """
    return mapping.items()
