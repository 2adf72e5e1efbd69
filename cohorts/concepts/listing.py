"""Concepts with their counts over the cases that are open to a person."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Max

from accounts.models import Study
from cohorts.concepts.access import is_closed
from cohorts.concepts.counting import count_states, count_stays
from cohorts.concepts.use import count_uses
from cohorts.models import Concept


@dataclass(frozen=True, slots=True)
class Line:
    """A concept of the list.

    `version` is None without one, and while versions are closed.
    """

    concept: Concept
    accepted: int
    waiting: int
    stays: int
    version: int | None
    uses: int


def list_lines(study: Study, concepts: Sequence[Concept], closed: Collection[int]) -> list[Line]:
    """Return a line for each of these concepts of a study, in their order."""
    keys = [concept.pk for concept in concepts]
    newest = dict(
        Concept.objects.filter(pk__in=keys)
        .order_by()
        .annotate(newest=Max("versions__number"))
        .values_list("pk", "newest")
    )
    hidden = is_closed(study, closed)
    states, stays = count_states(study, closed), count_stays(study, keys, closed)
    uses = count_uses(keys)
    return [
        Line(
            one,
            states.get(one.pk, {}).get("accepted", 0),
            states.get(one.pk, {}).get("proposed", 0),
            stays.get(one.pk, 0),
            None if hidden else newest[one.pk],
            uses.get(one.pk, 0),
        )
        for one in concepts
    ]
