"""Cut sentences into clauses, with at most one time each.

Clauses are also classified. Occurrences of one clause share its time. Asides (parentheses, relative
clauses and pluperfect background with a time of their own) do not move the narrative forward.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from timelines.backbones.rules.timing.phrases.terms import Anchoring, Kind, TimeExpression

_BREAK = re.compile(
    r"[;,:](?=\s|$)|\s(?:->|→|=>|–>|-->)\s*|[()]|\[(?!\*\*)|(?<!\*)\]|\s[-–—]{1,2}\s|\.(?=\s)|\n|\s(?:but|then|"
    r"f/b|followed by|after which|whereupon)\s|\s(?=p/w\s|presents?\s|presented\s|presenting\s|"
    r"s/p\s|who\s|(?:as\s+)?compared\s+(?:with|to)\s|versus\s|up\s+from\s|down\s+from\s|against\s)",
    re.IGNORECASE,
)
#: Brackets that set something aside; those of a masked date ("[**3-4**]") do not.
_OPENS, _CLOSES = re.compile(r"\(|\[(?!\*\*)"), re.compile(r"\)|(?<!\*)\]")
_SOFT = re.compile(
    r"[,\s](?:and|to|or|while|when|with|until|&|so|as|\+|from|w/)\s|/", re.IGNORECASE
)
_ASIDE = re.compile(
    r"\s*(?:(?:and|but)\s+)?(?:(?:for|by|of|in|at)\s+)?(?:which|who|whose|when|while|where|"
    r"whom|as compared|compared|against|versus|vs|having|since|because|although|though|whereas)\b",
    re.IGNORECASE,
)
_PLUPERFECT = re.compile(
    r"\bhad\s+(?:\w+ly\s+|also\s+|not\s+|never\s+|by\s+then\s+|meanwhile\s+)*(?:been|come|gone|"
    r"grown|\w+ed|risen|fallen|begun|taken|given|put|\w+en)\b|\b(?:previously|earlier)\b",
    re.IGNORECASE,
)
_FRONT = re.compile(
    r"[\s,;:()\-–#•*>→]*(?:(?:and|but|then|also|so|now|next|finally)\s+)*$", re.IGNORECASE
)
_VERB = re.compile(
    r"\b(?:was|were|is|are|be|been|had|has|have|did|does|came|went|fell|rose|grew|gave|got|"
    r"took|began|became|felt|found|put|sent|ran|saw|held|kept|showed|remained|\w{3,}ed|"
    # "left" is a verb only before what can be left: "left arm weakness" has none
    r"left(?=\s+(?:the|a|an|our|this|his|her|ama|against|for|home|to|on|at|in|by|after|before|without)\b"
    r"|\s*[.,;]|\s*$))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Clause:
    """`[start, end)` in the note. `expressions` in order, offsets in the note.

    `fronted`: the time is at its head ("By evening …"), so it says nothing of what came before.
    """

    start: int
    end: int
    expressions: tuple[TimeExpression, ...]
    aside: bool
    fronted: bool
    verbal: bool
    arrow: bool


def clauses(text: str, start: int, end: int, expressions: list[TimeExpression]) -> list[Clause]:
    """Return the clauses of the sentence `text[start:end]`.

    `expressions` carry offsets of `text`.
    """
    inside = [e for e in expressions if start <= e.start < end]
    cuts = _cuts(text, start, end, inside)
    edges = [start, *cuts, end]
    found: list[Clause] = []
    depth = 0
    for left, right in itertools.pairwise(edges):
        piece = text[left:right]
        bracketed = depth > 0 or _OPENS.match(piece.lstrip()) is not None
        depth = max(0, depth + len(_OPENS.findall(piece)) - len(_CLOSES.findall(piece)))
        if not piece.strip(" \t\r\n,;:.-–()[]"):
            continue
        own = tuple(e for e in inside if left <= e.start < right)
        found.append(_clause(text, left, right, own, bracketed))
    return found


def _clause(
    text: str, left: int, right: int, own: tuple[TimeExpression, ...], bracketed: bool
) -> Clause:
    piece = text[left:right]
    aside = (
        bracketed
        or _ASIDE.match(piece.lstrip(" ,;:()-–")) is not None
        or _PLUPERFECT.search(piece) is not None
    )
    fronted = bool(own) and _FRONT.fullmatch(text[left : own[0].start]) is not None
    return Clause(
        left,
        right,
        own,
        aside=aside,
        fronted=fronted,
        verbal=_VERB.search(piece) is not None,
        arrow=re.match(r"\s*(?:->|→|=>|–>|-->)", piece) is not None,
    )


def _cuts(text: str, start: int, end: int, inside: list[TimeExpression]) -> list[int]:
    cuts = [
        m.start()
        if m.group()[0] in "(["
        or m.group().strip() in ("->", "→", "=>", "–>", "-->")
        or m.group().strip().isalpha()
        else m.end()
        for m in _BREAK.finditer(text, start, end)
        if not any(e.start < m.end() and m.start() < e.end - 1 for e in inside)
    ]
    cuts = sorted({c for c in cuts if start < c < end})
    extra: list[int] = []
    for one, two in itertools.pairwise(inside):
        if not any(one.end <= c <= two.start or one.start < c <= two.start for c in cuts):
            cut = _between(text, one, two)
            if cut is not None:
                extra.append(cut)
    extra.extend(c for e in inside if (c := _last_conjunct(text, start, e, cuts)) is not None)
    return sorted({*cuts, *extra})


def _last_conjunct(text: str, start: int, e: TimeExpression, cuts: list[int]) -> int | None:
    """Return where the last member of a pair begins, if a time follows it.

    In "Two amps and a third an hour later" the time belongs to the last member only.
    """
    if e.kind is not Kind.OFFSET or e.anchoring is Anchoring.REFERENCE:
        return None
    left = max([start, *(c for c in cuts if c <= e.start)])
    pairs = list(re.finditer(r"\s(?=and\s)", text[left : e.start]))
    return left + pairs[-1].end() if pairs and pairs[-1].start() > 0 else None


def _between(text: str, one: TimeExpression, two: TimeExpression) -> int | None:
    """Return where a clause with two times is cut.

    It is cut at the first soft connective between them, else not at all.
    """
    if one.kind is Kind.EVENT and one.end >= two.start:
        return None
    soft = [
        m.start() + 1 if m.group()[0] in ", " else m.start()
        for m in _SOFT.finditer(text, one.end, two.start)
    ]
    return soft[0] if soft else None
