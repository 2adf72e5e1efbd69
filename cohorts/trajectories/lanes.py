"""Swimlanes: one line for each stay, in an order that shows a pattern.

No Django here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

import polars as pl

from cohorts.trajectories.aligning import Aligned

#: Lanes that are drawn at most; the page says how many there are.
MOST_LANES = 400


class Order(StrEnum):
    """What decides the order of the lanes, from the top."""

    LENGTH = "length"
    FIRST = "first"
    GROUP = "group"
    SIMILAR = "similar"

    @property
    def words(self) -> str:
        return {
            Order.LENGTH: "length of stay",
            Order.FIRST: "time of the first event",
            Order.GROUP: "group, then length",
            Order.SIMILAR: "similar courses",
        }[self]


def order_stays(aligned: Aligned, order: Order, groups: Mapping[int, str]) -> list[int]:
    """Return the stays in the order of their lanes.

    Similar courses: the concepts that happened, in their order of time; then the first time.
    """
    lengths = dict(aligned.stays.select("stay", "end").iter_rows())
    firsts: dict[int, float] = {}
    courses: dict[int, tuple[str, ...]] = {}
    for stay, concept, at in aligned.facts.select("stay", "concept", "at").iter_rows():
        firsts.setdefault(stay, at)
        course = courses.get(stay, ())
        courses[stay] = course if concept in course else (*course, concept)
    last = float("inf")

    def key(stay: int) -> tuple[object, ...]:
        length = lengths[stay]
        by_length = -(length if length is not None else -last)
        if order is Order.GROUP:
            return groups.get(stay, ""), by_length, stay
        if order is Order.FIRST:
            return firsts.get(stay, last), stay
        if order is Order.SIMILAR:
            return courses.get(stay, ("\uffff",)), firsts.get(stay, last), stay
        return by_length, stay

    return sorted(lengths, key=key)


def cut_lanes(aligned: Aligned, stays: list[int]) -> pl.DataFrame:
    """Return the facts of the lanes that are drawn, with `lane` from 0."""
    drawn = stays[:MOST_LANES]
    lanes = pl.DataFrame(
        {"stay": drawn, "lane": range(len(drawn))}, schema={"stay": pl.Int64, "lane": pl.Int64}
    )
    return aligned.facts.join(lanes, on="stay").sort("lane", "at", "fact")
