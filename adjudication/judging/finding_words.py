"""Findings in the words of the unblinded pages. No Django.

They name the kind of difference, the judge's verdict and the reason for a charge (protocol section
4, "Charging"). A and B are the judge's labels; the caller gives the names of the sources.
"""

from __future__ import annotations

from collections.abc import Mapping

from accounts.wording import inflect_noun
from adjudication.domain import Finding, FindingType, Grounding, Relation, Side, Verdict
from adjudication.scoring.errors import WEIGHTS, Category, charge
from ehr.presentation.wording import span_words

TYPE_WORDS: Mapping[FindingType, str] = {
    FindingType.VALUE: "different value",
    FindingType.TIMING: "different time",
    FindingType.A_ONLY: "only in A",
    FindingType.B_ONLY: "only in B",
    FindingType.SHARED_UNSUPPORTED: "in both, unsupported",
    FindingType.DUPLICATE: "reported twice",
}
GROUNDING_WORDS: Mapping[Grounding, str] = {
    Grounding.NOTE: "note",
    Grounding.TABLE: "record",
    Grounding.BOTH: "note and record",
    Grounding.NONE: "nothing",
}
CATEGORY_WORDS: Mapping[Category, str] = {
    Category.OVER_ANNOTATION: "over-annotation",
    Category.FALSE_DUPLICATE: "false duplicate",
    Category.WRONG_TIME: "wrong time",
    Category.WRONG_VALUE: "wrong value",
    Category.MISSED_POSITIVE: "missed event",
    Category.MISSED_NEGATIVE: "missed absence",
    Category.MISSED_RECURRENCE: "missed recurrence",
}
_BECAUSE: Mapping[Category, str] = {
    Category.OVER_ANNOTATION: "it has an event that neither note nor record support",
    Category.FALSE_DUPLICATE: "it has one event twice",
    Category.WRONG_TIME: "the judge found its time wrong",
    Category.WRONG_VALUE: "the judge found its value or wording wrong",
    Category.MISSED_POSITIVE: "it lacks an event that is supported",
    Category.MISSED_NEGATIVE: "it lacks a supported statement that something was absent",
    Category.MISSED_RECURRENCE: "it lacks an event that really happened again",
}
RELATION_WORDS: Mapping[Relation, str] = {
    Relation.NOVEL_EVENT: "an event that the other timeline lacks",
    Relation.ADDED_DETAIL: "a detail of an event that both have",
}
UNSETTLED: Mapping[FindingType, str] = {
    FindingType.TIMING: "Note and record do not show which time is right.",
    FindingType.VALUE: "Note and record do not show which value is right.",
    FindingType.DUPLICATE: "Note and record do not show whether the event happened again.",
}


def verdict_words(finding: Finding) -> str:
    """Return the verdict in table words: "A right", "supported", "extra copy"."""
    verdict, holder = finding.verdict, finding.holder
    if verdict is Verdict.UNCLEAR:
        return "unclear"
    if verdict is Verdict.BOTH:
        return "both possible"
    if verdict is Verdict.NEITHER:
        return "neither right"
    if holder is None:
        return f"{verdict} right"
    real = verdict.value == holder.value
    if finding.type is FindingType.DUPLICATE:
        return "real recurrence" if real else "extra copy"
    return "supported" if real else "not supported"


def verdict_sentence(finding: Finding) -> str:
    """Return the judge's verdict as a sentence."""
    verdict, holder, kind = finding.verdict, finding.holder, finding.type
    if verdict is Verdict.UNCLEAR:
        return UNSETTLED.get(kind, "Note and record do not show whether the event belongs here.")
    if kind is FindingType.SHARED_UNSUPPORTED:
        return "Both timelines have the event, and neither note nor record support it."
    what = "time" if kind is FindingType.TIMING else "value"
    if verdict in (Verdict.BOTH, Verdict.NEITHER):
        return (
            f"Both {what}s are possible."
            if verdict is Verdict.BOTH
            else f"Neither {what} is right."
        )
    if holder is None:
        right = Side(verdict.value)
        return f"The {what} in {right} is right, the one in {right.other} is not."
    real = verdict.value == holder.value
    if kind is FindingType.DUPLICATE:
        return (
            "The second row is a real recurrence."
            if real
            else "The second row is an extra copy of one event."
        )
    return (
        f"The row in {holder} is supported." if real else f"The row in {holder} is not supported."
    )


def charge_sentence(finding: Finding, name_a: str, name_b: str) -> str:
    """Return which source is charged with what, or why none is.

    Includes weight and reason. `name_a`, `name_b`: the sources behind the labels.
    """
    charged = charge(finding)
    if charged is None:
        return "No source is charged: only a verdict for one side costs points."
    name = name_a if charged.side is Side.A else name_b
    weight = weight_words(charged.category)
    return (
        f"{name} is charged with {_article(CATEGORY_WORDS[charged.category])}, {weight}, because"
        f" {_BECAUSE[charged.category]}."
    )


def flag_sentence(finding: Finding) -> str:
    """Say why a finding is flagged; return "" if it is not."""
    if not finding.flagged:
        return ""
    ratings = "The finding counts; ratings are also shown without it."
    return f"The two times are within the tolerance, so they count as equal. {ratings}"


def weight_words(category: Category) -> str:
    """Return the category's weight in words: "1 point", "0.5 points"."""
    weight = WEIGHTS[category]
    return f"{weight:g} {inflect_noun(weight, 'point')}"


def size_words(a_time: int | None, b_time: int | None) -> str:
    """Return how far apart two whole hours are; "" if either is missing."""
    if a_time is None or b_time is None:
        return ""
    return "same hour" if a_time == b_time else span_words(float(abs(a_time - b_time)))


def _article(words: str) -> str:
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"
