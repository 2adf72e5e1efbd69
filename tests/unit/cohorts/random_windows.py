"""Make random windows and stays, small enough to try every time."""

from __future__ import annotations

import math
import random
from typing import Any

import polars as pl

from cohorts.engine import language as lang
from cohorts.engine.language import All, Event, Not, Picked, Some, Stay, Window
from cohorts.engine.relations import After, Before, Between, Interval, Relation, Within
from cohorts.engine.values import FACTS, STAYS
from tests.unit.cohorts.reference import Happened

CONCEPTS = ["fever", "culture", "antibiotic"]
KINDS = [
    (Within, False),
    (Before, False),
    (After, False),
    (Between, False),
    (Between, True),
]


def make_window(rng: random.Random) -> Window:
    """A window of one to three criteria, up to three levels deep."""
    anchor: Any = make_picked(rng) if rng.random() < 0.7 else rng.choice(["admission", "discharge"])
    names = ["anchor", "admission", "discharge"]
    return Window("random", anchor, make_all(rng, names, 1, rng.randint(1, 3)))


def make_all(rng: random.Random, names: list[str], depth: int, size: int) -> All:
    return All(tuple(make_criterion(rng, names, depth) for _ in range(size)))


def make_criterion(rng: random.Random, names: list[str], depth: int) -> lang.Criterion:
    kind = rng.random()
    if kind < 0.1:
        return make_stay_test(rng)
    if kind < 0.2 and depth < 3:
        return Some(make_all(rng, names, depth + 1, 2).parts)
    if kind < 0.3 and depth < 3:
        part = make_criterion(rng, names, depth + 1)
        return part if isinstance(part, All) else Not(part)
    return make_event(rng, names, depth)


def make_stay_test(rng: random.Random) -> Stay:
    if rng.random() < 0.5:
        return Stay("sex", rng.choice(["F", "M"]), rng.random() < 0.3)
    return Stay("age", Interval(low=rng.choice([18, 65])))


def make_event(rng: random.Random, names: list[str], depth: int) -> Event:
    picked = make_picked(rng)
    number = rng.choice([0, 1, 1, 1, 1, 1, 2])
    made = [make_relation(rng, names) for _ in range(number)]
    # One of each kind, in the order in which they are read.
    by_kind = {KINDS.index((type(r), getattr(r, "during", False))): r for r in made}
    relations = [by_kind[kind] for kind in sorted(by_kind)]
    least, most = rng.choice([(1, None), (1, None), (1, None), (0, 0), (0, 0), (2, None), (0, 1)])
    if depth >= 3 or rng.random() < 0.6:
        return Event(picked, tuple(relations), least, most)
    name = f"e{depth}-{rng.randint(0, 999)}"
    inner = make_all(rng, [*names, name], depth + 1, 1)
    return Event(picked, tuple(relations), least, most, name, inner)


def make_picked(rng: random.Random) -> Picked:
    which = rng.choice([lang.ANY, lang.ANY, lang.ANY, lang.FIRST, lang.LAST, 2])
    value = Interval(low=5, low_open=rng.random() < 0.5) if rng.random() < 0.15 else None
    return Picked(rng.choice(CONCEPTS), value, which)


def make_relation(rng: random.Random, names: list[str]) -> Relation:
    first, second = rng.choice(names), rng.choice(names)
    kind = rng.random()
    if kind < 0.2:
        return Before(first)
    if kind < 0.4:
        return After(first)
    if kind < 0.55:
        return Between(first, second, rng.random() < 0.5)
    low = rng.randint(-2, 3)
    high = low + rng.randint(0, 3)
    opened = [low < high and rng.random() < 0.25 for _ in range(2)]
    limits = (
        Interval(low, math.inf, opened[0])
        if rng.random() < 0.1
        else Interval(low, high, opened[0], opened[1])
    )
    return Within(limits, first, rng.random() < 0.3)


def make_stay(rng: random.Random) -> tuple[dict[str, Any], list[Happened]]:
    """A stay of up to six occurrences, three of them at unknown times."""
    size = rng.randint(0, 6)
    inexact = set(rng.sample(range(size), min(size, rng.choice([0, 1, 1, 2, 2, 3]))))
    opened = rng.random() < 0.2 and len(inexact) < 3
    ordinals = rng.sample(range(10), size)
    unknown_value = rng.randrange(size) if size and rng.random() < 0.1 else None
    facts: list[Happened] = []
    for place in range(size):
        lower: float = rng.randint(-1, 8)
        upper: float = lower
        if place in inexact:
            upper = lower + rng.randint(1, 2 if len(inexact) == 3 else 4)
            if opened:
                lower, upper = rng.choice([(-math.inf, upper), (lower, math.inf)])
                opened = False
        value = None if place == unknown_value else float(rng.choice([4, 5, 6]))
        concept = rng.choice(CONCEPTS)
        fact = Happened(place + 1, concept, ordinals[place], lower, upper, value)
        facts.append(fact)
        if rng.random() < 0.05:
            other = rng.choice([c for c in CONCEPTS if c != concept])
            facts.append(Happened(place + 1, other, ordinals[place], lower, upper, value))
    stay = {
        "discharge": None if not inexact and rng.random() < 0.2 else rng.randint(6, 10),
        "age": None if rng.random() < 0.1 else rng.choice([10, 18, 70]),
        "sex": None if rng.random() < 0.1 else rng.choice(["F", "M"]),
    }
    return stay, facts


def frame(
    made: list[tuple[dict[str, Any], list[Happened]]], *, shift: float = 0.0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return facts and stays as columns; the stays are numbered from 0."""
    facts = [
        (n, f.concept, f.fact, f.ordinal, f.lower + shift, f.upper + shift, None, f.value)
        for n, (_, of_stay) in enumerate(made)
        for f in of_stay
    ]
    stays = [dict.fromkeys(STAYS) | stay | {"stay": n} for n, (stay, _) in enumerate(made)]
    return (
        pl.DataFrame(facts, schema=FACTS, orient="row"),
        pl.DataFrame(stays, schema=STAYS),
    )
