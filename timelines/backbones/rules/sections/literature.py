"""Find the parts of a published report that are not about its patient.

Title, abstract, introduction, discussion, conclusion and references speak of other patients, of
medicine in general, or repeat the case in short. Headings show them where a report has some,
citations and general statements where it has none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: The kind of a section without events of the patient.
LITERATURE = "literature"
_MARK = r"^[ \t]*(?:[#*]+[ \t]*)?(?:(?:\d{1,2}|[IVX]{1,4})[.)][ \t]*)?"
_FRONT = r"abstract|summary|key\s?words|introduction|background"
_BACK = (
    r"(?:general |brief )?discussion(?: and (?:conclusions?|review(?: of the literature)?))?|"
    r"conclusions?|concluding remarks|references|bibliography|review of (?:the )?literature|"
    r"literature review|learning points|take[- ]home (?:message|points)|acknowledge?ments?|"
    r"(?:conflicts?|declaration)s? of (?:competing )?interests?|funding|disclosures?|"
    r"(?:informed |patient )?consent(?: for publication)?|author contributions|ethics(?: approval)?"
)
_CASE = (
    r"(?:case|patient|clinical)s?(?: (?:report|presentation|description|history|information|findings))s?"
    r"(?: \d)?|(?:the )?case(?: \d)?"
)
_HEADING = re.compile(
    rf"{_MARK}(?:(?P<front>{_FRONT})|(?P<back>{_BACK})|(?P<case>{_CASE}))[ \t]*\**"
    r"(?:[ \t]*$|(?P<inline>:(?=[ \t]|$)))",
    re.IGNORECASE | re.MULTILINE,
)
#: Headings that clinical notes do not use, as opposed to "Background" or "Summary".
_PUBLISHED = re.compile(r"abstract|key\s?words|introduction|references|bibliography", re.IGNORECASE)
_CITATION = re.compile(r"\[\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\]|\bet\s+al\b|\bdoi\b|\bPMID\b")
_GENERAL = re.compile(
    r"\b(?:in the literature|literature|have been (?:reported|described|published)|has been "
    r"(?:reported|described)|were reported in|case series|case reports?|cohort|multicent(?:er|re)|"
    r"meta-analys[ie]s|randomi[sz]ed|guidelines?|trials?|registry|"
    r"we (?:report|present|describe)|(?:in|of) patients with|patients? (?:who|given|in whom)|"
    r"mortality (?:is|of)|incidence|prevalence)\b",
    re.IGNORECASE,
)
_OF_PATIENT = re.compile(r"\b(?:he|she|his|her|him|the patient|our patient)\b", re.IGNORECASE)
_OF_CASE = re.compile(
    r"\b(?:our|this|the present|the presented|the reported)\s+(?:patient|case)\b|"
    r"\bwe\s+(?:did|had|gave|chose|started|stopped|used|treated|withheld)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
#: Citations that make a note without such headings a report.
_MANY = 3


@dataclass(frozen=True)
class Report:
    """The parts of a published report, as offsets.

    `literature`: start, end, where its text begins, and its heading. `cases`: start, where its text
    begins, and its heading.
    """

    literature: tuple[tuple[int, int, int, str], ...] = ()
    cases: tuple[tuple[int, int, str], ...] = ()


def read_report(text: str) -> Report | None:
    """Return the parts of a published report, None for another note."""
    headings = list(_HEADING.finditer(text))
    published = any(_PUBLISHED.search(m.group()) for m in headings)
    if not (published and len({m.lastgroup for m in headings} - {"inline"}) >= 2) and not (
        headings and len(_CITATION.findall(text)) >= _MANY
    ):
        return None
    # What comes before the last of abstract and introduction is title, authors or abstract.
    begins = max(
        (m.start() for m in headings if _PUBLISHED.search(m.group()) and m["front"]), default=0
    )
    case = next((m.start() for m in headings if m["case"] and m.start() >= begins), None)
    if case is None:
        return None
    headings = [m for m in headings if not (m["front"] and m.start() > case)]
    literature: list[tuple[int, int, int, str]] = []
    cases: list[tuple[int, int, str]] = []
    if headings[0].start() > 0:
        literature.append((0, headings[0].start(), 0, ""))
    ends = [*(m.start() for m in headings[1:]), len(text)]
    for m, end in zip(headings, ends, strict=True):
        title = (m["front"] or m["back"] or m["case"]).strip()
        if m["case"] and m.start() >= begins:
            cases.append((m.start(), m.end(), title))
        else:
            literature.append((m.start(), end, m.end(), title))
    return Report(tuple(literature), tuple(cases))


def is_literature(passage: str) -> bool:
    """Return whether a passage without a heading is not about the patient.

    At least half of its sentences have citations or words of reviews, and fewer than half have a
    word for the patient.
    """
    sentences = [s for s in _SENTENCE.split(passage) if s.strip()]
    cited = sum(bool(_CITATION.search(s) or _GENERAL.search(s)) for s in sentences)
    own = sum(bool(_OF_PATIENT.search(s)) for s in sentences)
    return bool(_CITATION.search(passage)) and 2 * cited >= len(sentences) > 2 * own


def speaks_of_case(sentence: str, title: str) -> bool:
    """Return whether a sentence of the literature reports on the case.

    Example: "In our patient, digoxin halved the rate". An abstract repeats the case.
    """
    back = re.fullmatch(_BACK, title, re.IGNORECASE) is not None
    return back and _OF_CASE.search(sentence) is not None and not _CITATION.search(sentence)
