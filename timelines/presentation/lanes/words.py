"""Short words for the marks of the lanes."""

from __future__ import annotations

import re

from timelines.backbones.rules.querying.vocabulary import Hit, Kind

#: A mark has at most this many characters beside it.
LONGEST = 34
_LEADING = re.compile(
    r"^(?:(?:a|an|the|his|her|their|was|were|had|has|and|of|with|he|she)\s+)+", re.I
)
_ASIDE = re.compile(r"\s*\([^()]*\)")
_END = re.compile(r"[\s,;:.–—-]+$")
#: Words that must not end a label.
_DANGLING = re.compile(
    r"\s+(?:a|an|the|of|with|and|or|to|for|in|on|at|by|from|was|were|is|his|her)$", re.I
)


def short_words(mention: str) -> str:
    """Return the first words of a mention.

    They are cut between words, with "…", if they are too long.
    """
    words = " ".join(mention.split())
    if len(words) > LONGEST:
        words = _ASIDE.sub("", words)
    words = _LEADING.sub("", words) or words
    if len(words) <= LONGEST:
        return _END.sub("", words) or words
    cut = words[: LONGEST - 1]
    if " " in cut[LONGEST // 2 :]:
        cut = cut.rpartition(" ")[0]
    return _DANGLING.sub("", _END.sub("", cut)) + "…"


def words_beside(mention: str, subject: Hit) -> str:
    """Return the short words of a mention without its first name.

    The name is of a drug or a measurement. A mark beside that name does not repeat it: "hematocrit 27.4 on arrival" → "27.4 on arrival".
    "" if the name is not at the beginning, or nothing is left.
    """
    if subject.implied or subject.concept.kind not in (Kind.DRUG, Kind.MEASUREMENT):
        return ""
    if _LEADING.sub("", mention[: subject.start] + " ").strip():
        return ""
    rest = mention[subject.end :].strip(" :,;-–")
    return short_words(rest) if rest else ""
