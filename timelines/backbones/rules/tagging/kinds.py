"""Infer lane and polarity of imported occurrences.

A person or another tool marked them. The vocabulary of the tagger reads the marked words; if they
name nothing, the mention does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from timelines.backbones.rules.tagging.chunks import Chunk, Clause, read_clause
from timelines.backbones.rules.tagging.demographics import demographic_spans
from timelines.backbones.rules.tagging.lanes import find_lane
from timelines.backbones.rules.tagging.lexicon import Concept, find_terms
from timelines.backbones.rules.tagging.polarity import find_polarity
from timelines.backbones.rules.tagging.tokens import tokenize
from timelines.backbones.rules.text import analyse
from timelines.domain import Lane, Polarity

#: Sections of relatives alone.
_FAMILY = frozenset({"family"})
#: Words of a discharge itself.
_LEAVES = frozenset(
    {"discharged", "disposition", "home", "rehab", "rehabilitation", "snf", "died", "expired"}
)
_MOVES = frozenset(
    {
        "transfer",
        "transferred",
        "transport",
        "arrival",
        "arrived",
        "admitted",
        "admission",
        "moved",
        "return",
    }
)


@dataclass(frozen=True, slots=True)
class Marked:
    """A marked occurrence; its place is None if the note has none for it."""

    mention: str
    start: int | None = None
    end: int | None = None


def infer_kinds(note: str, marked: Sequence[Marked]) -> list[tuple[Lane, Polarity]]:
    """Return lane and polarity of each, in their order."""
    analysis = analyse(note)
    found = []
    for mark in marked:
        mention = _read_mention(mark.mention)
        if mark.start is None or mark.end is None:
            own = Lane.HISTORY if _is_background(mark.mention) else _lane(mention, "")
            found.append((own, find_polarity(mark.mention)))
            continue
        section = analysis.section_at(mark.start).kind
        words = read_clause(analysis, mark.start, mark.end)
        lane = _lane_in_section(words, mention, section)
        if lane is Lane.TRANSFER and not _moves(words, mention):
            lane = _without_moves(mention)
        if _is_background(mark.mention):
            lane = Lane.HISTORY
        polarity = find_polarity(f"{note[mark.start : mark.end]} {mark.mention}")
        if polarity is Polarity.PRESENT and section in _FAMILY:
            polarity = Polarity.FAMILY
        found.append((lane, polarity))
    return found


def _lane_in_section(words: Clause, mention: Clause, section: str) -> Lane:
    """Return the lane of the marked words, or else of the mention."""
    if section != "disposition":
        lane = _lane(words, section)
        return lane if words.terms or lane is not Lane.FINDING else _lane(mention, "")
    # A section on the discharge says more than where to: medications, plans, the last state.
    named = words if words.terms else mention
    lane = _lane(named, "")
    leaves = _LEAVES.intersection(t.lower for t in (*words.tokens, *mention.tokens))
    if (
        lane is Lane.FINDING
        and leaves
        and not any(t.concept is not Concept.PLACE for t in named.terms)
    ):
        return Lane.TRANSFER
    return lane


def _moves(words: Clause, mention: Clause) -> bool:
    """Return whether a place or a move is named; "left arm" is none."""
    if any(t.concept is Concept.PLACE for t in (*words.terms, *mention.terms)):
        return True
    return any(t.lower in _LEAVES | _MOVES for t in (*words.tokens, *mention.tokens))


def _without_moves(mention: Clause) -> Lane:
    lane = _lane(mention, "")
    return Lane.FINDING if lane is Lane.TRANSFER else lane


def _lane(clause: Clause, section: str) -> Lane:
    return find_lane(clause, Chunk(0, len(clause.tokens)), section, None)


def _read_mention(mention: str) -> Clause:
    """Return the mention as a clause without a parse: its words are a phrase."""
    tokens = tokenize(mention, 0, len(mention))
    plain = [""] * len(tokens)
    lemmas = [t.lower for t in tokens]
    return Clause(mention, tokens, find_terms(tokens), [False] * len(tokens), plain, lemmas)


def _is_background(mention: str) -> bool:
    """Return whether the mention is age, sex or history in its own words."""
    return (
        mention.lower().startswith("history of ")
        or mention.lower() in {"male sex", "female sex"}
        or bool(demographic_spans(mention, 0, len(mention)))
    )
