"""The figures of an as-of report: table, file and plot. No Django here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cohorts.asof.states import TOO_EARLY, State
from timelines.domain import Lane
from timelines.evaluation.tables import Table
from timelines.presentation.wording import LANE_WORDS


@dataclass(frozen=True, slots=True)
class Count:
    """Occurrences of a state, and the stays that have one."""

    state: State
    occurrences: int
    stays: int


@dataclass(frozen=True, slots=True)
class Group:
    """The counts of a lane or a concept; `key` names it in addresses."""

    kind: str
    key: str
    words: str
    counts: tuple[Count, ...]

    @property
    def total(self) -> int:
        return sum(count.occurrences for count in self.counts)

    @property
    def too_early(self) -> int:
        """Occurrences that a reader of the finished note knows too early."""
        return sum(count.occurrences for count in self.counts if count.state in TOO_EARLY)

    @property
    def share(self) -> float | None:
        """The share of these, None without any."""
        return self.too_early / self.total if self.total else None


def read_groups(report: Mapping[str, Any], names: Mapping[str, str]) -> list[Group]:
    """Return the groups: lanes in their order, then concepts by name.

    `names`: key of a concept's version → its name.
    """
    lanes = [lane.value for lane in Lane]
    groups = [_group(found, names) for found in report["groups"]]
    shown = {group.key for group in groups if group.kind == "concept"}
    groups += [_empty(key, names) for key in names if key not in shown]
    return sorted(
        groups,
        key=lambda g: (g.kind != "lane", lanes.index(g.key) if g.kind == "lane" else 0, g.words),
    )


def _group(found: Mapping[str, Any], names: Mapping[str, str]) -> Group:
    key, kind = found["name"], found["kind"]
    words = LANE_WORDS[Lane(key)] if kind == "lane" else names.get(key, "a deleted concept")
    states = found["states"]
    counts = tuple(Count(state, *states.get(state.value, (0, 0))) for state in State)
    return Group(kind, key, words, counts)


def _empty(key: str, names: Mapping[str, str]) -> Group:
    return Group("concept", key, names[key], tuple(Count(state, 0, 0) for state in State))


def sum_lanes(groups: Sequence[Group]) -> Group:
    """Return all lanes together.

    The stays are not added, because one stay has several lanes.
    """
    lanes = [group for group in groups if group.kind == "lane"]
    counts = tuple(
        Count(state, sum(group.counts[at].occurrences for group in lanes), 0)
        for at, state in enumerate(State)
    )
    return Group("all", "", "All kinds", counts)


def make_table(groups: Sequence[Group]) -> Table:
    """Return the figures as a table for a file."""
    heads = ("kind", "name", "state", "occurrences", "stays")
    rows = tuple(
        (group.kind, group.words, count.state.value, count.occurrences, count.stays)
        for group in groups
        for count in group.counts
    )
    return Table("as-of", "What was known", heads, rows)


def make_plot(groups: Sequence[Group]) -> dict[str, Any]:
    """Return what the plot draws: a bar a group, a part a state."""
    return {
        "groups": [group.words for group in groups],
        "states": [
            {
                "name": state.value,
                "words": state.words,
                "counts": [group.counts[at].occurrences for group in groups],
                "totals": [group.total for group in groups],
            }
            for at, state in enumerate(State)
        ],
    }
