"""Decide which clause a time outside the clause belongs to."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass

from timelines.backbones.rules.timing.anchors.points import Moment
from timelines.backbones.rules.timing.phrases.clauses import Clause
from timelines.backbones.rules.timing.phrases.terms import Anchoring, Kind, TimeExpression

#: The word that joins two objects of a verb, and how far it may be inside either clause.
_AND = re.compile(r"\band\b", re.IGNORECASE)
_AND_REACH = 5


@dataclass
class Dated:
    """A clause with the moment that its occurrences share.

    `inherited` is true if the moment is not stated in the clause itself.
    """

    clause: Clause
    moment: Moment
    own: tuple[tuple[TimeExpression, Moment], ...] = ()
    inherited: bool = True


def attach(dated: list[Dated], text: str, empty: Callable[[Clause], bool]) -> None:
    """Give clauses without a time the time of a neighbour they belong to.

    Only clauses of one sentence are neighbours. `text` is the note; `empty` returns whether a
    clause has no occurrence.
    """
    _forwards(dated, empty)
    _backwards(dated, text, empty)


def _forwards(dated: list[Dated], empty: Callable[[Clause], bool]) -> None:
    """Give a clause the time that is alone before it.

    Example: "On the third hospital day, he was extubated".
    """
    for before, item in itertools.pairwise(dated):
        alone = bool(before.own) and not before.clause.aside and empty(before.clause)
        if item.inherited and alone and not item.clause.aside and not item.clause.arrow:
            item.moment, item.inherited = before.moment, False


def _backwards(dated: list[Dated], text: str, empty: Callable[[Clause], bool]) -> None:
    """A time behind a list or in parentheses belongs to the words before it."""
    for i in range(len(dated) - 2, -1, -1):
        item, after = dated[i], dated[i + 1]
        bracket = _is_bracket(after, text, empty)
        joined = _shares_verb(item.clause, after.clause, text)
        if not item.inherited or (
            any(not d.inherited for d in dated[:i]) and not bracket and not joined
        ):
            continue
        if after.inherited or (after.clause.fronted and not bracket):
            continue
        named = text[after.clause.start : after.clause.end].lstrip(" ,;")[:1].isalpha()
        relative = (
            bool(after.own)
            and after.own[0][0].kind is Kind.OFFSET
            and after.own[0][0].anchoring is Anchoring.CURSOR
        )
        listed = (
            not item.clause.verbal
            and named
            and not relative
            and not after.clause.aside
            and not after.clause.arrow
        )
        if listed or bracket or (joined and not relative):
            item.moment, item.own, item.inherited = after.moment, (), False


def _shares_verb(item: Clause, after: Clause, text: str) -> bool:
    """Return whether a clause without a verb continues the objects of a verb.

    The time in "developed a headache and left arm weakness two hours before arrival" is of both.
    """
    if not item.verbal or after.verbal or after.aside or after.arrow:
        return False
    return _AND.search(text, item.end - _AND_REACH, after.start + _AND_REACH) is not None


def _is_bracket(item: Dated, text: str, empty: Callable[[Clause], bool]) -> bool:
    """A parenthesis with a time and nothing else: "AST peak 1500 (HD#2)"."""
    return (
        text[item.clause.start : item.clause.end].lstrip().startswith("(")
        and bool(item.own)
        and empty(item.clause)
    )
