"""Which pairs of sources are a controlled comparison: two that differ in one thing. No Django here.
Source: protocol section 4.
"""

from __future__ import annotations

from timelines.domain import TimelineKind
from timelines.evaluation.naming import variant_of
from timelines.evaluation.values import SourceKey

RECORD, VARIANT, ALTERNATIVE = "the record", "the variant", "the alternative"
_WITH_AND_WITHOUT = {TimelineKind.REVISED.value, TimelineKind.TEXT_ONLY.value}


def differ_in(one: SourceKey, two: SourceKey) -> str:
    """The one thing in which two sources differ: whether the record was used, the alternative, a
    variant against the full run.

    "" where they differ in more.
    """
    if one.kind != two.kind:
        alike = (one.source, one.alternative) == (two.source, two.alternative)
        return RECORD if alike and {one.kind, two.kind} == _WITH_AND_WITHOUT else ""
    if one.source == two.source:
        return ALTERNATIVE
    (base, variant), (other, second) = variant_of(one.source), variant_of(two.source)
    return (
        VARIANT
        if base == other and one.alternative == two.alternative and (not variant) != (not second)
        else ""
    )


def fuller_is_second(one: SourceKey, two: SourceKey) -> bool:
    """Whether the second of a controlled pair is the revised one against text alone, or the full
    run against a variant of it.
    """
    found = differ_in(one, two)
    return (found == RECORD and two.kind == TimelineKind.REVISED.value) or (
        found == VARIANT and not variant_of(two.source)[1]
    )
