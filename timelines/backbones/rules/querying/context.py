"""Resolve ambiguous words by context; recognise times and places.

"Levo" is norepinephrine next to a rate and levofloxacin next to a pneumonia; "7.31/52/88" is a
blood gas although none is named. The operation in "resumed the night of surgery" and the unit in
"sedated on arrival to the ICU" only say when.
"""

from __future__ import annotations

import re

from timelines.backbones.rules.querying.vocabulary import Hit, Kind, vocabulary

PLACES = frozenset(
    {
        "emergency arrival",
        "admission",
        "icu arrival",
        "ward transfer",
        "service change",
        "discharge",
        "pacu",
    }
)

_PRESSOR_WORDS = re.compile(
    r"pressors?\b|levophed|norepi|\bMAPs?\b|\bvaso\b|\bneo\b|\bgtt\b|\bdrip\b|mcg|wean|titrat|climb|hypotens|\bshock\b|\bS?BPs?\b|"
    r"\bon and off\b|\boff\b|\bback on\b|turned|requirement|fluid",
    re.IGNORECASE,
)
_ANTIBIOTIC_WORDS = re.compile(
    r"antibio|\babx\b|\bvanc|\bcef|\bceft|azithro|flagyl|\bzosyn|pneumonia|\bCAP\b|\bUTI\b|legionella|\d\s*mg\b|\bPO\b|daily|q24|"
    r"\bdays?\b.{0,12}course|coverage",
    re.IGNORECASE,
)
_NAMES_PRESSOR = re.compile(r"levophed|norepi|pressors?\b|vasopressors?", re.IGNORECASE)
#: pH, pCO2 and perhaps pO2, as gases are written.
_GAS = re.compile(r"(?<![\d./])[67]\.\d{1,2}\s?/\s?\d{2,3}(?:\s?/\s?\d{2,3})?(?![\d.])")
_WHEN = re.compile(
    r"\b(?:(?:day|night|morning|evening|time|hours?|days?|minutes?|date) (?:of|before|after|prior"
    r" to|following)|on|upon|at|after|before|"
    r"prior"
    r" to|since|until|following|by|from|for|during|pre|post|in)[\s-]+(?:(?:the|his|her|this|day"
    r" of|time of|\w+)[\s-]+){0,3}$",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\((?:[a-z]+ )?(?:admission|discharge|arrival|ED|transfer)[^()]*\)|\bdischarge"
    r" (?:med|prescri|lab|weight)\w*",
    re.IGNORECASE,
)
_ORAL = re.compile(r"PO|by mouth", re.IGNORECASE)
#: After a verb of moving the place is the subject; "on arrival" and "at transfer" are nouns.
_GOES = re.compile(
    r"\b(?:transferred|arrived|arrives|moved|left|returned|admitted|presented|presents|called"
    r" out|discharged|came|brought|went|"
    r"sent|taken)\b",
    re.IGNORECASE,
)


def resolve_ambiguous(hits: tuple[Hit, ...], sentence: str, note: str) -> tuple[Hit, ...]:
    """Return the hits of a text with ambiguous words decided.

    Their sentence decides, else the note.
    """
    return tuple(_pressor(hit, sentence, note) for hit in hits)


def _pressor(hit: Hit, sentence: str, note: str) -> Hit:
    if hit.concept.name != "levofloxacin" or hit.end - hit.start != len("levo"):
        return hit
    pressor, antibiotic = _PRESSOR_WORDS.search(sentence), _ANTIBIOTIC_WORDS.search(sentence)
    if bool(pressor) == bool(antibiotic) and not _NAMES_PRESSOR.search(note):
        return hit
    return (
        hit
        if antibiotic and not pressor
        else Hit(vocabulary().by_name["norepinephrine"], hit.start, hit.end)
    )


def find_gas(text: str) -> Hit | None:
    """Return the blood gas that its numbers alone identify."""
    found = _GAS.search(text)
    return Hit(vocabulary().by_name["blood gas"], found.start(), found.end()) if found else None


def drop_asides(hits: tuple[Hit, ...], mention: str) -> tuple[Hit, ...]:
    """Omit places, operations and routes that only accompany the subject.

    If there is no other hit, they stay.
    """
    own = [h for h in hits if not _is_aside(h, mention)]
    return (
        tuple(own)
        if any(not h.implied or h.concept.kind is Kind.MEASUREMENT for h in own)
        else hits
    )


def _is_aside(hit: Hit, mention: str) -> bool:
    name, before, said = hit.concept.name, mention[: hit.start], mention[hit.start : hit.end]
    if name == "oral intake":
        return _ORAL.fullmatch(said) is not None
    if name not in PLACES and name != "surgery":
        return False
    if any(m.start() <= hit.start < m.end() for m in _LABEL.finditer(mention)):
        return True
    if name in PLACES and _GOES.search(mention[: hit.end]):
        return False
    return _WHEN.search(before) is not None
