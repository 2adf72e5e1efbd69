"""Choose one row or none for every occurrence, jointly.

A chain through the note (Viterbi) finds the start, then each occurrence is reconsidered against all
its links until nothing changes: neighbours in the text, the previous occurrence of the same thing,
context UIDs. A link asks that the rows preserve the distance and the order of the text, and that
two occurrences that are apart in the text do not share one row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from timelines.backbones.rules.revision.judge import Verdict

#: Cost of keeping the text time: a row is adopted only if it is cheaper.
KEEP_COST = 0.7
_SWEEPS = 8
_APART_HOURS = 1.0
#: Costs of a link: a distance that differs by 12 h or more, a reversed order, one row for two
#: moments.
_STRETCHED, _REVERSED, _SHARED = 0.15, 0.2, 1.0


@dataclass(frozen=True, slots=True)
class Node:
    """An occurrence in narrative order.

    `text_time` is None for N/A. `topic` is its subject; equal topics are repeats.
    """

    uid: str
    text_time: float | None
    verdicts: tuple[Verdict, ...]
    topic: str


@dataclass(frozen=True, slots=True)
class Link:
    """A link from node `a` to the later node `b` of the note.

    `weight` 0…1 is how strongly the text connects them.
    """

    a: int
    b: int
    weight: float


Choice = Verdict | None


def assign(
    nodes: Sequence[Node],
    links: Sequence[Link],
    *,
    keep_cost: float = KEEP_COST,
    extra: Mapping[tuple[str, int], float] | None = None,
) -> list[Choice]:
    """Return the cheapest joint choice of rows; deterministic.

    `extra` adds cost to a (UID, row index).
    """
    options = [_options(node, keep_cost, extra or {}) for node in nodes]
    chosen = _chain(
        nodes, options, {(link.a, link.b): link.weight for link in links if link.b == link.a + 1}
    )
    touching: dict[int, list[Link]] = defaultdict(list)
    for link in links:
        touching[link.a].append(link)
        touching[link.b].append(link)
    for _ in range(_SWEEPS):
        changed = False
        for i in range(len(nodes)):
            best = min(
                range(len(options[i])),
                key=lambda o: (_local_cost(i, o, nodes, options, chosen, touching[i]), o),
            )
            changed |= best != chosen[i]
            chosen[i] = best
        if not changed:
            break
    return [options[i][o][1] for i, o in enumerate(chosen)]


def _options(
    node: Node, keep_cost: float, extra: Mapping[tuple[str, int], float]
) -> list[tuple[float, Choice]]:
    rows: list[tuple[float, Choice]] = [
        (v.cost + extra.get((node.uid, v.row.row_index), 0.0), v) for v in node.verdicts
    ]
    return [*rows, (keep_cost, None)]


def _chain(
    nodes: Sequence[Node],
    options: list[list[tuple[float, Choice]]],
    weights: Mapping[tuple[int, int], float],
) -> list[int]:
    best: list[list[tuple[float, int]]] = []
    for i, mine in enumerate(options):
        if i == 0:
            best.append([(cost, -1) for cost, _ in mine])
            continue
        weight = weights.get((i - 1, i), 0.0)
        column = []
        for cost, choice in mine:
            arrivals = [
                (best[i - 1][p][0] + weight * strain(nodes[i - 1], before, nodes[i], choice), p)
                for p, (_, before) in enumerate(options[i - 1])
            ]
            cheapest = min(arrivals)
            column.append((cheapest[0] + cost, cheapest[1]))
        best.append(column)
    chosen = [0] * len(options)
    if options:
        chosen[-1] = min(range(len(best[-1])), key=lambda o: (best[-1][o][0], o))
        for i in range(len(options) - 1, 0, -1):
            chosen[i - 1] = best[i][chosen[i]][1]
    return chosen


def _local_cost(
    i: int,
    option: int,
    nodes: Sequence[Node],
    options: list[list[tuple[float, Choice]]],
    chosen: list[int],
    links: Sequence[Link],
) -> float:
    cost, mine = options[i][option]
    for link in links:
        other = link.b if link.a == i else link.a
        theirs = options[other][chosen[other]][1]
        first, second = (mine, theirs) if link.a == i else (theirs, mine)
        cost += link.weight * strain(nodes[link.a], first, nodes[link.b], second)
    return cost


def strain(a: Node, choice_a: Choice, b: Node, choice_b: Choice) -> float:
    """Return how much two choices contradict the text, 0…about 2.

    A choice that keeps the text time contradicts nothing.
    """
    if choice_a is None or choice_b is None:
        return 0.0
    time_a, time_b = choice_a.row.time, choice_b.row.time
    if time_a is None or time_b is None:
        return 0.0
    if a.text_time is None or b.text_time is None:
        return 0.0
    stated, recorded = b.text_time - a.text_time, time_b - time_a
    cost = _STRETCHED * min(1.0, abs(recorded - stated) / 12.0)
    if stated * recorded < 0 and abs(stated) > 0.5 and abs(recorded) > 0.25:
        cost += _REVERSED
    if (
        choice_a.repeats
        and a.topic == b.topic
        and choice_a.row.row_index == choice_b.row.row_index
        and abs(stated) > _APART_HOURS
    ):
        cost += _SHARED
    return cost
