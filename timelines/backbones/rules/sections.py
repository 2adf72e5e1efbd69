"""Finds the sections of a clinical note and gives each a normalised kind.

Headings come in many forms: a title line ("HISTORY OF PRESENT ILLNESS"), a title with its content
on the same line ("Social: lives alone"), a problem line in the course ("# Sepsis: …"), a system
line ("NEURO:"), or a capital title in the middle of a flattened note. Sections partition the note:
they do not overlap and leave no gap. Titles that nobody knows open no section.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

#: kind → what the heading says, in lower case, parentheses and trailing punctuation removed.
_TITLES: dict[str, str] = {
    "allergies": r"(?:drug )?allerg(?:y|ies)(?: ?/ ?adverse reactions?)?|allergies to medications",
    "chief_complaint": r"(?:chief|presenting) complaints?|c\.?c|reason for (?:admission|visit|consultation|hospitalization)|presentation",
    "admission_diagnosis": r"(?:admission|admitting|preoperative|provisional|working) diagnos[ie]s|diagnos[ie]s (?:on|at) admission",
    "discharge_diagnosis": r"(?:(?:principal|primary|secondary|final|discharge|postoperative|other|additional|active)[ /&]*(?:and )?)*"
    r"(?:discharge )?diagnos[ie]s(?: (?:on|at) discharge)?|diagnos[ie]s list",
    "procedures": r"(?:major )?(?:surgical|invasive)?(?: or |/| and )?(?:surgical |invasive |operative )?procedures?(?: performed| done)?"
    r"(?: (?:during|this) (?:the )?(?:hospital stay|hospitalization|admission))?|operations?(?: performed)?|operations? and procedures?|surger(?:y|ies) performed",
    "hpi": r"(?:brief |the )?history of (?:the )?(?:present|presenting|current) (?:illness|complaint|problem)|h\.?p\.?i|present illness|history|"
    r"(?:brief |clinical |admission |interval )history|history and reason for (?:admission|hospitalization)|indications? for admission|"
    r"hospitalization history|reason for hospitalization|history of presentation|summary of (?:present|presenting) illness|identification|identifying data",
    "ros": r"(?:pertinent )?review of systems|r\.?o\.?s",
    "pmh": r"(?:past |pertinent |relevant |significant |other )*medical (?:and surgical |/surgical |problems|& surgical )?(?:history)?(?: and surgical history)?|p\.?m\.?h\.?x?|"
    r"past (?:medical ?/ ?surgical )?history|pmh ?/ ?psh|background(?: history)?|comorbidities|past psychiatric history|psychiatric history|pshx?|"
    r"(?:past )?surgical history|medical problems|chronic (?:problems|conditions)|obstetric(?:al)? history|gynecologic(?:al)? history",
    "social": r"social(?: history| hx)?|soc(?:ial)? ?(?:hx|history)|sh|shx|habits|personal and social history|social history and habits",
    "social_family": r"(?:social|family)(?: history)? ?(?:/|and|&) ?(?:social|family)(?: history)?|sh ?/ ?fh|fh ?/ ?sh",
    "family": r"family (?:medical )?(?:history|hx)|f\.?hx?|family",
    "medications_admission": r"(?:current |home |outpatient |preadmission |prior |admission |pre-?hospital |pre-?admission )+(?:med(?:ication)?s?|medicines|drugs)(?: list)?|"
    r"med(?:ication)?s (?:on|at|prior to|before|upon) (?:admission|arrival|presentation|transfer)|meds at home|medications taken at home|"
    r"the preadmission medication list",
    "medications_discharge": r"(?:discharge|transfer) (?:med(?:ication)?s?|medicines|prescriptions|drugs)(?: list)?|d/?c meds?|med(?:ication)?s (?:on|at|upon) (?:discharge|transfer)|"
    r"med(?:ication)?s to (?:continue|take)|discharge meds and instructions",
    "medications": r"med(?:ication)?s|current treatment|medicines",
    "exam_admission": r"(?:admission|admit|initial|presenting) (?:physical )?(?:exam(?:ination)?|p\.?e|vitals|vital signs)|(?:physical )?exam(?:ination)? (?:on|at|upon) (?:admission|arrival|presentation)",
    "exam_discharge": r"(?:discharge|d/?c|final) (?:physical )?(?:exam(?:ination)?|p\.?e|vitals|vital signs)|(?:physical )?exam(?:ination)? (?:on|at|upon|prior to) discharge",
    "exam": r"(?:pertinent )?(?:physical )?(?:exam(?:ination)?s?)|p\.?e|physical|(?:ed |triage |admission )?(?:vs|vitals?|vital signs)|physical findings|objective|mental status(?: exam(?:ination)?)?",
    "results_admission": r"(?:admission|admit|initial|presenting|ed|baseline) (?:labs?|laborator(?:y|ies)|results|studies|data|laboratory (?:data|values|results))|labs? (?:on|at|upon) (?:admission|arrival|presentation)",
    "results_discharge": r"(?:discharge|d/?c|final|last) (?:labs?|laborator(?:y|ies)|results|laboratory (?:data|values|results))|labs? (?:on|at|upon|prior to) discharge",
    "results": r"(?:pertinent |relevant |significant |key |important |other )*(?:results?|labs?|laborator(?:y|ies)|data|studies|investigations|findings|laboratory (?:data|values|results|studies|findings|examination)|"
    r"(?:diagnostic|laboratory|imaging|radiolog(?:y|ic)|radiographic|ancillary)(?: (?:and|&|/) (?:diagnostic|imaging|radiology|x-?ray))? (?:data|studies|results|findings|tests|evaluation))|"
    r"(?:significant |pertinent )?lab(?:s|oratory)?(?: data)? (?:and|&) (?:x-?ray|imaging|radiology|studies)(?: data| studies)?|"
    r"imaging(?: studies)?|radiology|x-?rays?|micro(?:biology)?|cultures?|pathology(?: report)?|ekg|ecg|echo(?:cardiogram)?|diagnostics|labs/studies|labs and studies",
    "hospital_course": r"(?:brief |summary of |concise |detailed )*(?:hospital|icu|micu|sicu|ccu|inpatient|clinical|postoperative|post-?op|floor|treatment|psychiatric|emergency department|ed|icu/hospital) (?:and treatment )?course"
    r"(?: and treatment| by (?:problem|system)s?| (?:and|&) (?:treatment|progress))?|course(?: (?:in|of|during|while in) (?:the )?(?:hospital|treatment|stay|icu|hospitalization))?(?: by (?:system|problem)s?)?|"
    r"(?:hospital )?course by (?:system|problem|issue)s?|summary of (?:hospital|icu|ccu|micu)? ?(?:course|stay|hospitalization)|(?:hospital )?(?:progress|summary)|narrative(?: summary)?|"
    r"summary of (?:the )?(?:\w+ )?stay|hospitalization|treatment(?: rendered| given| course)?|assessment (?:and|&) plan|a/p|assessment|impression(?: and plan)?|events|overnight events|24 hour events",
    "consults": r"consult(?:ation)?s?(?: obtained| called)?|consultants",
    "complications": r"complications?",
    "disposition": r"(?:discharge )?dispo(?:sition)?|discharged? to|place of discharge|facility",
    "discharge_condition": r"(?:discharge )?condition(?: (?:on|at|upon|of) (?:discharge|the patient(?: (?:on|at) discharge)?))?|(?:discharge )?status(?: (?:on|at) discharge)?|code status|prognosis",
    "followup": r"follow[- ]?ups?(?: (?:instructions|plans?|care|appointments?|arrangements))?|f/u|f/?u plan|appointments?|(?:recommended )?follow[- ]?up",
    "transitional": r"transitional issues?|issues for follow[- ]?up|pending(?: results| at discharge| labs)?|to ?do",
    "instructions": r"(?:discharge |patient |post-?discharge )*instructions?(?: to (?:the )?patient)?|(?:discharge )?plan(?:s| of care)?|recommendations?|activit(?:y|ies)|diet|discharge recommendations|wound care|advice",
}
_KIND_OF_TITLE = {kind: re.compile(rf"(?:{pattern})", re.IGNORECASE) for kind, pattern in _TITLES.items()}

#: Field names of the administrative head of a note.
_HEAD_FIELD = re.compile(
    r"(?:name|unit no|mrn|admission date|discharge date|date of (?:birth|admission|discharge)|admitted|discharged|dob|sex|gender|service|attending|"
    r"age|dictated by|primary care physician|pcp|referring physician|date)\s*:",
    re.IGNORECASE,
)
_PARENTHESIS = re.compile(r"\s*\([^()\n]{0,60}\)")
_HEADING = re.compile(
    r"(?P<mark>[#*=>•\-–\s]*)(?P<title>[A-Za-z][A-Za-z0-9 /&'.,\-]{0,70}?)(?P<note>\s*\([^()\n]{1,60}\))?\s*(?P<end>:|[=*]*$|\s[-–]\s)",
)
_PROBLEM = re.compile(r"\s*#+\s*\d*[.)]?\s*(?:(?P<title>[^:\n]{2,80}?)\s*:|(?P<open>[^:\n.]{2,120}?)\s*(?:\.(?=\s|$)|$))")
_SYSTEM = re.compile(
    r"\s*(?P<title>neuro(?:logic(?:al)?)?(?:/psych)?|cv|cvs|cardiac|cardiovascular|cor|pulm(?:onary)?|resp(?:iratory)?|gi|gi/nutrition|fen(?:/gi)?|nutrition|renal|gu|renal/gu|heme|"
    r"heme/onc|hematology|id|infectious disease|endo(?:crine)?|msk|skin|derm|psych|lines?|access|ppx|prophylaxis|dispo|code|comm(?:unication)?|onc|rheum|vascular|ortho|wounds?|tox|events?)"
    r"\s*(?P<end>:)",
    re.IGNORECASE,
)
_MOMENT = re.compile(
    r"\s*(?P<title>(?P<adm>adm(?:ission|it)?|ed|arrival|presentation|on admission|at admission|initial)|(?P<dis>d/?c|disch(?:arge)?|on discharge|at discharge|final))"
    r"(?P<note>\s*\([^()\n]{1,60}\))?\s*(?:labs?|exam|vitals|vs)?\s*(?P<end>:)",
    re.IGNORECASE,
)
_ISOLATED = re.compile(r"(?:(?<=[.;!?,])|(?<=  ))\s*(?P<title>[A-Z][A-Za-z/&' \-]{1,60}?)(?P<note>\s*\([^()\n]{1,60}\))?\s*(?P<end>:)")
#: A row of results with a label of its own ends the row that belongs to admission or discharge ("MRI brain: …").
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
    """One section: `[start, end)` in code points; its text after the heading begins at `body_start`.

    `title` is the heading as written (empty before the first heading). For problems and systems of
    the hospital course it is the problem's or system's name, and `kind` stays ``hospital_course``.
    """

    kind: str
    title: str
    start: int
    end: int
    body_start: int


def kind_of_title(title: str) -> str | None:
    """Normalised kind of a heading such as "Discharge Medications"; None when it is not a known heading."""
    plain = _PARENTHESIS.sub("", title).strip(" \t.,:;-=*#").lower()
    plain = re.sub(r"\s+", " ", plain)
    for kind, pattern in _KIND_OF_TITLE.items():
        if plain and pattern.fullmatch(plain):
            return kind
    return None


def find_sections(text: str) -> tuple[Section, ...]:
    """All sections of a note in order. They cover `[0, len(text))` without gap or overlap."""
    found: list[tuple[int, int, str, str]] = []
    current = ""
    for start, line in _lines(text):
        hits = _line_headings(line, current)
        if not hits and current in {"results_admission", "results_discharge"} and _LABELLED_ROW.match(line):
            hits = [(0, 0, "results", "")]
        for offset, body, kind, title in hits:
            found.append((start + offset, start + body, kind, title))
            current = kind
    return _partition(text, found)


def _line_headings(line: str, current: str) -> list[tuple[int, int, str, str]]:
    """(offset, body offset, kind, title) of the headings on one line, in order."""
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
    if current == "hospital_course" and (match := _SYSTEM.match(line)):
        return begin, match.end(), "hospital_course", match["title"].strip()
    match = _HEADING.match(line)
    if not match or (match["end"].strip() in {"-", "–"} and not match["title"].isupper()):
        return None
    if _HEAD_FIELD.match(line.lstrip()):
        return (begin, begin, "header", "") if current in {"", "header"} else None
    kind = kind_of_title(match["title"])
    # A bare title without a colon must stand alone on its line and look like a title.
    if kind is None or (match["end"].strip(" =*") == "" and not match["title"][:1].isupper()):
        return None
    moment = _moment_of(f"{match['title']} {match['note'] or ''}")
    if kind in {"exam", "results"} and moment:
        kind = f"{kind}_{moment}"
    return begin, match.end(), kind, match["title"].strip()


def _moment_of(note: str) -> str | None:
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
        looks_administrative = bool(merged) and len(lead) < 400 and not re.search(r"\b\d{1,3}[ -]?(?:y/?o|year|yr)", lead)
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


def section_index(sections: tuple[Section, ...], offset: int) -> int:
    """Index of the section that holds `offset`; the first or last one for offsets outside the note."""
    return max(0, bisect_right([s.start for s in sections], offset) - 1)


def _lines(text: str) -> list[tuple[int, str]]:
    """(offset, line without its line break). Only CR and LF break lines, so offsets stay simple."""
    return [(m.start(), m.group()) for m in re.finditer(r"[^\r\n]+", text)]
