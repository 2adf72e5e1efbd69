"""Read the words of an occurrence for the story.

Their kind, the treatment they name, and whether a value is extreme. Small word lists and limits
that a clinician can read. No Django here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from timelines.domain import Lane

LONGEST = 120


class Kind(StrEnum):
    """The kind of a milestone."""

    TRANSFER = "transfer"
    PROCEDURE = "procedure"
    TREATMENT = "treatment"
    LAB = "lab"
    FINDING = "finding"
    PLAN = "plan"
    HISTORY = "history"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the words of an occurrence say.

    `name`: the drug of a treatment. `act`: what the row says was done, if the words do not.
    `key`: equal for two mentions of one act. `listed`: from a list that repeats the course.
    """

    kind: Kind
    words: str
    key: str
    name: str = ""
    act: str = ""
    ends: bool = False
    leaves: bool = False
    dies: bool = False
    critical: bool = False
    major: bool = False
    minor: bool = False
    intervention: bool = False
    ordered: bool = False
    measure: str = ""
    beyond: float = 0.0
    measured: bool = False
    complaint: bool = False
    listed: bool = False
    names_nothing: bool = False


_LANES = {
    Lane.TRANSFER: Kind.TRANSFER,
    Lane.PROCEDURE: Kind.PROCEDURE,
    Lane.MEDICATION: Kind.TREATMENT,
    Lane.LAB: Kind.LAB,
    Lane.PLAN: Kind.PLAN,
    Lane.HISTORY: Kind.HISTORY,
    Lane.FINDING: Kind.FINDING,
}
_STAY = ("transfer:", "admission:", "icu:")
_PLACES = re.compile(
    r"\b(?:\w*icu|\w*ccu|ward|floor|unit|ed|emergency|osh|hospital|home|rehab\w*|snf|hospice|"
    r"facility|or|pacu|admi\w+|discharge\w*|hd\W?\d+)\b",
    re.I,
)
_MOVES = re.compile(
    r"\b(?:transfer\w*|admi\w+|arriv\w+|brought|moved|came|went|left|reached|returned|sent|taken|"
    r"discharge\w*|back|disposition|called out|presented)\b",
    re.I,
)
_TAG = re.compile(r"\s*\((?P<tag>[^()]*)\)\s*$")
_LISTS = frozenset(
    {
        "problem", "procedure list", "discharge diagnosis", "admission labs", "discharge labs",
        "admission exam", "discharge exam", "exam", "labs", "pertinent results",
    }
)  # fmt: skip
_LISTED = re.compile(
    r"^(?:history of|home medication|discharge medication|past|allergy|instruction)\b|\b(?:daily|"
    r"bid|tid|qhs|q\d+h)\b.*\bat discharge$",
    re.I,
)
_LEAVES = re.compile(
    r"\b(?:discharged|disposition|died|expired|pronounced|passed away|went home|asystole|"
    r"(?:to|home) (?:rehab|snf|hospice))\b",
    re.I,
)
_DIES = re.compile(r"\b(?:died|expired|pronounced|passed away|asystole)\b", re.I)
_CRITICAL = re.compile(
    r"\b(?:arrest|rosc|cpr|intubated|intubation|re-?intubat\w+|extubat\w+|shock|"
    r"status epilepticus|seizures?|stroke|h(?:a?e)morrhage|bleed\w*|vomiting blood|hematemesis|"
    r"melena|coffee[- ]ground|bright red blood|stemi|nstemi|tamponade|pulmonary embolism|"
    r"crrt|hemofiltration|ecmo|obtunded|unresponsive|minimally responsive|comfort|cmo|dnr|"
    r"goals of care|herniat\w+|aspirated|died|expired|pronounced|asystole|crashed|"
    r"reversal|worst headache)\b",
    re.I,
)
#: What goes on is no event.
_GOES_ON = re.compile(
    r"\b(?:remain\w*|continu\w*|cont|still|throughout|most of|kept|stayed)\b", re.I
)
_INTERVENTION = re.compile(
    r"\b(?:ercp|egd|endoscopy|colonoscopy|bronch\w*|cabg|pci|(?<!before )(?<!after )(?<!same day )surgery|operation|"
    r"stent|coil\w*|clipp\w+|emboliz\w+|angiogra\w+|catheterization|cath|lumbar puncture|lp|"
    r"drain\w*|washout|transplant|pacemaker|cardioversion|\w{3,}(?:ectomy|otomy|ostomy|plasty|"
    r"centesis))\b",
    re.I,
)
#: Groups of drugs of which the first and the last count, not each drug.
_GROUPS = (
    (
        "antibiotic",
        r"vancomycin|vanc\b|cef\w+|piperacillin|zosyn|\w*penem|linezolid|\w+floxacin|cipro|levaquin|"
        r"metronidazole|flagyl|doxycycline|\w+mycin|\w+cillin|antibiotic|bactrim|sulfameth\w+",
    ),
    ("sedation", r"propofol|midazolam|versed|fentanyl|dexmedetomidine|precedex|ketamine"),
)
#: Treatments of a critical state.
_MAJOR = re.compile(
    r"norepinephrine|levophed|vasopressin|phenylephrine|epinephrine|dopamine|dobutamine|milrinone|"
    r"andexanet|kcentra|prothrombin complex|reversal|alteplase|tenecteplase|packed red|prbc|"
    r"transfus|heparin|nicardipine|esmolol|nimodipine|clevidipine|rocuronium|cisatracurium|"
    r"octreotide|fosphenytoin|levetiracetam|nitric oxide|inotrope|pressor",
    re.I,
)
_MINOR = re.compile(
    r"acetaminophen|tylenol|meperidine|potassium|magnesium|calcium gluconate|phosph|saline flush|colace|senna|"
    r"docusate|famotidine|multivitamin|thiamine|folic|nicotine|ondansetron|oxycodone|tramadol|"
    r"peripheral iv|gauge|ekg|ecg|swab|screen|chest (?:x-?ray|film)|cxr|foley|nasal cannula|"
    r"ventilator settings|family|updated|explained|discussed|diet|physical therapy|age|sex",
    re.I,
)
_ENDS = re.compile(
    r"\b(?:stopped|off|weaned|discontinued|d/c'?d|held|cancelled|tapered|removed|out|completed|"
    r"final|last)\b",
    re.I,
)
_VERB = re.compile(
    r"\b(?:is|was|were|be|been|had|has|given|started|stopped|begun|began|placed|drawn|done|sent|"
    r"taken|brought|transferred|admitted|discharged|added|resumed|restarted|ordered|changed|held|"
    r"weaned|showed|came|went|removed|intubated|extubated|transfused|found|developed|off|on|"
    r"advanced|improved|fell|rose|returned|reached|arrived|left|pulled|replaced|repeated|"
    r"presented|vomited|\w{3,}ed)\b",
    re.I,
)
_ACTS = {
    ("med", "start"): "given",
    ("med", "end"): "stopped",
    ("med", "stop"): "stopped",
    ("med", ""): "given",
    ("med", "administered"): "given",
    ("order", "start"): "ordered",
    ("order", "stop"): "order ended",
    ("procedure", "start"): "done",
    ("procedure", "end"): "ended",
    ("procedure", ""): "done",
    ("micro", ""): "taken",
}
#: Limits beyond which a value is extreme: its name, the lowest and the highest that is not.
LIMITS: tuple[tuple[str, float | None, float | None], ...] = (
    (r"systolic|\bs?bp\b|blood pressure|pressure", 90, 179),
    (r"\bmap\b", 60, None),
    (r"heart rate|\bhr\b|pulse", 45, 130),
    (r"saturation|spo2|\bsats?\b|desaturat", 87, None),
    (r"respiratory rate|\brr\b", 8, 35),
    (r"temperature|temp\b|fever|febrile|\bt(?:max)?\b", None, None),
    (r"\bgcs\b", 8, None),
    (r"lactate", None, 3.9),
    (r"\bph\b|\bgas\b|\babg\b|\bvbg\b", 7.2, 7.55),
    (r"potassium|\bk\b", 2.9, 6.0),
    (r"sodium|\bna\b", 124, 155),
    (r"glucose", 53, 400),
    (r"bicarbonate|hco3", 12, 40),
    (r"hemoglobin|\bhgb\b|\bhb\b", 7.0, None),
    (r"hematocrit|\bhct\b", 21, None),
    (r"platelet|\bplts?\b", 30, None),
    (r"\binr\b", None, 4.0),
    (r"creatinine|\bcr\b", None, 4.0),
    (r"white (?:blood )?(?:cell )?count|\bwbc\b", 1.0, 25),
    (r"troponin|\btrop\b", None, None),
    (r"ejection fraction|\blvef\b|\bef\b", 25, None),
)
#: Fever above, hypothermia below: in °C and in °F.
_TEMPERATURES = ((45.0, 35.0, 38.4), (115.0, 95.0, 101.2))
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)")
_EMPTY = frozenset(
    """
    the a an and or of to in on at with her his she he it its was were is had has that this same
    then there for by as from time day night morning evening afternoon hours hour first second read
    compared opened accompanied carried following point gas panel repeat sample set off place course
    """.split()  # noqa: SIM905
)


def read_words(mention: str, lane: Lane, events: Sequence[str]) -> Reading:
    """Return what the words, the lane and the cited events say."""
    plain = " ".join(mention.split())
    tag = _TAG.search(plain)
    label = tag["tag"].lower() if tag else ""
    listed = label in _LISTS or bool(_LISTED.search(plain))
    complaint = label == "chief complaint"
    words = plain[: tag.start()] if tag and (listed or complaint) else plain
    kind = _kind(lane, events, words)
    event = events[0] if events else ""
    name = _name(words, event) if kind is Kind.TREATMENT else ""
    if kind is Kind.TREATMENT:
        words = _with_drug(words, event)
    content = [w for w in re.findall(r"[a-z]{2,}", words.lower()) if w not in _EMPTY]
    measured = kind is Kind.LAB or any(re.search(p, words, re.I) for p, _, _ in LIMITS)
    measure, beyond = _extreme(words)
    goes_on = bool(_GOES_ON.search(words))
    return Reading(
        kind=kind,
        words=words,
        key=_key(words, kind, name, content),
        name=name,
        act="" if _VERB.search(words) or _ENDS.search(words) else _act(event),
        ends=bool(_ENDS.search(words))
        or (event.endswith((":end", ":stop")) and not _VERB.search(words)),
        leaves=bool(_LEAVES.search(words)) and (kind is Kind.TRANSFER or not measured),
        dies=bool(_DIES.search(words)),
        critical=bool(_CRITICAL.search(words)) and kind is not Kind.HISTORY and not goes_on,
        major=name == "antibiotic" or bool(_MAJOR.search(words) or _MAJOR.search(event)),
        minor=goes_on or (bool(_MINOR.search(words)) and not _MAJOR.search(words)),
        intervention=kind is Kind.PROCEDURE and bool(_INTERVENTION.search(words)),
        ordered=bool(re.search(r"\border(?:ed)?\b", words, re.I)) or event.startswith("order:"),
        measure=measure,
        beyond=beyond,
        measured=measured,
        complaint=complaint,
        listed=listed or kind is Kind.HISTORY,
        names_nothing=not content
        or (len(content) == 1 and len(content[0]) < 3 and not events and not _NUMBER.search(words)),
    )


def shorten(words: str, longest: int = LONGEST) -> str:
    """Return the words cut at a word, with a mark."""
    if len(words) <= longest:
        return words
    return f"{words[:longest].rsplit(' ', 1)[0].rstrip(' ,;:(')} …"


def _kind(lane: Lane, events: Sequence[str], words: str) -> Kind:
    """Return the kind of the lane; the cited row decides for a finding."""
    if lane is Lane.TRANSFER and not any(e.startswith(_STAY) for e in events):
        return Kind.TRANSFER if _PLACES.search(words) and _MOVES.search(words) else Kind.FINDING
    if lane is Lane.PROCEDURE and events and events[0].startswith("med:"):
        return Kind.TREATMENT
    if lane is not Lane.FINDING or not events:
        return _LANES[lane]
    category = events[0].partition(":")[0]
    if category in ("transfer", "admission", "icu"):
        return Kind.TRANSFER
    if category in ("med", "order"):
        return Kind.TREATMENT
    if category == "procedure" and _names(events[0], words):
        return Kind.PROCEDURE
    if category in ("lab", "micro"):
        return Kind.LAB
    return Kind.FINDING


def _names(event: str, words: str) -> bool:
    """Return whether the words name what the row records, not what it showed."""
    name = re.findall(r"[a-z]{2,}", event.partition(":")[2].partition(":")[0])
    found = re.findall(r"[a-z]{2,}", words.lower())
    return bool(name) and bool(set(name) & set(found)) and " on " not in f" {words.lower()} "


def _name(words: str, event: str) -> str:
    """Return the first word of the drug: of its row, else of the note."""
    category, _, rest = event.partition(":")
    source = rest.partition(":")[0] if category in ("med", "order") else words
    for group, drugs in _GROUPS:
        if re.search(drugs, f"{source} {words}", re.I):
            return group
    content = [w for w in re.findall(r"[a-z][a-z-]{2,}", source.lower()) if w not in _EMPTY]
    skip = re.compile(
        _VERB.pattern + r"|\b(?:infusion|drip|gtt|iv|dose|mg|mcg|unit|units|po)\b", re.I
    )
    return next((w for w in content if not skip.fullmatch(w)), "")


def _with_drug(words: str, event: str) -> str:
    """Add the drug of the row if the note names it in other words.

    "reversal agent given" becomes "reversal agent given (andexanet alfa)".
    """
    category, _, rest = event.partition(":")
    drug = rest.partition(":")[0].strip()
    named = set(re.findall(r"[a-z]{4,}", drug.lower()))
    said = set(re.findall(r"[a-z]{4,}", words.lower()))
    if category != "med" or not named or named & said:
        return words
    return f"{words} ({drug})"


def _act(event: str) -> str:
    category, _, rest = event.partition(":")
    return _ACTS.get((category, rest.rpartition(":")[2]), "")


def _key(words: str, kind: Kind, name: str, content: Sequence[str]) -> str:
    """Return equal keys for two mentions of one act or value."""
    if kind is Kind.TREATMENT and name and name not in {group for group, _ in _GROUPS}:
        return f"{name}:{bool(_ENDS.search(words))}"
    return " ".join((kind, *sorted({w[:6] for w in content}), *_NUMBER.findall(words)))


def _extreme(words: str) -> tuple[str, float]:
    """Return the measure, and by what share its value is beyond a limit."""
    for pattern, low, high in LIMITS:
        named = re.search(pattern, words, re.I)
        number = _NUMBER.search(words, named.end()) if named else None
        if number is None:
            continue
        value = float(number[1])
        if pattern.startswith("temperature"):
            low, high = next((t[1:] for t in _TEMPERATURES if 25 <= value < t[0]), (None, None))
        if low is not None and value < low:
            return pattern, (low - value) / low
        if high is not None and value > high:
            return pattern, (value - high) / high
        return "", 0.0
    return "", 0.0
