"""Find sentences of a story that do not belong to its order.

They speak of the patient's past, of the family, of the whole stay, or of leaving and what comes
after it. Tense, subject and words decide, so that they need no heading of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from timelines.backbones.rules.timing.frames import begins_presentation
from timelines.backbones.rules.timing.phrases.terms import Anchoring, Kind, TimeExpression
from timelines.domain import DAY

if TYPE_CHECKING:
    from spacy.tokens import Token


class Remark(Enum):
    """What a sentence outside the order of a story is about."""

    HISTORY = "history"  # the patient's past and habits
    FAMILY = "family"  # illness of relatives
    LEAVING = "leaving"  # the discharge, and plans made then
    LEFT = "left"  # the patient leaves, at a time of its own: part of the story, its last
    UNSURE = "unsure"  # of the kind of its neighbour: nothing in it moves the story
    LIST = "list"  # without a verb or a time: a plan if it follows the leaving to the end


_GONE = frozenset({Remark.LEAVING, Remark.LEFT})
_OF_STORY = frozenset({Remark.LEFT, Remark.UNSURE, Remark.LIST})
#: Shortest duration or distance that is past history and not part of the present illness (hours).
_LONG = 180 * DAY
_RELATIVE = re.compile(
    r"\b(?:(?:his|her|the)\s+)?(?:(?:maternal|paternal|older|younger|elder|half)[\s-]+)*"
    r"(?:father|mother|brother|sister|uncle|aunt|grand(?:father|mother)|cousin|parent|sibling|"
    r"son|daughter|niece|nephew)s?\b",
    re.IGNORECASE,
)
_ILLNESS_OF_RELATIVE = re.compile(
    r"\b(?:died|dies|dead|deceased|has|have|had|suffer\w*|is|are|was|were|with|w/|diagnosed|"
    r"developed|underwent)\b",
    re.IGNORECASE,
)
#: Relatives also take part in the story: they bring, report, visit and decide.
_TAKES_PART = re.compile(
    r"\b(?:found|called|brought|brings|drove|notic\w+|report\w+|states?|stated|says?|said|told|"
    r"ask\w+|agree\w*|aware|visit\w*|bedside|met|meeting|decid\w+|sign\w*|gave|heard|saw|"
    r"confirm\w*|present|want\w*|wish\w*|updat\w+|inform\w*|describ\w+|consent\w*|proxy|hcp|"
    r"contact\w*|phon\w+|taught|shown|arrived|came|help\w*|live[sd]?|caring|cares?|discuss\w*)\b",
    re.IGNORECASE,
)
_IN_FAMILY = re.compile(
    r"\bfamily\s+history\b|\b(?:in|runs\s+in|of)\s+the\s+family\b(?!\s+meeting)|"
    r"\b(?:nobody|no\s*one|others?)\s+in\s+the\s+family\b",
    re.IGNORECASE,
)
_MEETS_FAMILY = re.compile(r"\b(?:meeting|discuss\w*|wish\w*|request|presence)\b", re.IGNORECASE)
_HABIT = re.compile(
    r"\b(?:never|ex|former|current|previous|lifelong|non|heavy)[\s-]?smok\w+|"
    r"\b(?:smokes|smoked)\b|\b(?:started|began|stopped|quit|gave\s+up)\s+smoking\b|"
    r"\bdrinks\b|\bdrank\b|\bdrunk\b|\b(?:uses?|used|denie[sd]|no|takes\s+no)\s+"
    r"(?:(?:any|or|and|alcohol|tobacco|drugs?)\s+)*(?:alcohol|tobacco|cocaine|illicit|recreational)\b|"
    r"\blives\s+(?:alone|with|in|at|by)\b|\bworks\s+(?:as|in|at|for)\b|"
    r"\b(?:is|are)\s+(?:a\s+)?(?:retired|married|widowed|divorced|single)\b|"
    r"\b(?:is|was)\s+(?:not\s+)?allergic\b|\b(?:no|without)\s+(?:known\s+)?(?:drug\s+|food\s+)?allerg\w+|"
    r"\b(?:hives|rash|anaphylaxis)\s+(?:with|to|from)\s+(?!the\b)\w+|\bgave\s+(?:him|her)\s+(?:a\s+)?(?:rash|hives)\b|"
    r"\b(?:in|since|from)\s+(?:early\s+)?childhood\b|\bas\s+a\s+(?:child|boy|girl|teenager|young)\b",
    re.IGNORECASE,
)
_STATED_HISTORY = re.compile(
    r"\b(?:has|had|with|is|was)\s+(?:an?\s+)?(?:long|remote|past|known|medical|\W)*history\s+of\b|"
    r"\b(?:past|prior|previous|surgical|medical|only)\s+(?:\w+\s+){0,2}(?:history|operations?|surger(?:y|ies))\b",
    re.IGNORECASE,
)
_AWAY = r"(?:home|house|rehab\w*|hospice|(?:skilled\s+)?nursing\s+(?:facility|home)|snf|facility|care\s+home)"
_LEAVES = re.compile(
    rf"\b(?:goes|going|go|went|sent|leaves|discharged?|returns?|returned)\s+(?:back\s+)?"
    rf"(?:to\s+)?(?:(?:a|an|the|his|her|their)\s+)?(?:\w+\s+)?{_AWAY}\b|"
    r"\b(?:goes|going|sent)\s+out\s+(?:on|with)\b|\bleft\s+(?:the\s+)?hospital\b|"
    r"\b(?:was|were|is|being)\s+discharged\b(?!\s+from\s+(?:the\s+)?(?:\w+\s+)?(?:unit|icu|care))|"
    r"^\W*discharged\b",
    re.IGNORECASE,
)
#: Leaving in the present, which is when the note was written.
_GOES = re.compile(
    rf"\b(?:goes|is\s+going|is\s+(?:being\s+)?(?:sent|discharged)|leaves)\s+(?:back\s+)?(?:to\s+|out\s+(?:on|with)|{_AWAY})",
    re.IGNORECASE,
)
_UNTIL = re.compile(r"\b(?:to|until|till|thru|through)\s+$", re.IGNORECASE)
_PLAN = re.compile(
    r"\b(?:should|will|shall|must|needs?\s+to|(?:is|are)\s+(?:due\s+)?to\b|to\s+be\s+\w+ed\b|"
    r"sees?\s+(?:me|us|dr|his|her|the)|follow(?:s|ing)?[\s-]?up|appointments?|return\s+(?:for|if|to)|"
    r"call\s+(?:for|if|us|me)|(?:is|are)\s+(?:held|stopped|continued|resumed|unchanged|new|pending))\b",
    re.IGNORECASE,
)
_PLANNED = re.compile(
    r"\b(?:will|would|should|shall|to\s+be|(?:is|are|was|were)\s+to|planned|scheduled|arranged|due|"
    r"repeat|recheck|follow\w*|sees?|clinic|appointment|discussed|recommended|advised)\b",
    re.IGNORECASE,
)
_FINITE = re.compile(r"\b(?:was|were|had|did|became|began|felt|could|\w{3,}ed)\b", re.IGNORECASE)
_PERFECT = re.compile(r"\b(?:has|have|had|'s)\b", re.IGNORECASE)
#: The present illness may have begun long ago.
_ONSET = re.compile(
    r"\b(?:began|begun|started|onset|since\s+then|progress\w*|worsen\w*)\b", re.IGNORECASE
)
_STAY = (
    r"(?:(?:the|this|his|her|their|entire|whole|hospital|rest|of)\s+)*"
    r"(?:stay|admission|hospitali[sz]ation|course)\b"
)
#: A finding that the whole stay had or never had. An act that was never done is a decision.
_WHOLE_PERIOD = re.compile(
    r"\bnever\s+(?:(?:truly|really|frankly|once|in|on|any|had|has|a|was|been|became|developed|"
    r"required|needed|needing|spiked|showed|under|below|above)\s+)*"
    r"(?:\w*febrile|fevers?|hypo\w+|tachy\w+|brady\w+|pressors?|vasopressors?|intubat\w+|ventilat\w+|"
    r"dialy[sz]ed|transfus\w+|un\w+|in\s+\w+|needed|required|confused|septic|shock\w*|\w+ia\b)|"
    r"\bat\s+no\s+(?:time|point|stage)\b|\bno\b[^.;]*\bat\s+any\s+(?:time|point|stage)\b|"
    rf"\b(?:no|not|without|none)\b.*\b(?:during|throughout|in\s+the\s+course\s+of|for)\s+{_STAY}|"
    rf"\bthroughout(?:\s+{_STAY})?\s*(?:[.,;]|$)",
    re.IGNORECASE,
)
#: Only a part of the stay is meant.
_PART_OF_STAY = re.compile(
    r"\b(?:again|afterwards?|thereafter|since|after|before|prior|until|then|from)\b", re.IGNORECASE
)
_GOES_ON = re.compile(
    r"\W*(?:(?:and|or|but|with)\s+)?(?:(?:there|he|she|it)\s+(?:was|were|had)\s+)?"
    r"(?:no|not|nor|neither|never)\b",
    re.IGNORECASE,
)


def is_family(sentence: str) -> bool:
    """Return whether a sentence reports illness of relatives.

    Example: "His father died of a stroke at 60". Relatives who act in the story do not count.
    """
    if _IN_FAMILY.search(sentence) and not _MEETS_FAMILY.search(sentence):
        return True
    relative = _RELATIVE.search(sentence)
    if relative is None or relative.start() > 25 or _TAKES_PART.search(sentence):
        return False
    return _ILLNESS_OF_RELATIVE.search(sentence, relative.end()) is not None


def read_remark(
    sentence: str, tokens: Sequence[Token], times: Sequence[TimeExpression], *, presenting: bool
) -> Remark | None:
    """Return what a sentence remarks, None if it goes on with the story.

    `presenting`: the story is that before admission, in which nothing is planned.
    """
    if is_family(sentence):
        return Remark.FAMILY
    if _HABIT.search(sentence):
        return Remark.HISTORY
    if presenting and begins_presentation(sentence):
        return None
    if not presenting and _GOES.search(sentence):
        return Remark.LEAVING
    if any((e.day is not None or e.part is not None) and not _ends(e, sentence) for e in times):
        return Remark.LEFT if not presenting and _LEAVES.search(sentence) else None
    if _is_history(sentence, times, presenting):
        return Remark.HISTORY
    if presenting:
        return None
    if _LEAVES.search(sentence):
        return Remark.LEAVING
    tags = {t.tag_ for t in tokens}
    if "VBD" in tags:
        return None
    if not tags & {"VBZ", "VBP", "MD"}:
        return Remark.LIST
    return Remark.LEAVING if _PLAN.search(sentence) else Remark.UNSURE


def _ends(e: TimeExpression, sentence: str) -> bool:
    """Return whether a time ends a treatment: "twice daily to 16 June"."""
    at = sentence.find(e.text)
    return at >= 0 and _UNTIL.search(sentence[:at]) is not None


def _is_history(sentence: str, times: Sequence[TimeExpression], presenting: bool) -> bool:
    if _STATED_HISTORY.search(sentence):
        return True
    if presenting and _ONSET.search(sentence):
        return False
    if any(e.kind in (Kind.AGE, Kind.YEAR) for e in times):
        return True
    for e in times:
        if e.quantity is None or e.direction >= 0 or e.quantity.hours < _LONG:
            continue
        if e.kind is Kind.OFFSET and e.anchoring is not Anchoring.REFERENCE:
            return True
        if e.kind is Kind.SPAN and _PERFECT.search(sentence):
            return True
    return False


def is_planned(e: TimeExpression, sentence: str) -> bool:
    """Return whether an amount of time ahead is that of a plan.

    "Clinic in two weeks" and "an INR was to be checked in two days" are plans, "in two days he was
    well" is not.
    """
    if e.kind is not Kind.OFFSET or e.direction <= 0 or e.anchoring is not Anchoring.CURSOR:
        return False
    if not e.text.lower().startswith("in ") or e.quantity is None or e.quantity.hours < DAY:
        return False
    return _PLANNED.search(sentence) is not None or _FINITE.search(sentence) is None


def settle(remarks: Sequence[Remark | None]) -> list[Remark | None]:
    """Give sentences without a sign of their own the kind of their neighbours.

    History is taken in one piece, so a statement in the present beside a history sentence is
    history, and after the words of leaving it is a plan. Alone it belongs to the story.
    """
    found = list(remarks)
    for order in (range(len(found)), range(len(found) - 1, -1, -1)):
        before: Remark | None = None
        for i in order:
            if found[i] is Remark.UNSURE and before in (Remark.HISTORY, Remark.FAMILY):
                found[i] = Remark.HISTORY
            elif found[i] is Remark.UNSURE and before in _GONE and order.step > 0:
                found[i] = Remark.LEAVING
            before = found[i]
    for i in range(_last_leaving(found) + 1, len(found)):
        if found[i] in (Remark.UNSURE, Remark.LIST):
            found[i] = Remark.LEAVING
    return [None if r in _OF_STORY else r for r in found]


def _last_leaving(found: Sequence[Remark | None]) -> int:
    """Return where the words of leaving begin that end the story."""
    last = len(found) - 1
    for i in range(len(found) - 1, -1, -1):
        if found[i] is None:
            break
        if found[i] in _GONE:
            last = i
    return last


def spans_stay(clause: str, goes_on: bool) -> bool:
    """Return whether a clause speaks of the whole stay.

    Examples: "never had a fever", "in sinus rhythm throughout". `goes_on`: the clause before it in
    the sentence does, so that a further denial does too.
    """
    if _PART_OF_STAY.search(clause):
        return False
    return _WHOLE_PERIOD.search(clause) is not None or (
        goes_on and _GOES_ON.match(clause) is not None
    )
