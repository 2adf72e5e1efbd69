"""Controlled comparisons: pairs of sources that differ in one thing.

No Django. Source: protocol section 4.
"""

from __future__ import annotations

from timelines.domain import TimelineKind
from timelines.evaluation.naming import split_source
from timelines.evaluation.values import SourceKey

RECORD, VARIANT, ALTERNATIVE = "the record", "the variant", "the alternative"
_WITH_AND_WITHOUT = {TimelineKind.REVISED.value, TimelineKind.TEXT_ONLY.value}


def find_difference(one: SourceKey, two: SourceKey) -> str:
    """Return the one thing in which two sources differ; "" if in more.

    It is the use of the record, the alternative, or a variant against the full run.
    """
    if one.kind != two.kind:
        alike = (one.source, one.alternative) == (two.source, two.alternative)
        return RECORD if alike and {one.kind, two.kind} == _WITH_AND_WITHOUT else ""
    if one.source == two.source:
        return ALTERNATIVE
    (base, variant), (other, second) = split_source(one.source), split_source(two.source)
    return (
        VARIANT
        if base == other and one.alternative == two.alternative and (not variant) != (not second)
        else ""
    )


def is_second_fuller(one: SourceKey, two: SourceKey) -> bool:
    """Return whether the second of a controlled pair is the fuller one.

    That is the revised one against text alone, or the full run against its variant.
    """
    found = find_difference(one, two)
    return (found == RECORD and two.kind == TimelineKind.REVISED.value) or (
        found == VARIANT and not split_source(two.source)[1]
    )
