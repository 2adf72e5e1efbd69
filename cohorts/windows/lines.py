"""The members of a page with what a reader needs to judge them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cohorts.models import MemberDecision, WindowMember, WindowResult
from cohorts.windows.counting import WORDS
from cohorts.windows.evidence import Evidence, load_evidence
from cohorts.windows.results import standing_answers
from ehr.models import Encounter
from timelines.cases.listing import title_line


@dataclass(frozen=True, slots=True)
class Side:
    """The answer from one source and what decides it."""

    status: str
    words: str
    share: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class MemberLine:
    """A stay of the list. `was`: what the result before said, "" if the same."""

    member: WindowMember
    encounter: Encounter
    title: str
    first: Side
    second: Side
    was: str
    answer: MemberDecision | None

    @property
    def changed(self) -> bool:
        return self.first.status != self.second.status


def make_lines(
    result: WindowResult, before: WindowResult | None, members: Sequence[WindowMember]
) -> list[MemberLine]:
    """Return the lines of these members, in a fixed number of queries."""
    keys = [m.encounter_id for m in members]
    encounters = Encounter.objects.select_related("dataset").in_bulk(keys)
    for member in members:
        member.encounter = encounters[member.encounter_id]
    evidence = load_evidence(result.dataset, members)
    answers = standing_answers(result.version.window, keys)
    earlier = _load_before(before, keys)
    return [
        MemberLine(
            member,
            member.encounter,
            title_line(member.encounter),
            _side(member.first, member.first_share, evidence[member.pk][0]),
            _side(member.second, member.second_share, evidence[member.pk][1]),
            _was(member, before, earlier.get(member.encounter_id)),
            answers.get(member.encounter_id),
        )
        for member in members
    ]


def _load_before(before: WindowResult | None, keys: Sequence[int]) -> dict[int, tuple[str, str]]:
    found = WindowMember.objects.filter(result=before, encounter__in=keys) if before else ()
    return {m.encounter_id: (m.first, m.second) for m in found}


def _was(member: WindowMember, before: WindowResult | None, found: tuple[str, str] | None) -> str:
    if before is None or found == (member.first, member.second):
        return ""
    if found is None:
        return "not in the result before"
    return f"{WORDS[found[0]].lower()} / {WORDS[found[1]].lower()}"


def _side(status: str, share: float | None, evidence: Sequence[Evidence]) -> Side:
    return Side(status, WORDS[status], describe_share(status, share), tuple(evidence))


def describe_share(status: str, share: float | None) -> str:
    """Return the share of an uncertain stay in words, never "0 %" or "100 %"."""
    if status != "uncertain":
        return ""
    if share is None:
        return "a value or a fact of the stay is not known"
    if share < 0.01:
        return "less than 1 % of the allowed times"
    if share > 0.99:
        return "more than 99 % of the allowed times"
    return f"{share:.0%} of the allowed times".replace("%", " %", 1)
