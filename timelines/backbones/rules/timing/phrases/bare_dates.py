"""Find dates without a word before them ("12/4", "replaced 12/3 1700").

The note and the stay distinguish them from fractions. "12/4" may be the fourth of December, a
strength, a murmur or a dose. It is read as a date if the note writes several near the stay, one of
them after a date word or at the head of a line, and no word next to it makes it a share of
something or a ventilator setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from timelines.backbones.rules.sentences import writes_dotted_dates
from timelines.backbones.rules.timing.phrases.terms import Basis, Day

#: Month and day without a year, nothing numeric around them.
BARE_DATE = re.compile(
    r"(?<![\w/.,+-])(?P<m>1[0-2]|0?[1-9])/(?P<d>3[01]|[12]\d|0?[1-9])\b(?![/%]|[.,:-]\d)"
)
#: A sentence that goes on behind a date.
_GOES_ON = re.compile(r"\s*[,;:)–-]|\s+[a-z]")
_SHARE_BEFORE = re.compile(
    r"(?:\b(?:pain|strengths?|power|motor|murmur|grade|scores?|gcs|apgars?|scale|level|sensation|reflexes|pulses|dtrs?|vision|x|of|"
    r"hand|level|burning|reported|rated|sharp|at|was)\s*(?:score|level|is|was|of|at|a)?|[<>≥≤=~])\s*$",
    re.IGNORECASE,
)
_RATED = re.compile(
    r"\b(?:pain|strength|power|motor|murmur|scale|reflexes|pulses|psv?|pressure"
    r" support|cpap|bipap|bi-?level|ipap|epap|peep|sbt|simv|"
    r"vent\w*|settings?|weaned|minute|hg|bp|pressures?|visual|acuity|nihss|ratio|dilat\w*|effaced|station)\b[^.;\n]{0,25}$",
    re.IGNORECASE,
)
#: Words that make the next number a date; a note that writes bare dates also writes such ones.
_CUED = re.compile(
    r"(?:\b(?:on|since|from|until|by|through|thru|dated?|admitted|discharged|disch|adm)\s*:?\s+|date\s*:\s*|^["
    r" \t]*(?:(?:\d{1,2}[.)]|[-*•])\s+)?)$",
    re.IGNORECASE,
)
_SHARE_AFTER = re.compile(
    r"\s*(?:st|nd|rd|th|strength|sem|sys\w*|dia\w*|murmur|hsm|in"
    r" (?:intensity|severity|all|upper|lower)|pain|ppd|packs?|tabs?|tablets?|"
    r"pills?|bottles?|cultures|sets?|blood|ns|normal"
    r" saline|hours?|hrs?|inch\w*|cups?|ss|lb|hpf|of|throughout|bilat\w*|b/l|"
    r"at (?:apex|base|rest)|on the pain)\b",
    re.IGNORECASE,
)
#: Days around t = 0 for dates of a stay, and the number of such dates from which a note is taken to
#: use bare dates.
_EARLIEST, _LATEST = -10, 60
_MANNER = 2


def bare_dates(text: str, find_day: Callable[[Day], int | None]) -> Callable[[Day], bool] | None:
    """Return a test for bare dates of this note.

    None if the note does not write dates this way. `find_day` returns the number of days from
    t = 0 to a named day.
    """

    def about_stay(day: Day) -> bool:
        found = find_day(day)
        return found is not None and _EARLIEST <= found <= _LATEST

    written = [
        m for m in BARE_DATE.finditer(text) if not is_share(text, m) and about_stay(parse_day(m))
    ]
    cued = any(
        _CUED.search(text[max(0, text.rfind("\n", 0, m.start()) + 1, m.start() - 20) : m.start()])
        for m in written
    )
    return about_stay if cued and len({parse_day(m) for m in written}) >= _MANNER else None


def dotted_dates(
    text: str, find_day: Callable[[Day], int | None]
) -> Callable[[re.Match[str]], bool] | None:
    """Return a test for dates with points but without a year ("26.8.").

    None if the note does not write dates with points. "K 4.1." at the end of a sentence is a date
    only if it is one of the stay.
    """
    if not writes_dotted_dates(text):
        return None

    def is_date(match: re.Match[str]) -> bool:
        if match["y"] or _GOES_ON.match(match.string, match.end()):
            return True
        found = find_day(Day(Basis.DATE, int(match["d"]), month=int(match["m"])))
        return found is not None and _EARLIEST <= found <= _LATEST

    return is_date


def parse_day(match: re.Match[str]) -> Day:
    """The named day of a match of `BARE_DATE`."""
    return Day(Basis.DATE, int(match["d"]), month=int(match["m"]))


def is_share(text: str, match: re.Match[str]) -> bool:
    """Return whether the match is a share, as in "5/5 strength".

    Also "pain 8/10" and "2/6 SEM".
    """
    before = text[max(0, match.start() - 40) : match.start()]
    if re.search(r"\b(?:on|since|from|until|by|through|of|dated?)\s+$", before, re.IGNORECASE):
        return bool(_SHARE_AFTER.match(text, match.end()))
    return bool(
        _SHARE_BEFORE.search(before)
        or _RATED.search(before)
        or _SHARE_AFTER.match(text, match.end())
    )
