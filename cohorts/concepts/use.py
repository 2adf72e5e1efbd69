"""Count what uses the versions of concepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from django.db.models import Count, Q

from cohorts.models import AsOfReport, Trajectory, WindowVersion


def count_uses(concepts: Collection[int]) -> dict[int, int]:
    """Return concept → number of analyses that use a version."""
    found: Counter[int] = Counter()
    for model, field, what in (
        (WindowVersion, "concepts__concept", "window"),
        (AsOfReport, "concepts__concept", "pk"),
        (Trajectory, "concepts__concept", "pk"),
    ):
        rows = (
            model._default_manager.filter(Q(**{f"{field}__in": list(concepts)}))
            .order_by()
            .values_list(field)
            .annotate(Count(what, distinct=True))
        )
        for concept, count in rows:
            found[concept] += count
    return dict(found)
