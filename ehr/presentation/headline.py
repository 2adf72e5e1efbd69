"""Say what a stay is in one line: who, what, how long, where to.

"74 M · Intracerebral haemorrhage on apixaban · 4 d 6 h · to rehab". It is made from the title, the
rows of the record and the note. What is not found is left out; nothing is guessed from a code. No
Django here.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ehr.presentation.wording import span_words

BETWEEN = " · "
#: Ages above it are not said exactly: they identify people.
OLDEST = 89
LONGEST_PROBLEM = 80
LONGEST_UNIT = 60
#: The categories of events that say what a stay is.
CATEGORIES = ("admission", "transfer", "diagnosis", "gender", "sex", "demographic", "patient")
#: Code points of the note in which age and sex are searched.
_OPENING = 6000
#: The least code points at the end of the note in which the outcome is searched.
_ENDING = 1500


@dataclass(frozen=True, slots=True)
class StayRow:
    """A row of the record that says something of the stay itself."""

    event: str
    value: str = ""
    time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Stay:
    """The parts of the line; "" for what was not found."""

    age: str = ""
    sex: str = ""
    problem: str = ""
    length: str = ""
    outcome: str = ""
    unit: str = ""

    @property
    def who(self) -> str:
        return " ".join(filter(None, (self.age, self.sex)))

    @property
    def headline(self) -> str:
        return BETWEEN.join(filter(None, (self.who, self.problem, self.length, self.outcome)))


def describe_stay(
    *,
    title: str,
    admitted_at: datetime,
    discharged_at: datetime | None,
    rows: Sequence[StayRow] = (),
    note: str = "",
) -> Stay:
    """Return what is known of a stay."""
    age, sex = _age_and_sex(note[:_OPENING])
    length = (discharged_at - admitted_at).total_seconds() / 3600 if discharged_at else 0.0
    return Stay(
        age=age,
        sex=_sex_of_record(rows) or sex,
        problem=_problem(title, rows, note),
        length=span_words(length) if length > 0 else "",
        outcome=_outcome_of_record(rows) or _outcome_of_note(note),
        unit=_unit(rows, discharged_at),
    )


# Who.

_MALE = r"male|man|gentleman|boy|M"
_FEMALE = r"female|woman|lady|girl|F"
#: "74 year old right-handed man", "82yo M", "3-day-old girl".
_AGE = re.compile(
    r"(?<![\w.])(?P<over>>\s*)?(?P<number>\d{1,3})[\s-]*"
    r"(?P<unit>years?|yrs?|y|months?|mos?|weeks?|wks?|days?|hours?|hrs?)?[\s./-]*(?:old|o)\b\.?"
    rf"(?:[\s-]*(?:[a-z][\w/-]*,?\s+){{0,3}}?(?:(?P<male>{_MALE})|(?P<female>{_FEMALE}))\b)?"
)
#: "74M w/ …": without "old", only where the sentence goes on as one on a person ("5 M NaCl").
_TERSE = re.compile(
    r"(?<![\w.])(?P<over>>\s*)?(?P<number>\d{1,3})\s?(?P<unit>)(?:(?P<male>M)|(?P<female>F))\b"
    r"(?=\s*(?:[,(]|w\b|p/w|s/p|h/o|(?:with|who|pmh|hx|presents?|presenting|admitted|brought|from|on|found|in|and)\b"
    r"|transfer))"
)
_NEWBORN = re.compile(
    rf"\b(?:newborn|neonate|baby)\s+(?:(?P<male>{_MALE})|(?P<female>{_FEMALE}))\b", re.I
)
_SEX = re.compile(r"\b(?:Sex|Gender):\s*(M|F|Male|Female)\b", re.I)
_SHORT = {"m": "mo", "w": "wk", "d": "d", "h": "h"}


def _age_and_sex(text: str) -> tuple[str, str]:
    """Return age and sex as the note's opening says them."""
    stated = _SEX.search(text)
    sex = stated[1][0].upper() if stated else ""
    person = _find_person(text)
    if person:
        named = "M" if person["male"] else "F" if person["female"] else ""
        over = bool(person["over"])
        return _age_words(int(person["number"]), person["unit"] or "", over=over), named or sex
    newborn = _NEWBORN.search(text)
    if newborn:
        return "newborn", "M" if newborn["male"] else "F"
    return "", sex


def _find_person(text: str) -> re.Match[str] | None:
    """Return the first words that give an age."""
    found = [m for m in (_AGE.search(text), _TERSE.search(text)) if m]
    return min(found, key=lambda m: m.start(), default=None)


def _age_words(number: int, unit: str, *, over: bool) -> str:
    short = _SHORT.get(unit[:1], "")
    if short:
        return f"{number} {short}"
    return f"> {OLDEST}" if over or number > OLDEST else str(number)


def _sex_of_record(rows: Iterable[StayRow]) -> str:
    for row in rows:
        category, _, rest = row.event.partition(":")
        if category in ("gender", "sex") or (
            category in ("demographic", "patient") and re.match(r"(gender|sex)\b", rest)
        ):
            word = re.search(r"\b(m|f|male|female)\b", f"{rest} {row.value}".lower())
            if word:
                return word[1][0].upper()
    return ""


# What.

_CODED = re.compile(r"^\s*[A-Z]?\d[\w.]*\s*\(ICD-?\s*(?:9|10)\w*\)\s*", re.I)
_ASIDE = re.compile(r"\s*[(\[](?:synthetic|demo|test)[^)\]]*[)\]]\s*$", re.I)
#: A code of a diagnosis or a group: it names nothing for a reader.
_ONLY_CODE = re.compile(r"[A-Z]?\d[\dA-Z.]*|\d+", re.I)
#: How a stay was admitted is no problem of a patient (MIMIC-IV's titles).
_ADMISSION = re.compile(
    r"\b(?:emergency|urgent|elective|ew emer|direct (?:emer|obs)|observation|eu obs|same day admission|"
    r"emergency room|physician referral|transfer from|walk-in)",
    re.I,
)
_LABELS = r"(?:primary|principal|main|final|discharge)?\s*(?:discharge\s+)?diagnos[ei]s|dx"
_DIAGNOSIS = re.compile(rf"^[ \t]*(?:{_LABELS})[ \t]*(?::[ \t]*|$)(?P<rest>.*)$", re.I | re.M)
_HEADING = re.compile(r"[A-Z][A-Za-z /&]*:")
_COMPLAINT = re.compile(
    r"^[ \t]*(?:chief complaint|cc|reason for admission)[ \t]*:[ \t]*(\S.*)$", re.I | re.M
)
_BROUGHT = re.compile(
    r"\b(?:p/w|presents?|presented|presenting|brought in|admitted|transferr?ed|referred|here)"
    r"(?:\s+(?:from|to|by)\s+[\w/-]+(?:\s+[\w/-]+)?)?\s*(?:\bw/|\bwith\b|\bfor\b|(?<=p/w))\s*(?P<what>[^.;:\n]+)"
)
_FROM = re.compile(
    r"\bfrom\s+(?:a\s+)?(?:OSH|SNF|home|nursing home|clinic|[A-Z]{2,5})\s+(?:w/|with|for)\s*(?P<what>[^.;:\n]+)"
)
_BEGAN = re.compile(
    r"\b(?:(?:developed|noticed|was struck by|reported)\s+(?P<what>[^.;:\n]+)"
    r"|(?:came|comes)\s+to\s+[^.;:\n]*?(?P<doing>\b(?!(?:evening|morning)\b)[a-z]+ing\s[^.;:\n]+))"
)
#: The last word of a complaint that names no cause.
_SYMPTOM = re.compile(
    r"(?:pain|aches?|\w*ache|tightness|pressure|discomfort|swelling|weakness|numbness|tingling|dyspn\w+|breath|sob|cough|"
    r"fevers?|chills|nausea|vomiting|diarrh\w+|constipation|dizziness|lightheadedness|vertigo|syncope|collapse|"
    r"confusion|lethargy|unresponsiveness|ams|mental status|fatigue|malaise|falls?|palpitations|edema|oedema|rash|"
    r"jaundice|hiccups|secretions|bleeding|hematemesis|haematemesis|melena|hemoptysis|haemoptysis)",
    re.I,
)
_PHRASE_ENDS = re.compile(r",|;|\+|\b(?:with|and|of the|of|on|in|at|for|since|x)\b")
#: What an examination showed: "head CT in the ED showed …", "LUE duplex: …".
_RESULT = re.compile(
    r"\b(?:CTA?|MR[IA]|CXR|x-?ray|film|angiogra(?:m|phy)|catheteri[sz]ation|cath|duplex|ultrasound|echo(?:cardiogra\w+)?|"
    r"TTE|TEE|EEG|endoscopy|EGD|colonoscopy|bronchoscopy|scan)\b[^.;:\n]{0,60}?"
    r"(?:\b(?:show(?:ed|ing|s)|reveal(?:ed|ing|s)|demonstrat(?:ed|ing|es)|confirm(?:ed|ing|s))\b|:)\s*(?P<what>[^.;\n]+)",
    re.I,
)
#: A result that explains no complaint.
_NO_CAUSE = re.compile(
    r"(?:an?\s+|the\s+)?(?:no\b|neg|normal|clear|unremarkable|unchanged|stable|without|EF\b|ejection|sinus|\d)",
    re.I,
)
#: Code points after the words on the person in which such results are searched.
_STORY = 2500
_NEXT_SECTION = re.compile(r"\n[ \t]*(?=[A-Z][A-Za-z /&]{1,40}:|[A-Z][A-Z /&]{3,}\n)")
_TRANSFER = re.compile(r"^(?:\w+\s+)?transfer(?:\s+from\s+.*)?$", re.I)
_DROP = re.compile(
    r"\b(?:chronic or unspecified|unspecified|other)\s+|,?\s*(?:without mention of .*|initial episode of care|"
    r"initial encounter|not elsewhere classified|unspecified|not specified.*|with(?:out)? complication nos)$",
    re.I,
)


def _problem(title: str, rows: Sequence[StayRow], note: str) -> str:
    """Return the main problem.

    The diagnosis at discharge leads, then the title and the complaint. A complaint that is only a
    symptom gives way to what the first examination showed. A row of a diagnosis does not say its
    rank, so it comes last.
    """
    if words := _diagnosis_of_note(note) or _title_words(title):
        return words
    reason = _reason_of_note(note)
    shown = _result_of_note(note) if _is_symptom(reason) else ""
    return shown or reason or _diagnosis_of_record(rows)


def _diagnosis_of_note(note: str) -> str:
    """Return the first diagnosis at discharge that the note lists."""
    for found in _DIAGNOSIS.finditer(note):
        below = note[found.end() :].split("\n", 4)[1:4]
        lines = [found["rest"]] if found["rest"].strip() else below
        for line in lines:
            plain = re.sub(
                r"^\W*(?:\d+[.)]\s*)?(?:(?:primary|principal|main)\b(?:\s+diagnos[ei]s)?\s*:?)?",
                "",
                line,
                flags=re.I,
            )
            plain = plain.strip(" :=-#\t")
            if _HEADING.match(plain) or not line.strip():
                break
            if plain and not re.fullmatch(_LABELS, plain, re.I):
                # Two are enough to know the stay: "NSTEMI, CAD s/p CABG".
                return _shorten(",".join(plain.split(";")[0].split(",")[:2]))
    return ""


def _title_words(title: str) -> str:
    """Return the words of a title; "" if it is a code or a kind of admission."""
    plain = _ASIDE.sub("", _CODED.sub("", title)).strip()
    if not plain or _ADMISSION.search(plain) or _ONLY_CODE.fullmatch(plain):
        return ""
    # A title such as "Case 12" names no problem.
    if re.fullmatch(r"(?:case|patient|stay|encounter|admission|note)\W*\w*", plain, re.I):
        return ""
    return _shorten(_tidy(plain) if plain != title.strip() else plain)


def _diagnosis_of_record(rows: Iterable[StayRow]) -> str:
    for row in rows:
        category, _, rest = row.event.partition(":")
        name = rest.rstrip(":").strip()
        if category == "diagnosis" and name and not _ONLY_CODE.fullmatch(name):
            if re.fullmatch(r"icd\w*[ -/]*[a-z]?\d[\w.]*", name, re.I):
                continue
            return _shorten(_tidy(name))
    return ""


def _reason_of_note(note: str) -> str:
    """Return what brought the patient in: first sentences or complaint."""
    opening = _first_sentences(note)
    for pattern in (_BROUGHT, _FROM):
        found = pattern.search(opening)
        if found and (words := _phrase(found["what"])):
            return words
    complaint = _COMPLAINT.search(note)
    if complaint:
        parts = [p.strip() for p in re.split(r"[;,]", complaint[1].rstrip(" .")) if p.strip()]
        parts = [p for p in parts if not _TRANSFER.match(p)]
        if parts and not re.fullmatch(r"[_\W]*", parts[0]):
            return _shorten(", ".join(parts))
    found = _BEGAN.search(opening)
    return _phrase(found["what"] or found["doing"]) if found else ""


def _is_symptom(reason: str) -> bool:
    """Return whether a complaint's first phrase ends with a symptom."""
    first = _PHRASE_ENDS.split(reason, maxsplit=1)[0].split()
    return bool(first) and bool(
        _SYMPTOM.fullmatch(first[-1]) or _SYMPTOM.fullmatch(" ".join(first[-2:]))
    )


def _result_of_note(note: str) -> str:
    """Return what the first examination with a finding showed."""
    person = _find_person(note[:_OPENING])
    if person is None:
        return ""
    story = _NEXT_SECTION.split(note[person.start() : person.start() + _STORY], maxsplit=1)[0]
    for found in _RESULT.finditer(story):
        if not _NO_CAUSE.match(found["what"]) and (words := _phrase(found["what"])):
            return words
    return ""


def _first_sentences(note: str) -> str:
    """Return the first two sentences that say who the patient is."""
    person = _find_person(note[:_OPENING])
    if person is None:
        return ""
    rest = note[person.start() : person.start() + 1500]
    ends = [m.end() for m in re.finditer(r"\.(?=\s+[A-Z(])|\n\s*\n|\n-", rest)]
    return rest[: ends[1] if len(ends) > 1 else len(rest)]


def _phrase(words: str) -> str:
    """Return the phrase up to where its clause goes on."""
    cut = re.split(
        r",?\s+(?:who|which|that|when|while|after|before|since|for which|and\s+(?:was|had|has|then|came)|on climbing|"
        r"(?:two|three|\w+) \w+ before)\b|,|\s+x\s*\d",
        words,
        maxsplit=1,
    )[0]
    cut = re.sub(r"^(?:an?|the|his|her)\s+", "", cut.strip())
    return _shorten(cut) if len(cut) > 2 else ""


def _tidy(name: str) -> str:
    """Return the title of a code without what only coders need."""
    before = ""
    while before != name:
        before, name = name, _DROP.sub("", name).strip(" ,")
    return name


def _shorten(words: str) -> str:
    plain = " ".join(words.split()).strip(" .,;:")
    if len(plain) > LONGEST_PROBLEM:
        plain = f"{plain[:LONGEST_PROBLEM].rsplit(' ', 1)[0].rstrip(' ,;(')} …"
    first = plain.split(" ", 1)[0]
    return plain[:1].upper() + plain[1:] if first.islower() else plain


# Where to.

_PLACES = (
    (r"died|expired|deceased|dead|death", "died"),
    (r"hospice", "to hospice"),
    (r"against (?:medical )?advice|\bama\b", "left against advice"),
    (r"rehab", "to rehab"),
    (r"skilled|\bsnf\b|nursing (?:home|facility)|extended care", "to a nursing facility"),
    (r"long.term|\bltac?h?\b|chronic", "to long-term care"),
    (r"assisted living", "to assisted living"),
    (r"psych", "to psychiatry"),
    (r"acute hospital|another hospital|short.term hospital", "to another hospital"),
    (r"home health|home care|home with|home w/|\bvna\b|visiting nurse", "home with care"),
    (r"\bhome\b", "home"),
    (r"healthcare facility|other facility", "to another facility"),
)
_DISPOSITION = re.compile(
    r"^[ \t]*(?:discharge[ \t]+)?dispo(?:sition)?[ \t]*:[ \t]*(?P<rest>\S.*)$", re.I | re.M
)
_LEFT = re.compile(
    r"\b(?:discharged|went|sent|(?:back|transferred)(?=\s+to)|to(?=\s+(?:vent\s+)?SNF))\s+(?P<rest>(?:to\s+|back\s+|home)[^.;\n]{0,80}|SNF)",
    re.I,
)
_DIED = re.compile(
    r"\b(?:pronounced (?:dead|at|\d)|(?:she|he) (?:died|expired)|time of death)", re.I
)


def _outcome_of_record(rows: Iterable[StayRow]) -> str:
    """Return how the stay ended according to its rows; a death comes first."""
    said = ""
    for row in rows:
        category, _, rest = row.event.partition(":")
        if category != "admission":
            continue
        name, _, detail = rest.partition(":")
        if name == "death":
            return "died"
        if "discharge" in name:
            said = said or _place(detail or row.value)
    return said


def _outcome_of_note(note: str) -> str:
    labelled = [_place(re.split(r"[.(]", m["rest"])[0]) for m in _DISPOSITION.finditer(note)]
    if any(labelled):
        return next(filter(None, labelled))
    ending = note[-max(_ENDING, len(note) // 3) :]
    if _DIED.search(ending):
        return "died"
    left = [_place(m["rest"]) for m in _LEFT.finditer(ending)]
    return next(filter(None, left), "")


def _place(words: str) -> str:
    return next((said for pattern, said in _PLACES if re.search(pattern, words, re.I)), "")


# Where.

_NO_UNIT = re.compile(r"emergency|discharge|lounge|^ed$|unknown|^$|^(?:admit|transfer)$", re.I)
_INTENSIVE = re.compile(r"intensive|coronary care|\b\w*(?:icu|ccu)\b", re.I)


def _unit(rows: Iterable[StayRow], discharged_at: datetime | None) -> str:
    """Return the intensive care unit, else the ward, with most of the stay."""
    placed = sorted(
        (
            (row.time, _unit_name(row))
            for row in rows
            if row.event.startswith("transfer:") and row.time
        ),
        key=lambda p: p[0],
    )
    spent: dict[str, float] = defaultdict(float)
    for i, (time, name) in enumerate(placed):
        until = placed[i + 1][0] if i + 1 < len(placed) else discharged_at
        if not _NO_UNIT.search(name):
            spent[name] += max(0.0, (until - time).total_seconds()) if until else 0.0
    if not spent:
        return ""
    longest = max(spent, key=lambda name: (bool(_INTENSIVE.search(name)), spent[name]))
    return _short_unit(longest)


def _unit_name(row: StayRow) -> str:
    name = row.event.partition(":")[2].partition(":")[0].strip()
    return row.value.strip() if name in ("admit", "transfer", "ed", "discharge") else name


def _short_unit(name: str) -> str:
    """ "Neuro Surgical Intensive Care Unit (Neuro SICU)" → "Neuro SICU"."""
    brackets = re.search(r"\(([^)]+)\)\s*$", name)
    words = (brackets[1] if brackets else name).split()
    return " ".join(
        w.upper()
        if re.search(r"(?:icu|ccu)$", w, re.I)
        else w
        if not w.islower()
        else w.capitalize()
        for w in words
    )[:LONGEST_UNIT]
