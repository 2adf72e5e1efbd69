"""Parts of the day as clock hours with bounds.

"mid-morning" is about 9:45, between 8:30 and 11. Hours count from the midnight that begins the
named day. The night continues past 24 ("overnight" is about 26, two in the morning), so that "the
next morning" after it is still the next calendar day.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A clock time of a day: hours after its midnight, with bounds.

    `label` names it for the reader.
    """

    label: str
    point: float
    low: float
    high: float

    def shift(self, hours: float) -> Part:
        """The same moment some hours later ("half an hour before midnight")."""
        return Part(self.label, self.point + hours, self.low + hours, self.high + hours)


#: (modifier, base) → clock. The modifier "" is the plain part.
_CLOCK: dict[tuple[str, str], tuple[float, float, float]] = {
    ("", "small hours"): (2.5, 0.0, 5.0),
    ("", "early hours"): (3.0, 0.5, 6.0),
    ("", "dawn"): (6.0, 4.5, 7.5),
    ("before", "dawn"): (5.0, 2.5, 6.5),
    ("after", "dawn"): (7.0, 6.0, 8.0),
    ("", "breakfast"): (8.0, 6.5, 9.5),
    ("before", "breakfast"): (6.5, 4.5, 8.0),
    ("after", "breakfast"): (9.0, 8.0, 10.5),
    ("", "rounds"): (9.0, 7.0, 11.5),
    ("before", "rounds"): (7.0, 4.5, 9.0),
    ("after", "rounds"): (11.0, 9.0, 13.0),
    ("", "morning"): (8.0, 4.0, 12.0),
    ("early", "morning"): (5.0, 1.0, 8.0),
    ("mid", "morning"): (9.75, 8.0, 11.25),
    ("late", "morning"): (11.0, 9.5, 12.25),
    ("", "noon"): (12.0, 11.0, 13.5),
    ("before", "noon"): (11.5, 9.0, 12.0),
    ("after", "noon"): (12.5, 12.0, 14.0),
    ("", "lunch"): (12.5, 11.5, 13.75),
    ("before", "lunch"): (11.5, 10.0, 12.5),
    ("after", "lunch"): (13.5, 12.5, 15.0),
    ("", "afternoon"): (15.0, 12.0, 18.0),
    ("early", "afternoon"): (13.5, 12.0, 15.0),
    ("mid", "afternoon"): (15.0, 13.75, 16.5),
    ("late", "afternoon"): (17.0, 15.5, 18.75),
    ("", "dinner"): (18.0, 16.75, 20.0),
    ("after", "dinner"): (19.5, 18.0, 21.0),
    ("", "shift"): (19.0, 18.0, 20.5),
    ("", "dusk"): (19.5, 17.0, 21.5),
    ("", "evening"): (19.5, 17.0, 23.0),
    ("early", "evening"): (18.25, 17.0, 20.0),
    ("mid", "evening"): (20.0, 18.5, 21.5),
    ("late", "evening"): (22.0, 20.0, 24.0),
    ("", "bedtime"): (22.0, 20.5, 24.0),
    ("", "night"): (22.5, 19.0, 30.0),
    ("early", "night"): (21.0, 19.0, 24.0),
    ("late", "night"): (23.0, 21.0, 27.0),
    ("mid", "night"): (26.5, 24.0, 29.0),
    ("", "overnight"): (26.0, 20.5, 31.0),
    ("", "midnight"): (24.0, 23.0, 25.0),
    ("before", "midnight"): (23.5, 22.0, 24.0),
    ("after", "midnight"): (24.75, 24.0, 27.0),
    ("", "day"): (12.0, 0.0, 24.0),
    ("early", "day"): (3.5, 0.0, 10.0),
    ("mid", "day"): (12.0, 10.0, 14.0),
    ("late", "day"): (21.0, 16.0, 24.0),
}

_BASES: tuple[tuple[str, str], ...] = (
    (r"(?:small|wee) h(?:ou)?rs", "small hours"),
    (r"early (?:morning )?h(?:ou)?rs", "early hours"),
    (r"dawn|day ?break|first light|sun ?rise|sun[- ]?up|daylight", "dawn"),
    (r"breakfast(?:[- ]?time)?", "breakfast"),
    (r"(?:morning |am )?rounds|the (?:day )?team (?:rounded|rounds)", "rounds"),
    (r"fore ?noon", "morning"),
    (r"mornings?|am|a\.m\.", "morning"),
    (r"after ?noons?|pm|p\.m\.", "afternoon"),
    (r"noon(?:[- ]?time)?|mid[- ]?day", "noon"),
    (r"lunch(?:[- ]?time)?", "lunch"),
    (r"(?:dinner|supper|tea)(?:[- ]?time)?", "dinner"),
    (r"(?:the )?change of shift|shift change", "shift"),
    (r"dusk|night ?fall|sun ?set|sun ?down", "dusk"),
    (r"evenings?|eve", "evening"),
    (r"bed ?time", "bedtime"),
    (r"over ?night|(?:through|throughout|during) (?:the|that) night", "overnight"),
    (r"mid ?night|12 ?mn", "midnight"),
    (r"night(?:time)?", "night"),
)
BASE = "|".join(pattern for pattern, _ in _BASES)

_MODIFIERS: tuple[tuple[str, str], ...] = (
    (r"early|very early|just into|first thing|beginning of|start of", "early"),
    (r"mid|middle of", "mid"),
    (r"late|end of", "late"),
    (r"before|pre|toward|towards|until shortly before|prior to", "before"),
    (r"after|past|following", "after"),
)


def find_part(modifier: str, base: str) -> Part | None:
    """Return the clock hours of "late" + "afternoon".

    None for words that name no part of the day.
    """
    name = next((n for p, n in _BASES if re.fullmatch(p, base.lower())), None)
    if base.lower() == "day":
        name = "day"
    if name is None:
        return None
    words = re.sub(r"\s+", " ", modifier.strip().lower())
    near = re.match(
        r"(just|shortly|soon|right|immediately|a little|a bit|barely) (before|after|past)$", words
    )
    key = near.group(2) if near else words
    mod = next((n for p, n in _MODIFIERS if re.fullmatch(p, key)), "")
    plain = _CLOCK[("", name)]
    if near and name in ("midnight", "noon", "dawn", "lunch", "breakfast", "dinner"):
        step = -0.3 if mod == "before" else 0.4
        low, high = (plain[0] - 1.0, plain[0]) if mod == "before" else (plain[0], plain[0] + 1.25)
        return Part(f"{words} {name}", plain[0] + step, low, high)
    if mod in ("before", "after") and (mod, name) not in _CLOCK:
        step = -2.0 if mod == "before" else 2.0
        low, high = sorted((plain[0] + 2 * step, plain[0]))
        return Part(f"{mod} {name}", plain[0] + step, low, high)
    point, low, high = _CLOCK.get((mod, name), plain)
    return Part(f"{mod} {name}".strip(), point, low, high)


def clock_part(hour: float, low: float, high: float) -> Part:
    """A stated clock time of the day."""
    return Part(f"{int(hour) % 24:02d}:{round(hour % 1 * 60) % 60:02d}", hour, low, high)
