"""Decide whether two mentions of different notes are one event.

They are one if they are about the same thing (the vocabulary by which rows are judged), say the
same act, contradict each other in nothing, and can be at one moment. A doubt is a refusal: two
events that are not linked have their own times, and a false link gives both a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from timelines.backbones.rules.linking.words import (
    find_content,
    find_opposites,
    find_regions,
    is_again,
    is_ongoing,
)
from timelines.backbones.rules.querying.courses import LASTING
from timelines.backbones.rules.querying.reading import Act, Reading
from timelines.backbones.rules.querying.vocabulary import Concept, Kind
from timelines.backbones.rules.revision.stated import Stated, stated_values
from timelines.backbones.rules.timing.estimate import PLAN
from timelines.domain import LEAST_TOLERANCE, Entry
from timelines.pipeline.linking.intervals import find_interval

#: Mentions without a common vocabulary are alike from this cosine on.
ALIKE = 0.85
#: Common words from which the longer of two mentions may say more.
_ENOUGH_WORDS = 2
_ACT_WORDS = {
    Act.BEGIN: "begun",
    Act.END: "ended",
    Act.ORDER: "ordered",
    Act.CHANGE: "changed",
    Act.STATE: "",
}
#: Differences below this are those of arithmetic.
_EXACT = 1e-6
_NEVER = (math.inf, -math.inf)
_DRUGS = (Kind.DRUG, Kind.DRUG_CLASS)


@dataclass(frozen=True)
class Mentioned:
    """An occurrence as the rules read it, with the time that its note gives.

    `entry` has the bounds by which rows are judged.
    """

    reading: Reading
    entry: Entry

    @property
    def concept(self) -> Concept | None:
        """The thing that is named; None for a finding or a condition."""
        return None if self.reading.implied else self.reading.concept

    @cached_property
    def content(self) -> frozenset[str]:
        return find_content(self.reading.occurrence.mention)

    @cached_property
    def values(self) -> tuple[Stated, ...]:
        return tuple(dict.fromkeys(stated_values(self.reading.text)))

    @property
    def act(self) -> Act:
        """What was done, as far as two events differ by it.

        A study is done and a value is measured, by any verb. That something began and
        that it was there is one event for a finding, but not for a drug or a device.
        """
        act, concept = self.reading.act, self.concept
        if act in (Act.END, Act.ORDER):
            return act
        if concept is None:
            return Act.STATE if act is Act.BEGIN else act
        differs = concept.kind in _DRUGS or concept.name in LASTING
        return act if differs and not is_ongoing(self.reading.text) else Act.STATE


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether two mentions are one event, with the reason."""

    same: bool
    reason: str


def compare(first: Mentioned, second: Mentioned, similarity: float) -> Verdict:
    """Return the verdict on two mentions of different notes."""
    for find_fault in _FAULTS:
        if fault := find_fault(first, second):
            return Verdict(False, fault)
    if fault := _find_other_thing(first, second, similarity):
        return Verdict(False, fault)
    return Verdict(True, _explain(first, second))


def states_same_value(first: Mentioned, second: Mentioned) -> bool:
    """Return whether both state a value, and it is the same."""
    return bool(first.values and second.values) and not _find_value_fault(first, second)


def _find_polarity_fault(first: Mentioned, second: Mentioned) -> str:
    one, other = first.reading.occurrence.polarity, second.reading.occurrence.polarity
    return "" if one is other else f"one is {one.value}, the other {other.value}"


def _find_plan_fault(first: Mentioned, second: Mentioned) -> str:
    """Return that one note plans what the other reports, in any words."""
    planned = [m.entry.decided_by == PLAN for m in (first, second)]
    return "one is a plan, the other is not" if planned[0] != planned[1] else ""


def _find_act_fault(first: Mentioned, second: Mentioned) -> str:
    if first.act is second.act:
        return ""
    return f"different acts: {first.act.value} and {second.act.value}"


def _find_word_fault(first: Mentioned, second: Mentioned) -> str:
    one, other = first.reading.text, second.reading.text
    if words := find_opposites(one, other):
        return f"the notes say {words}"
    if is_again(one) != is_again(other):
        return "one is a repetition"
    regions = find_regions(one), find_regions(other)
    if all(regions) and not regions[0] & regions[1]:
        return "different regions or specimens"
    return ""


def _find_value_fault(first: Mentioned, second: Mentioned) -> str:
    fewer, more = sorted((first.values, second.values), key=len)
    measured = first.concept is not None and first.concept.kind is Kind.MEASUREMENT
    if not fewer:
        return "a measurement without its value" if measured else ""
    is_drug = first.concept is not None and first.concept.kind in _DRUGS
    if all(any(_is_equal(v, w, is_drug) for w in more) for v in fewer):
        return ""
    return "different values"


def _is_equal(first: Stated, second: Stated, is_drug: bool) -> bool:
    """Return whether two stated values can be one; grams equal milligrams."""
    if first.low + _EXACT < second.high and second.low + _EXACT < first.high:
        return True
    one, other = first.exact, second.exact
    if not is_drug or one is None or other is None:
        return False
    return any(math.isclose(one * factor, other, rel_tol=0.01) for factor in (1000.0, 0.001))


def _find_time_fault(first: Mentioned, second: Mentioned) -> str:
    if find_interval(first.entry) is None or find_interval(second.entry) is None:
        return "a note gives no time"
    if _can_be_once(first.entry, second.entry):
        return ""
    return "the times exclude each other"


def _can_be_once(first: Entry, second: Entry) -> bool:
    """Return whether two times may well be one moment.

    Bounds that only touch do not count: what two daily notes report is from the time between
    them. Common are at least half of the narrower bounds, or hours within which times are the same.
    """
    (low, high), (start, end) = find_interval(first) or _NEVER, find_interval(second) or _NEVER
    common = min(high, end) - max(low, start)
    return common >= min(LEAST_TOLERANCE, (high - low) / 2, (end - start) / 2) - _EXACT


_FAULTS: tuple[Callable[[Mentioned, Mentioned], str], ...] = (
    _find_polarity_fault,
    _find_plan_fault,
    _find_act_fault,
    _find_word_fault,
    _find_value_fault,
    _find_time_fault,
)


def _find_other_thing(first: Mentioned, second: Mentioned, similarity: float) -> str:
    """Return why they are about different things; "" if they are not."""
    one, other = first.concept, second.concept
    if one is not None and other is not None:
        return "" if one.name == other.name else f"{one.name} and {other.name}"
    if one is not None or other is not None:
        return "one names a thing of the record, the other a finding"
    carriers = {m.reading.carrier.name for m in (first, second) if m.reading.carrier}
    if len(carriers) > 1:
        return "findings of different studies"
    if first.content == second.content and first.content:
        return ""
    common = first.content & second.content
    if len(common) >= _ENOUGH_WORDS and common in (first.content, second.content):
        return ""
    return "" if common and similarity >= ALIKE else "different words"


def _explain(first: Mentioned, second: Mentioned) -> str:
    concept = first.concept
    if concept is None:
        thing = f"same words ({', '.join(sorted(first.content & second.content))})"
    else:
        kind = "drug" if concept.kind in _DRUGS else concept.kind.value
        thing = f"same {kind} ({concept.name})"
    act = f", {words}" if (words := _ACT_WORDS[first.act]) else ""
    value = ", same value" if states_same_value(first, second) else ""
    return f"{thing}{act}{value}; both notes allow one time"
