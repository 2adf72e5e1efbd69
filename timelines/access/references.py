"""What the name of a source means where timelines are chosen.

A name is a source. `consensus` is each case's consensus, of any two authors, so that a cohort with
several pairs of authors has one reference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from django.db.models import Q

from timelines.access.authoring import CONSENSUS, SUPERSEDED_TIMELINES, is_superseded

#: The name of each case's consensus.
ANY_CONSENSUS = "consensus"
T = TypeVar("T", bound=Any)


def is_consensus(source: str) -> bool:
    """Return whether a source reconciles two authors, or names all such."""
    return source == ANY_CONSENSUS or source.startswith(CONSENSUS)


def match_sources(names: Collection[str]) -> Q:
    """Return the condition on timelines for having one of these names.

    A superseded submission has it only under its own name.
    """
    found = [Q(source__in=list(names))]
    if ANY_CONSENSUS in names:
        found.append(Q(source__startswith=CONSENSUS) & ~SUPERSEDED_TIMELINES)
    return reduce(or_, found)


def add_consensus(references: Iterable[str]) -> list[str]:
    """Return names of references with `consensus` if one of them is one."""
    names = set(references)
    if any(is_consensus(name) and not is_superseded(name) for name in names):
        names.add(ANY_CONSENSUS)
    return sorted(names)


def find_named(timelines: Iterable[T], name: str) -> T | None:
    """Return the timeline of a case with this name; None if there is none.

    Of several consensuses of one case it is the one stored last.
    """
    if name != ANY_CONSENSUS:
        return next((t for t in timelines if t.source == name), None)
    found = [t for t in timelines if is_consensus(t.source) and not is_superseded(t.source)]
    return max(found, key=lambda t: t.pk, default=None)
