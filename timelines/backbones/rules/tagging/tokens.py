"""Split clinical shorthand into tokens.

"w/", "s/p", "A&Ox3", "7.43/24/60", "14.2*" and "->" are single tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""
    (?P<blank>_{2,}|\[\*\*[^\[\]\n]{0,60}\*\*\])
  | (?P<arrow>-+>|=+>|→|⇒|>>)
  | (?P<short>(?:w/o|w/in|w/|s/p|c/b|p/w|d/t|f/b|r/o|h/o|p/f|b/l|n/v|v/q|f/c|a/c|d/c|u/a|u/s|i/o|i/os|m/r/g|c/c/e|f/u|n/t|a/p|o/n|
      i&d|o&p|a&o|a&ox\d|a\+ox\d|nt/nd|si/hi|pt/ot|abd/pelvis|2/2|y/o|yo)(?![\w/]))
  | (?P<mixed>[#~]?\d+(?:\.\d+)*[A-Za-z]+\d*)
  | (?P<number>(?:(?<![\w)])[<>~≥≤±+-])?\d+(?:[.,]\d+)*(?:st|nd|rd|th)?(?:\s?[/–]\s?\d+(?:\.\d+)*|-\d+(?:\.\d+)*)*(?:%|\*|\+)*(?![A-Za-z]))
  | (?P<word>[^\W\d_](?:[\w]|[’'](?=\w)|[-](?=[^\W\d_])|[&](?=\w))*)
  | (?P<other>\S)
    """,
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token: `[start, end)` in code points of the whole text."""

    start: int
    end: int
    text: str
    lower: str
    kind: str

    @property
    def is_number(self) -> bool:
        return self.kind == "number"

    @property
    def is_word(self) -> bool:
        return self.kind in {"word", "short", "mixed"}


def tokenize(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """Tokens of `text[start:end]`; offsets count from the start of `text`."""
    stop = len(text) if end is None else end
    return [
        Token(m.start(), m.end(), m.group(), m.group().lower(), m.lastgroup or "other")
        for m in _TOKEN.finditer(text, start, stop)
    ]
