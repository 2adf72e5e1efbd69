"""Find age and sex, which need patterns of their own."""

from __future__ import annotations

import re

_AGE = re.compile(
    r"\b(?P<age>\d{1,3}[\s-]*(?:years?|yrs?|months?|weeks?|days?)[\s-]+old|\d{1,3}\s?(?:y\.?/?o\.?|yo|yr)(?![\w/]))"
    r"(?P<between>(?:[\s,-]+(?!m\b|f\b)[\w-]+){0,4}?)[\s,-]+(?P<sex>female|male|woman|man|lady|gentleman|boy|girl|m|f)\b",
    re.IGNORECASE,
)
_AGE_ONLY = re.compile(
    r"\b\d{1,3}[\s-]*(?:years?|yrs?|months?|weeks?)[\s-]+old\b|\b\d{1,3}\s?(?:y/o|yo)\b",
    re.IGNORECASE,
)
_FUSED = re.compile(r"(?<![\w#.])\d{2,3}(?:yo)?[MF](?=\s|,|\.|$)")
#: The field of a head: "AGE/SEX: 70 F".
_FIELD = re.compile(
    r"\bage\s?/\s?(?:sex|gender)[\s.]*:\s*\d{1,3}\s?(?:yo?|yrs?|/)?\s?[MF]\b", re.IGNORECASE
)
_HEAD_SEX = re.compile(r"\b(?:sex|gender)\s*:\s*(?P<sex>m(?:ale)?|f(?:emale)?)\b", re.IGNORECASE)


def demographic_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return `[start, end)` of each age and sex in `text[start:end]`.

    "60F" is one span.
    """
    found: list[tuple[int, int]] = []
    for match in _AGE.finditer(text, start, end):
        found += [match.span("age"), match.span("sex")]
    taken = {s for s, _ in found}
    found += [m.span() for m in _AGE_ONLY.finditer(text, start, end) if m.start() not in taken]
    found += [m.span() for m in _FIELD.finditer(text, start, end)]
    found += [m.span() for m in _FUSED.finditer(text, start, end)]
    return sorted(found)


def heading_sex(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the sex given in the administrative head, with its label.

    Example: "Sex: F".
    """
    match = _HEAD_SEX.search(text, start, end)
    return match.span() if match else None
