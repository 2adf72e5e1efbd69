"""Match arrivals, transfers and discharge with rows of the same place."""

from __future__ import annotations

import re

from timelines.backbones.rules.querying.reading import Reading
from timelines.backbones.rules.querying.vocabulary import Concept, EventName
from timelines.backbones.rules.revision.match import REACH_ACT, REACH_UNIQUE, Match
from timelines.domain import Polarity, SourceRow

_UNITS = (
    (r"\bmicu\b|medical intensive", r"medical intensive|micu"),
    (r"\bsicu\b|surgical intensive", r"surgical intensive|sicu"),
    (r"\btsicu\b|\bticu\b|trauma", r"trauma|tsicu"),
    (
        r"\bcvicu\b|cardiovascular intensive|cardiac surgery (?:icu|intensive|unit)",
        r"cardiac vascular|cvicu|cardiovascular",
    ),
    (r"\bccu\b|coronary care|cardiac (?:intensive )?care", r"coronary|ccu|cardiac"),
    (r"neuro", r"neuro"),
    (r"\bpacu\b|recovery", r"pacu|recovery"),
    (
        r"\bicu\b|intensive care|\bunit\b",
        r"intensive|icu|ccu|coronary|care unit|stepdown|intermediate",
    ),
)
_ICU_VALUE = re.compile(
    r"intensive|icu|\bccu\b|coronary|neuro (?:surgical )?(?:intermediate|stepdown)", re.IGNORECASE
)


_MOVE = re.compile(
    r"\b(?:transfer\w*|arriv(?:ed|al|es)|admitted|admission (?:to|from)|hospital"
    r" admission|present(?:ed|ation|s)|"
    r"discharged|discharge"
    r" (?:home|to)|^discharge$|disposition|left|moved|came|return\w*|brought|call\w*[-"
    r" ]out|went|died|"
    r"death|expired|passed away|pronounced|stepdown|stepped down)\b",
    re.IGNORECASE,
)


_LEAVES = re.compile(
    r"\b(?:left|leaving|out of|called out|transfer\w* (?:out|from)|step\w* down from)\b(?!.*\bto"
    r" (?:the )?(?:\w+ )?(?:ICU|intensive))",
    re.IGNORECASE,
)


def match_move(concept: Concept, reading: Reading, row: SourceRow, name: EventName) -> Match | None:
    """Return the match of a move that the occurrence itself describes.

    A place named in passing is not a move.
    """
    if reading.occurrence.polarity is Polarity.ABSENT or name.category not in (
        "transfer",
        "admission",
        "icu",
        "chart",
        "procedure",
    ):
        return None
    if not _MOVE.search(reading.occurrence.mention):
        return None
    place, text = f"{row.event} {row.value}".lower(), reading.text.lower()
    leaves = bool(_LEAVES.search(reading.occurrence.mention))
    if concept.name == "icu arrival" and not leaves:
        return _into_unit(text, place)
    if concept.name in ("ward transfer", "service change") or leaves:
        if re.search(r"called[- ]out|call[- ]out", text):
            return Match(0.1, REACH_ACT, "the call-out") if "called out" in place else None
        ward = (
            name.category == "transfer"
            and "ed" not in name.words
            and name.words[:1] != ("discharge",)
        )
        return (
            Match(0.15, REACH_ACT, "the transfer to the ward")
            if ward and not _ICU_VALUE.search(place)
            else None
        )
    return Match(0.1, REACH_ACT, "the administrative row of the same event")


def _into_unit(text: str, place: str) -> Match | None:
    for said, recorded in _UNITS:
        if re.search(said, text):
            return (
                Match(0.1, REACH_UNIQUE, "the transfer to that unit")
                if re.search(recorded, place)
                else None
            )
    return (
        Match(0.4, REACH_ACT, "a transfer to intensive care") if _ICU_VALUE.search(place) else None
    )
