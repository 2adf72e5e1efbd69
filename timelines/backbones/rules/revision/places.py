"""Match arrivals, transfers and discharge with rows of the same place."""

from __future__ import annotations

import re

from timelines.backbones.rules.querying.context import PLACES
from timelines.backbones.rules.querying.reading import OF_SPAN, Reading
from timelines.backbones.rules.querying.vocabulary import Concept, EventName, vocabulary
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
    r"death|expired|passed away|pronounced|stepdown|stepped"
    r" down|reach(?:ed|es|ing)|registered|registration|admit|assum\w*|accept\w*"
    r"|^adm\b|^discharge(?=\W+\d)|^d/?c\b|(?:taken|took|sent)"
    r" (?:to|up|home|back|over)|out of|back (?:in|to)|up to|upstairs|downgraded)\b",
    re.IGNORECASE,
)
#: Words beside a place that only say when: "floor 1400", "to SICU by 16:00".
_ONLY_WHEN = re.compile(
    r"(?:[\W\d]|\b(?:to|in|at|by|on|from|the|then|am|pm|hrs?|h|HD\d*|POD\d*|day|night|morning|noon"
    r"|midnight)\b)*",
    re.IGNORECASE,
)


_WARDS = ("ward transfer", "service change")
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
        "service",
        "chart",
        "procedure",
    ):
        return None
    if not _MOVE.search(reading.occurrence.mention) and not _names_place_alone(reading):
        return None
    place, text = f"{row.event} {row.value}".lower(), reading.text.lower()
    leaves = bool(_LEAVES.search(reading.occurrence.mention))
    if concept.name == "icu arrival" and not leaves:
        return None if name.category == "icu" and name.act == "out" else _into_unit(text, place)
    if concept.name == "service change" and name.category == "service":
        return Match(0.2, REACH_ACT, "the change of service")
    if concept.name in _WARDS or (leaves and concept.name == "icu arrival"):
        return _to_ward(text, place, name)
    return Match(0.1, REACH_ACT, "the administrative row of the same event")


def _names_place_alone(reading: Reading) -> bool:
    """Return whether the mention is only a place and a time."""
    mention = reading.text.split(OF_SPAN)[0]
    hits = [h for h in vocabulary().find(mention) if h.concept.name in PLACES]
    rest = mention
    for hit in reversed(hits):
        rest = rest[: hit.start] + rest[hit.end :]
    return bool(hits) and _ONLY_WHEN.fullmatch(rest) is not None


def _to_ward(text: str, place: str, name: EventName) -> Match | None:
    if re.search(r"called[- ]out|call[- ]out", text):
        return Match(0.1, REACH_ACT, "the call-out") if "called out" in place else None
    if name.category == "icu":
        return Match(0.15, REACH_ACT, "the end of intensive care") if name.act == "out" else None
    ward = (
        name.category == "transfer" and "ed" not in name.words and name.words[:1] != ("discharge",)
    )
    return (
        Match(0.15, REACH_ACT, "the transfer to the ward")
        if ward and not _ICU_VALUE.search(place)
        else None
    )


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
