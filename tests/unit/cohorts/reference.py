"""Decide a window by trying every time, without code of the engine.

Bounds and limits are whole hours. With n unknown times, an order of times and limits that is
possible at all is possible on a grid of 1 / (n + 1) hour, so the grid is exact.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from cohorts.engine.language import All, Event, Not, Picked, Some, Stay, Window, walk
from cohorts.engine.relations import Interval

#: An open side reaches so far: further than chains of limits around known hours do.
FAR = (-20, 30)


@dataclass(frozen=True)
class Happened:
    """A fact at one time."""

    fact: int
    concept: str
    ordinal: int
    lower: float
    upper: float
    value: float | None
    at: Fraction = Fraction(0)


@dataclass(frozen=True)
class World:
    """A stay in which everything is known."""

    stay: dict[str, Any]
    facts: list[Happened]


def decide(window: Window, facts: list[Happened], stay: dict[str, Any]) -> str:
    """Return yes, no or uncertain, from all worlds."""
    answers = set()
    for world in list_worlds(window, facts, stay):
        answers.add(is_member(window, world))
        if len(answers) == 2:
            return "uncertain"
    return "yes" if answers == {True} else "no"


def list_worlds(window: Window, facts: list[Happened], stay: dict[str, Any]) -> Iterator[World]:
    """Yield every world that the bounds and the unknown values allow."""
    times = {f.fact: (f.lower, f.upper) for f in facts}
    times[0] = (0, math.inf) if stay["discharge"] is None else (stay["discharge"],) * 2
    unknown = [fact for fact, (low, high) in times.items() if low != high]
    step = Fraction(1, len(unknown) + 1)
    hours = [list_hours(*times[fact], step) for fact in times]
    values = {f.fact: [f.value] if f.value is not None else list_values(window) for f in facts}
    abouts = {c.about for c in walk(window.where) if isinstance(c, Stay)}
    known = {
        about: [stay[about]] if stay[about] is not None else list_stay_facts(window, about)
        for about in sorted(abouts)
    }
    for at in itertools.product(*hours):
        when = dict(zip(times, at, strict=True))
        for drawn in itertools.product(*values.values()):
            value = dict(zip(values, drawn, strict=True))
            for asked in itertools.product(*known.values()):
                yield World(
                    {**stay, **dict(zip(known, asked, strict=True)), "discharge": when[0]},
                    [replace(f, at=when[f.fact], value=value[f.fact]) for f in facts],
                )


def list_hours(low: float, high: float, step: Fraction) -> list[Fraction]:
    first = Fraction(FAR[0] if math.isinf(low) else low)
    last = Fraction(FAR[1] if math.isinf(high) else high)
    return [first + step * i for i in range(int((last - first) / step) + 1)]


def list_values(window: Window) -> list[float | None]:
    events = [c.picked for c in walk(window.where) if isinstance(c, Event)]
    picked = [*events, window.anchor]
    return spread([p.value for p in picked if isinstance(p, Picked) and p.value]) or [None]


def list_stay_facts(window: Window, about: str) -> list[Any]:
    tests = [c.value for c in walk(window.where) if isinstance(c, Stay) and c.about == about]
    words: list[Any] = [value for value in tests if isinstance(value, str)]
    return [*words, "other"] if words else spread([v for v in tests if isinstance(v, Interval)])


def spread(intervals: list[Interval]) -> list[Any]:
    ends = sorted({e for i in intervals for e in (i.low, i.high) if not math.isinf(e)})
    return [x for e in ends for x in (e - 0.5, e, e + 0.5)]


def is_member(window: Window, world: World) -> bool:
    """Return whether a stay is a member if everything is known."""
    moments = {"admission": Fraction(0), "discharge": world.stay["discharge"]}
    if isinstance(window.anchor, str):
        return is_true(window.where, world, moments | {"anchor": moments[window.anchor]}, [])
    return any(
        is_true(window.where, world, moments | {"anchor": a.at}, [(a.fact, a.concept)])
        for a in pick(window.anchor, world)
    )


def is_true(criterion: Any, world: World, names: dict[str, Fraction], used: list[Any]) -> bool:
    if isinstance(criterion, All):
        return all(is_true(part, world, names, used) for part in criterion.parts)
    if isinstance(criterion, Some):
        return any(is_true(part, world, names, used) for part in criterion.parts)
    if isinstance(criterion, Not):
        return not is_true(criterion.part, world, names, used)
    if isinstance(criterion, Stay):
        known = world.stay[criterion.about]
        if isinstance(criterion.value, str):
            return (known == criterion.value) != criterion.negated
        return inside(known, criterion.value)
    fitting = 0
    for found in pick(criterion.picked, world):
        me = (found.fact, found.concept)
        if me in used:
            continue
        if not all(inside(found.at - names[s.reference], s.hours) for s in criterion.spans):
            continue
        inner = {**names, criterion.name: found.at} if criterion.name else names
        fitting += is_true(criterion.where, world, inner, [*used, me])
    most = math.inf if criterion.at_most is None else criterion.at_most
    return criterion.at_least <= fitting <= most


def pick(picked: Picked, world: World) -> list[Happened]:
    found = [f for f in world.facts if f.concept == picked.concept]
    if picked.value:
        found = [f for f in found if f.value is not None and inside(f.value, picked.value)]
    if not picked.which:
        return found
    found.sort(key=lambda f: (f.at, f.ordinal, f.fact))
    place = picked.which if picked.which < 0 else picked.which - 1
    return found[place:][:1]


def inside(number: Any, interval: Interval) -> bool:
    above = number > interval.low if interval.low_open else number >= interval.low
    below = number < interval.high if interval.high_open else number <= interval.high
    return bool(above and below)
