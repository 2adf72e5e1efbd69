"""Find the sections of a clinical note and give each a normalised kind.

Headings come in many forms: a title line ("HISTORY OF PRESENT ILLNESS"), a title with its content
on the same line ("Social: lives alone"), a problem line in the course ("# Sepsis: …"), a system
line ("NEURO:"), or a capital title in the middle of a flattened note. Sections partition the note:
they do not overlap and leave no gap. Unknown titles open no section.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

_KIND_OF_TITLE = {
    kind: re.compile("|".join(f"(?:{title})" for title in titles), re.IGNORECASE)
    for kind, titles in tomllib.loads(
        Path(__file__).with_name("headings.toml").read_text(encoding="utf-8")
    ).items()
}

#: Field names of the administrative head of a note.
HEAD_FIELD = re.compile(
    r"(?:name|unit no|mrn|admission date|discharge date|date of"
    r" (?:birth|admission|discharge)|admitted|discharged|dob|sex|gender|service|"
    r"attending|age|dictated by|primary care physician|pcp|referring physician|date)\s*:",
    re.IGNORECASE,
)
#: A remark after a title: "(on arrival)", "{copied forward}", "<< from the admission note >>".
_NOTE = r"\s{0,3}(?:\([^()\n]{1,60}\)|\{[^{}\n]{1,60}\}|<+[^<>\n]{1,60}>+)"
_PARENTHESIS = re.compile(rf"{_NOTE}|\s{{0,3}}\(\)")
#: A date or an hour behind a title: "OPERATION 11.12.2201", "Exam 0510".
_WHEN = re.compile(
    r"(?:\s+(?:on|at|of|from))?\s+(?:\d{4}|\d{1,4}[./:-]\d{1,2}(?:[./-]\d{2,4})?)\.?$"
)
_HEADING = re.compile(
    r"(?P<mark>[#*=>•\-–\s]*)(?P<title>[A-Za-z][A-Za-z0-9"
    rf" /&'.,@\-]{{0,70}}?)(?P<note>{_NOTE})?"
    r"\s*(?P<end>:|[=*]*$|\s[-–]\s|\.(?=\s+[A-Z0-9]))",
)
_PROBLEM = re.compile(
    r"\s*#+\s*\d*[.)]?\s*(?:(?P<title>(?:(?!\.\s+[A-Z0-9])[^:\n]){2,80}?)\s*:(?!\d)|(?P<open>[^:\n.]{2,120}?)\s*(?:\.(?=\s|$)|$))"
)
SYSTEM = re.compile(
    r"\s*(?P<title>(?:neuro(?:logic(?:al)?)?(?:/psych)?|psychiatric|cv|cvs|cardiac|cardiovascular|circulation|cor|chest|"
    r"pulm(?:onary)?|resp(?:iratory)?|musculoskeletal|metabolic|infections?|gastrointestinal|h(?:a)?ematologic(?:al)?|"
    r"gi|gi/nutrition|fen(?:/gi)?|nutrition|renal|gu|renal/gu|heme|heme/onc|hematology|id|infectious"
    r" disease|endo(?:crine)?|msk|skin|"
    r"derm|psych|lines?|access|ppx|prophylaxis|dispo|code|comm(?:unication)?|onc|rheum|vascular|ortho|wounds?|tox|events?)(?:\s?/\s?[a-z]+)*)"
    r"\s*(?P<end>:|(?-i:(?<=[A-Z]{3})\.)(?=\s)|(?=\s*$))",
    re.IGNORECASE,
)
#: Most words of a subtitle.
_SUBTITLE = 6
_MOMENT = re.compile(
    r"\s*(?P<title>(?P<adm>adm(?:ission|it)?|ed|arrival|presentation|on admission|at"
    r" admission|initial)|"
    r"(?P<dis>d/?c|disch(?:arge)?|on discharge|at discharge|final))"
    r"(?P<note>\s{0,3}\([^()\n]{1,60}\))?\s*(?:labs?|exam|vitals|vs)?\s*(?P<end>:)",
    re.IGNORECASE,
)
_ISOLATED = re.compile(
    r"(?:(?<=[.;!?,])|(?<=  ))\s{0,3}(?P<title>[A-Z][A-Za-z/&'"
    r" \-]{1,60}?)(?P<note>\s{0,3}\([^()\n]{1,60}\))?\s*(?P<end>:)"
)
#: A row of results with its own label ("MRI brain: …") ends the row of admission or discharge.
_LABELLED_ROW = re.compile(r"\s*[A-Z][A-Za-z0-9/ ]{1,30}(?:\([^()\n]{1,40}\))?\s*:")
_BY_MOMENT = {
    "exam",
    "exam_admission",
    "exam_discharge",
    "results",
    "results_admission",
    "results_discharge",
}


@dataclass(frozen=True, slots=True)
class Section:
    """One section, `[start, end)` in code points.

    Its text after the heading begins at `body_start`. `title` is the heading as written (empty
    before the first heading). For problems and systems of the hospital course it is the problem's
    or system's name, and `kind` stays ``hospital_course``.
    """

    kind: str
    title: str
    start: int
    end: int
    body_start: int

    @property
    def is_named(self) -> bool:
        """Whether its heading says what it is; otherwise its words do."""
        return kind_of_title(self.title) is not None


def kind_of_title(title: str) -> str | None:
    """Return the normalised kind of a heading such as "Discharge Medications".

    None if the heading is not known.
    """
    plain = _PARENTHESIS.sub("", title).strip(" \t.,:;-=*#").lower()
    plain = _WHEN.sub("", re.sub(r"\s+", " ", plain))
    for kind, pattern in _KIND_OF_TITLE.items():
        if plain and pattern.fullmatch(plain):
            return kind
    return None


def find_sections(
    text: str, openings: Mapping[int, tuple[int, str, str]] = MappingProxyType({})
) -> tuple[Section, ...]:
    """Return all sections of a note in order.

    They cover `[0, len(text))` without gap or overlap. `openings`: offsets at which a section
    begins without a known heading, with the offset of its body, its kind and its title.
    """
    found: list[tuple[int, int, str, str]] = []
    current = ""
    offsets = sorted(openings)
    for start, line in _lines(text):
        end = start + len(line)
        for offset in offsets[bisect_left(offsets, start) : bisect_left(offsets, end)]:
            found.append((offset, *openings[offset]))
            current = openings[offset][1]
        hits = _line_headings(line, current)
        if (
            not hits
            and current in {"results_admission", "results_discharge"}
            and _LABELLED_ROW.match(line)
        ):
            hits = [(0, 0, "results", "")]
        for offset, body, kind, title in hits:
            found.append((start + offset, start + body, kind, title))
            current = kind
    return _partition(text, found)


def _line_headings(line: str, current: str) -> list[tuple[int, int, str, str]]:
    """Return the headings on one line, in order.

    Each is (offset, body offset, kind, title).
    """
    hits: list[tuple[int, int, str, str]] = []
    first = _first_heading(line, current)
    if first is not None:
        hits.append(first)
        current = first[2]
    for match in _ISOLATED.finditer(line, first[1] if first else 0):
        kind = kind_of_title(match["title"])
        if kind and (match["title"].isupper() or kind in _SAFE_INLINE):
            hits.append((match.start("title"), match.end(), kind, match["title"].strip()))
    return hits


#: Kinds whose title in the middle of a line is unlikely to be ordinary prose.
_SAFE_INLINE = {
    "allergies", "chief_complaint", "pmh", "social", "social_family", "family", "medications_admission", "medications_discharge",
    "discharge_condition", "disposition", "followup", "discharge_diagnosis", "results_discharge", "results_admission", "exam",
    "exam_admission", "exam_discharge", "hospital_course",
}  # fmt: skip


def _first_heading(line: str, current: str) -> tuple[int, int, str, str] | None:
    begin = len(line) - len(line.lstrip())
    if line.lstrip().startswith("#"):
        match = _PROBLEM.match(line)
        if match:
            return (
                begin,
                match.end(),
                "hospital_course",
                (match["title"] or match["open"]).strip(),
            )
    if current in _BY_MOMENT and (match := _MOMENT.match(line)):
        base = "exam" if current.startswith("exam") else "results"
        return (
            begin,
            match.end(),
            f"{base}_{'admission' if match['adm'] else 'discharge'}",
            match["title"].strip(),
        )
    if current == "hospital_course" and (match := SYSTEM.match(line)):
        return begin, match.end(), "hospital_course", match["title"].strip()
    match = _HEADING.match(line)
    if not match or not _ends_title(line, match):
        return None
    if HEAD_FIELD.match(line.lstrip()):
        return (begin, begin, "header", "") if current in {"", "header"} else None
    kind = kind_of_title(match["title"])
    # A bare title without a colon must be alone on its line and look like a title.
    if kind is None or (match["end"].strip(" =*") == "" and not match["title"][:1].isupper()):
        return None
    moment = _find_moment(f"{match['title']} {match['note'] or ''}")
    if kind in {"exam", "results"} and moment:
        kind = f"{kind}_{moment}"
    subtitled = match["end"].strip() in {"-", "–"} and not match["title"].isupper()
    return begin, len(line) if subtitled else match.end(), kind, match["title"].strip()


def _ends_title(line: str, match: re.Match[str]) -> bool:
    """Return whether the mark after a title shows that it is one.

    A full stop does if the title is in capitals ("COURSE. On arrival …"), a dash also if only a few
    words follow ("Assessment - what happened here").
    """
    mark = match["end"].strip()
    if mark == ".":
        return match["title"].isupper() and len(match["title"]) > 3
    if mark not in {"-", "–"}:
        return True
    rest = line[match.end() :].strip()
    return match["title"].isupper() or (
        len(rest.split()) <= _SUBTITLE and rest[-1:].isalpha() and rest[:1].islower()
    )


def _find_moment(note: str) -> str | None:
    if re.search(r"arrival|admi|present|initial|\bed\b", note, re.IGNORECASE):
        return "admission"
    return "discharge" if re.search(r"discharge|d/?c", note, re.IGNORECASE) else None


def _partition(text: str, found: list[tuple[int, int, str, str]]) -> tuple[Section, ...]:
    merged: list[tuple[int, int, str, str]] = []
    for hit in found:
        if merged and hit[2] == "header" == merged[-1][2]:
            continue
        merged.append(hit)
    if not merged or merged[0][0] > 0:
        lead = text[: merged[0][0]] if merged else text
        looks_administrative = (
            bool(merged)
            and len(lead) < 400
            and not re.search(r"\b\d{1,3}[ -]?(?:y/?o|year|yr)", lead)
        )
        if merged and merged[0][2] == "header" and looks_administrative:
            merged[0] = (0, 0, "header", "")
        else:
            merged.insert(0, (0, 0, "header" if looks_administrative else "other", ""))
    if not text:
        return ()
    ends = [hit[0] for hit in merged[1:]] + [len(text)]
    return tuple(
        Section(kind, title, start, end, min(body, end))
        for (start, body, kind, title), end in zip(merged, ends, strict=True)
        if end > start
    )


def _lines(text: str) -> list[tuple[int, str]]:
    """Return (offset, line without its line break) for each line.

    Only CR and LF break lines, so offsets stay simple.
    """
    return [(m.start(), m.group()) for m in re.finditer(r"[^\r\n]+", text)]
