"""How the rules read one occurrence: its subject, act and values.

The query writer and the reviser share this reading, so a row is judged by the question that
retrieved it. Only the note is read here, never the record.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from timelines.backbones.rules.parts import analyse_note
from timelines.backbones.rules.querying.context import (
    PLACES,
    drop_asides,
    find_gas,
    resolve_ambiguous,
)
from timelines.backbones.rules.querying.vocabulary import Concept, Hit, Kind, vocabulary
from timelines.backbones.rules.text import Analysis
from timelines.domain import Occurrence, Polarity, TaggedNote
from timelines.pipeline.backbone import Check, never_stop
from timelines.pipeline.values import find_numbers

#: The mark between the mention and the span in the words of an occurrence.
OF_SPAN = "\N{PILCROW SIGN}"


class Act(StrEnum):
    """What the occurrence says was done.

    Rows of another act are another event (protocol stage 6).
    """

    BEGIN = "begin"
    END = "end"
    ORDER = "order"
    CHANGE = "change"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Reading:
    """What one occurrence is about.

    `subjects`: concepts in order of weight. `carrier`: the study or specimen that reports a finding
    without a concept of its own ("CXR: RLL opacity"). `values`: numbers that the occurrence states.
    `clock`: its words have a clock time.
    `topics`: what was named before words that name nothing themselves ("Na 161, 159 at noon").
    """

    occurrence: Occurrence
    subjects: tuple[Hit, ...]
    carrier: Concept | None
    act: Act
    values: frozenset[float]
    text: str
    sentence: tuple[int, int]
    section: str
    topics: tuple[Concept, ...] = ()
    clock: bool = False

    @property
    def concept(self) -> Concept | None:
        return self.subjects[0].concept if self.subjects else None

    @property
    def implied(self) -> bool:
        """Return whether only a condition was named, not the measurement.

        "hyperkalemia" names the condition.
        """
        return bool(self.subjects) and self.subjects[0].implied


#: Sections whose statements are plans or are outside the record.
PLAN_SECTIONS = frozenset({"medications_discharge", "followup", "instructions", "transitional"})
OUTSIDE_SECTIONS = frozenset(
    {
        "allergies",
        "pmh",
        "social",
        "family",
        "social_family",
        "medications_admission",
        "medications",
        "ros",
    }
)

_TIMES = re.compile(
    r"\b(?:POD|HD|hospital day|postoperative day|post-?op"
    r" day|day|week|number|age[d]?)\s*#?\s*\d+(?:\s*[-/–]\s*#?\d+)?"
    r"|\d+(?:\.\d+)?[\s-]*(?:hours?|hrs?|h|minutes?|mins?|days?|d|weeks?|wks?|months?|mos?|years?|yrs?|yo|y/o|y)\b"
    r"|\b\d{1,2}:\d{2}\b|\bx\s?\d+\b|#\s?\d+|(?<![.\d])\b\d{1,2}/\d{1,2}/\d{2,4}\b"
    r"|(?<=\bon )\d{1,2}/\d{1,2}(?![/\d])"
    r"|\b\d{1,2}/\d{1,2}(?=\s+(?:[01]\d|2[0-3]):?[0-5]\d\b)|(?<![\d.,/])0\d[0-5]\d(?![\d.,/])"
    r"|(?:@ ?|\b(?:at|by|from|until|till|since|around|about|\d{1,2}/\d{1,2}) )"
    r"(?:[01]\d|2[0-3])[0-5]\d(?![\d.,/%])(?!\s*(?:mg|mcg|g|mL|cc|units?|mEq|kg|L)\b)",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:for|after|before|during|on|at|with|from|post|due to|because"
    r" of|while|since|until|than|via|per|under|of the|in the|"
    r"to)[\s-]+(?:\w+[\s-]+){0,2}$",
    re.IGNORECASE,
)
_END = re.compile(
    r"\b(?:stopp\w*|discontinu\w*|dc'?e?d|d/c'?e?d?|turned off|shut"
    r" off|held|hold|holding|withheld|weaned off|weaned to off|"
    r"off|removed|removal|"
    r"pulled|came out|taken"
    r" out|out|ceased|complet(?:ed|ion)|finished|paused|interrupted|cancel\w*|extubat\w*|last seen|"
    r"ended|came off|stop|withdrawn|withdrew|withdraw|abandoned|g[ai]ve[n]? up|terminated"
    r"|dropped(?! to))\b",
    re.IGNORECASE,
)
_BEGIN = re.compile(
    r"\b(?:start\w*|beg[au]n|begin\w*|initiat\w*|resum\w*|restart\w*|given|gave|receiv\w*|administ\w*|hung|bolus\w*|placed|"
    r"placement|inserted|insertion|"
    r"add(?:ed|ition)|load\w*|dose[sd]?|transfus\w*|chang\w+ to|switch\w* to|transition\w*"
    r" to|broaden\w*|narrowed to|"
    r"replet\w*|replaced|push(?:ed)?|underwent|"
    r"back on|put on|reinstat\w*|commenc\w*|treated with)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:ordered|order|orders|prescribed|written for|was written|requested)\b", re.IGNORECASE
)
_CHANGE = re.compile(
    r"\b(?:increas\w*|decreas\w*|uptitrat\w*|downtitrat\w*|titrat\w*|wean\w*|taper\w*|reduc\w*|turned"
    r" (?:up|down)|lowered|"
    r"raised|escalat\w*|up to|down to)\b",
    re.IGNORECASE,
)
_FINDING_CARRIERS = re.compile(
    r"x-ray|x"
    r" ray|ct$|mri|ultrasound|echo|tee|ecg|eeg|angio|cathet|bronch|endoscopy|colonoscopy|ercp|culture|swallow|"
    r"puncture|paracentesis|thoracentesis|"
    r"doppler|biopsy|urinalysis|csf|screen|difficile|test|pylori",
)


def read_note(note: TaggedNote, check: Check = never_stop) -> dict[str, Reading]:
    """A reading of every occurrence, by UID."""
    analysis = analyse_note(note, check)
    readings = {}
    for occurrence in note.inventory:
        check()
        readings[occurrence.uid] = _read(occurrence, analysis.text, analysis)
    return readings


def _read(occurrence: Occurrence, text: str, analysis: Analysis) -> Reading:
    span = "" if occurrence.start is None else text[occurrence.start : occurrence.end]
    sentence, section = (0, 0), ""
    if occurrence.start is not None:
        found = analysis.sentence_at(occurrence.start)
        sentence = (found.start, found.end) if found else (0, 0)
        section = analysis.section_at(occurrence.start).kind
    # Numbers of days and hours are not values, and the HD of "HD 3" is not dialysis.
    mention, span = _blank_times(_blank_label(occurrence.mention)), _blank_times(span)
    own = f"{mention} {OF_SPAN} {span}"
    subjects = _subjects(mention, span, text[sentence[0] : sentence[1]], text)
    carrier = _own_carrier(mention, subjects)
    if carrier is not None:
        subjects = subjects[1:]
    elif occurrence.start is not None and not any(
        not h.implied and h.concept.kind is not Kind.DRUG_CLASS for h in subjects
    ):
        carrier = _carrier(text, occurrence.start, sentence, analysis)
    if section == "disposition" and not subjects and _LEAVING.search(own):
        subjects = (Hit(vocabulary().by_name["discharge"], 0, 0),)
    topics = find_topics(text, occurrence.start, span) if occurrence.start is not None else ()
    act = _act(own, text, occurrence, sentence, () if topics else subjects)
    values = find_numbers(own)
    clock = occurrence.start is not None and bool(
        _CLOCK.search(text[occurrence.start : (occurrence.end or 0) + _REST_OF_CLOCK])
    )
    return Reading(
        occurrence, subjects, carrier, act, values, own, sentence, section, topics, clock
    )


#: A clock time, also at the end of a span that a colon cuts; no part of the day.
_CLOCK = re.compile(
    r"\b(?:[01]?\d|2[0-3])[:h][0-5]\d\b|(?<![\d.,/])\b(?:[01]\d|2[0-3])[0-5]\d(?![\d.,/%])"
    r"(?!\s*(?:mg|mcg|g|mL|cc|units?|mEq|kg|L)\b)"
    r"|\b\d{1,2} ?(?:[ap]\.?m\b|o'clock)|\b(?:quarter|half|minutes?) (?:past|to|after|before)\b"
    r"|\b(?:at|by) (?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2})\b"
    r"(?!\s*(?:mg|mcg|g|mL|cc|units?|mEq|kg|L|%|[/.\d]))",
    re.IGNORECASE,
)
_REST_OF_CLOCK = 6


#: Words that a tagger adds to a mention, which name its section and not its subject.
_SECTION_LABEL = re.compile(
    r"\((?:procedure list|chief complaint|problem|(?:admission|discharge) (?:exam|labs|diagnosis)"
    r"|exam)\)$|^(?:disposition|instruction|allergy|planned): "
)


#: Words of leaving the hospital.
_LEAVING = re.compile(
    r"\b(?:home|rehab\w*|facility|nursing|hospice|shelter|left|leaves|leaving|went|goes|sent|released"
    r"|discharged?|d/c'?e?d?|dispo\w*|expired|died|morgue|transferred)\b",
    re.IGNORECASE,
)


def _blank_label(mention: str) -> str:
    return _SECTION_LABEL.sub(lambda m: " " * len(m.group()), mention)


def _blank_times(text: str) -> str:
    return _TIMES.sub(lambda m: " " * len(m.group()), text)


#: Substances that are measured and also given: with a dose or a verb of giving it is the drug.
_GIVEN_AS = {
    "magnesium": "magnesium sulfate",
    "potassium": "potassium chloride",
    "calcium": "calcium gluconate",
    "phosphate": "sodium phosphate",
    "albumin": "albumin infusion",
    "bicarbonate": "sodium bicarbonate",
    "platelets": "platelet transfusion",
}
_DOSE = re.compile(
    r"\d\s*(?:g|gm|grams?|mEq|mmol|mL|cc|amps?)\b(?!\s*/)|\b(?:replet\w*|replaced|infus\w+|IV|"
    r"started|begun|hung|pushed|given|transfus\w+|bolus\w*|gtt|drip|amps?|"
    r"supplement\w*|by mouth|PO)\b",
    re.IGNORECASE,
)


#: Drugs whose level is measured: a number with a decimal and no unit of a dose is the level.
_LEVEL_OF = {
    "vancomycin": "vancomycin level",
    "digoxin": "digoxin level",
    "phenytoin": "phenytoin level",
    "tacrolimus": "tacrolimus level",
    "tobramycin": "tobramycin level",
    "gentamicin": "tobramycin level",
}
_LEVEL = re.compile(r"(?<![\d.])\d{1,2}\.\d+(?![\d.])(?!\s*(?:mg|mcg|g|gm|grams?|units?|mL|cc)\b)")


def _resolve_given(hit: Hit, text: str) -> Hit:
    level = _LEVEL_OF.get(hit.concept.name)
    if level is not None and _LEVEL.search(text) and not _DOSE.search(text):
        return Hit(vocabulary().by_name[level], hit.start, hit.end)
    drug = _GIVEN_AS.get(hit.concept.name)
    if drug is None or hit.implied or not _DOSE.search(text):
        return hit
    return Hit(vocabulary().by_name[drug], hit.start, hit.end)


#: Characters before an occurrence in which its topic may be named.
_TOPIC_REACH = 350
_MOST_TOPICS = 4
#: What a number is by its form alone.
_FORMS = (
    (re.compile(r"(?<![\d/.])\d{2,3}/\d{2,3}(?![\d/])"), "blood pressure"),
    (re.compile(r"\b(?:[Rr]ate \d{2,3}\b|\d{2,3} ?(?:/min|bpm)\b)"), "heart rate"),
    (re.compile(r"(?<![\d.])(?:[6-9]\d|100) ?%"), "oxygen saturation"),
)


def find_topics(text: str, start: int, span: str) -> tuple[Concept, ...]:
    """Return what a span without a subject may be about, likeliest first.

    A span that names a measurement, a drug or a procedure has none, unless that only says when.
    """
    if any(_is_subject(hit, span) for hit in vocabulary().find(span)):
        return ()
    before = text[max(0, start - _TOPIC_REACH) : start]
    named = [h.concept for h in reversed(vocabulary().find(before)) if h.concept.kind in _TOPICS]
    if find_numbers(span) and not _AMOUNT.search(span) and _nearest_act(span, 0) is None:
        named.sort(key=lambda concept: concept.kind is not Kind.MEASUREMENT)
    formed = [vocabulary().by_name[name] for form, name in _FORMS if form.search(span)]
    return tuple(dict.fromkeys([*formed, *named]))[:_MOST_TOPICS]


#: An amount or a rate of a drug; a number without one is a result.
_AMOUNT = re.compile(
    r"\d\s*(?:mg|mcg|g|gm|grams?|units?|u|mEq|mmol|mL|cc|L|amps?|puffs?|tab\w*)\b(?!/\w?L)"
    r"|\d\s*/\s*h",
    re.IGNORECASE,
)
_SAYS_WHEN = re.compile(
    r"\b(?:by|at|on|after|before|during|until|since|in|from|with)[\s-]+(?:[\w-]+[\s-]+){0,4}$",
    re.IGNORECASE,
)
_TOPICS = (Kind.MEASUREMENT, Kind.DRUG)


def _is_subject(hit: Hit, span: str) -> bool:
    return (
        not hit.implied
        and hit.concept.name not in PLACES
        and hit.concept.name != "fluid bolus"
        and not _SAYS_WHEN.search(span[: hit.start])
    )


def _subjects(mention: str, span: str, sentence: str, note: str) -> tuple[Hit, ...]:
    own, spanned = (
        resolve_ambiguous(vocabulary().find(part), sentence, note) for part in (mention, span)
    )
    in_span = {hit.concept.name for hit in spanned}
    # A longer mention has names from other words of the note; those of the span go first.
    longer = len(mention.split()) > len(span.split())
    named = longer and any(_is_subject(hit, span) for hit in spanned)
    weighed: list[tuple[float, int, Hit]] = []
    for hit in (_resolve_given(h, mention) for h in own):
        if _is_aside_place(hit, mention):
            continue
        bonus = 0.6 if hit.concept.name in in_span else -1.5 if named else 0.0
        weighed.append((_weight(hit, mention) + bonus, hit.start, hit))
    known = {hit.concept.name for _, _, hit in weighed}
    for hit in (_resolve_given(h, span) for h in spanned):
        if hit.concept.name not in known and not _is_aside_place(hit, span):
            beside = 0.0 if named and not known & in_span else 1.2
            weighed.append((_weight(hit, span) - beside, 1000 + hit.start, hit))
    blood_gas = find_gas(mention)
    if blood_gas is not None:
        weighed.append((_GAS_WEIGHT, blood_gas.start, blood_gas))
    weighed.sort(key=lambda item: (-item[0], item[1]))
    distinct: dict[str, Hit] = {}
    for _, _, hit in weighed:
        distinct.setdefault(hit.concept.name, hit)
    return drop_asides(tuple(distinct.values()), mention)


_WEIGHTS = {Kind.MEASUREMENT: 3.0, Kind.DRUG: 3.0, Kind.PROCEDURE: 2.7, Kind.DRUG_CLASS: 2.0}
#: Three numbers written as a gas outweigh everything else that the mention names.
_GAS_WEIGHT = 5.0


#: Verbs and nouns of moving: the words after them are the place of a transfer, not an aside.
_MOVES = re.compile(
    r"\b(?:transfer\w*|arriv\w*|mov(?:ed|e)|left|return\w*|admitted|admission"
    r" (?:to|from)|present(?:ed|s|ation)|call\w* out|discharged?|"
    r"came|brought|went)\b[^.;,]{0,30}$",
    re.I,
)


_EMERGENCY = re.compile(r"\b(?:ed|er|emergency|ambulance|ems)\b", re.I)


def _leads_elsewhere(hit: Hit, text: str) -> bool:
    """ "brought to the intensive care unit" is no arrival in hospital."""
    return (
        hit.concept.name == "emergency arrival"
        and not _EMERGENCY.search(text[hit.start : hit.end])
        and any(other.concept.name == "icu arrival" for other in vocabulary().find(text))
    )


def _is_aside_place(hit: Hit, text: str) -> bool:
    """ "temperature 98.2 in the ED" is not about the emergency department."""
    return _leads_elsewhere(hit, text) or (
        hit.concept.name in PLACES
        and bool(_ASIDE.search(text[: hit.start]))
        and not _MOVES.search(text[: hit.start])
    )


def _weight(hit: Hit, text: str) -> float:
    weight = _WEIGHTS[hit.concept.kind] if hit.concept.name != "organism" else 2.0
    if hit.concept.name in PLACES:
        weight = 3.2 if _MOVES.search(text[: hit.end]) else 1.0
    if hit.implied:
        weight -= 1.2
    if weight < 3.2 and _ASIDE.search(text[: hit.start]):
        weight -= 1.5
    if hit.concept.kind is Kind.MEASUREMENT and re.match(
        r"[^\w]{0,3}(?:\w+[\s-]+){0,3}[^\w]{0,2}\d", text[hit.end : hit.end + 30]
    ):
        weight += 0.8
    return weight


#: A sentence that continues the findings of the previous one.
_CONTINUES = re.compile(
    r"\s*(?:there (?:was|were)|it |this |these |findings|impression|showed|which|the"
    r" (?:study|scan|film))",
    re.IGNORECASE,
)


_OF_STUDY = re.compile(
    r"\b(?:on|by|at|per|in|with)[\s-]+(?:the[\s-]+|\w+[\s-]+){0,2}$", re.IGNORECASE
)
#: A reporting word between a study and its finding.
_TELLS = re.compile(
    r"show|reveal|demonstrat|\bwith\b|:|\bread\b|notable|consistent|\bfound\b|\bsaw\b|negative|positive|\bno\b|\bthere w|"
    r"grew|disclos|confirm|identif|remarkable|suggest",
    re.IGNORECASE,
)


def _own_carrier(mention: str, subjects: tuple[Hit, ...]) -> Concept | None:
    """Return the study that the mention itself names as a finding's place.

    Example: "no pulmonary embolism on CT".
    """
    if (
        not subjects
        or not _FINDING_CARRIERS.search(subjects[0].concept.name)
        or subjects[0].concept.kind is not Kind.PROCEDURE
    ):
        return None
    hit = subjects[0]
    inside = mention[hit.start : hit.end].lower() in mention.lower()
    return hit.concept if inside and _OF_STUDY.search(mention[: hit.start]) else None


def _carrier(
    text: str, start: int, sentence: tuple[int, int], analysis: Analysis
) -> Concept | None:
    """Return the study whose findings this sentence reports.

    It is named before the occurrence, else in the sentence before it.
    """
    pieces = [sentence]
    if _CONTINUES.match(text[sentence[0] : sentence[1]]):
        pieces.append(_previous(sentence, analysis))
    for piece_start, piece_end in pieces:
        before = text[piece_start : min(piece_end, start)]
        hits = [h for h in vocabulary().find(before) if _FINDING_CARRIERS.search(h.concept.name)]
        if hits and _TELLS.search(text[piece_start + hits[-1].end : start + 12]):
            return hits[-1].concept
    return None


def _previous(sentence: tuple[int, int], analysis: Analysis) -> tuple[int, int]:
    before = analysis.sentence_at(sentence[0] - 1) if sentence[0] > 0 else None
    return (before.start, before.end) if before else (0, 0)


def _act(
    own: str,
    text: str,
    occurrence: Occurrence,
    sentence: tuple[int, int],
    subjects: tuple[Hit, ...],
) -> Act:
    """Return the act named nearest to the subject.

    The mention and span are searched first, then the clause around the span.
    """
    if subjects and subjects[0].concept.kind is Kind.MEASUREMENT:
        return Act.STATE
    act = _nearest_act(own, subjects[0].start if subjects else 0)
    if act is None and occurrence.start is not None and occurrence.end is not None:
        before, after = _clause(text, occurrence.start, occurrence.end, sentence)
        act = _nearest_act(f"{before}{after}", len(before))
    if act is not None:
        return act
    return Act.BEGIN if occurrence.polarity is Polarity.PRESENT else Act.STATE


#: Words before the act of something named earlier: "it was restarted", "first dose".
_POINTS_BACK = re.compile(
    r"(?:(?:it|this|that|these|they|which|was|were|had|been|then|first|second|last|next|initial"
    r"|dose|doses|later|again|and|only|finally|soon|the|a|\d+(?:\.\d+)?|mg|mcg|g|units?|to)\W+)*",
    re.IGNORECASE,
)


@lru_cache(maxsize=4_000)
def _named(words: str) -> frozenset[str]:
    return frozenset(hit.concept.name for hit in vocabulary().find(words))


def names_in_span(reading: Reading, concept: Concept) -> bool:
    """Return whether the span itself names a concept."""
    return concept.name in _named(reading.text.split(OF_SPAN)[-1])


def opens_with_act(reading: Reading) -> bool:
    """Return whether the words begin with an act: "restarted at noon"."""
    span = reading.text.split(OF_SPAN)[-1].strip()
    start = _POINTS_BACK.match(span)
    at = start.end() if start else 0
    return any(act.match(span, at) for act in (_BEGIN, _END, _ORDER, _CHANGE))


#: Nouns that name a begin less clearly than a verb: "the first dose was stopped".
_ACT_NOUNS = re.compile(
    r"dos(?:e|es|ing)|bolus(?:es)?|loads?|placement|insertion|transfusions?|orders?|addition",
    re.IGNORECASE,
)
_NOUN_DISTANCE = 30


def _nearest_act(text: str, at: int) -> Act | None:
    found = [
        (
            min(abs(m.start() - at), abs(m.end() - at))
            + (_NOUN_DISTANCE if _ACT_NOUNS.fullmatch(m.group()) else 0),
            rank,
            act,
        )
        for rank, (pattern, act) in enumerate(
            ((_ORDER, Act.ORDER), (_END, Act.END), (_CHANGE, Act.CHANGE), (_BEGIN, Act.BEGIN))
        )
        for m in pattern.finditer(text)
    ]
    return min(found)[2] if found else None


def _clause(text: str, start: int, end: int, sentence: tuple[int, int]) -> tuple[str, str]:
    """Return the words of the clause before and after the span.

    The clause ends at the next comma, semicolon, bracket or conjunction of its sentence.
    """
    stop = r"[,;:()\n]|\band\b|\bbut\b|\bthen\b|→|->|=>|\s{3,}"
    before = re.split(stop, text[max(sentence[0], start - 50) : start])[-1]
    after = re.split(stop, text[end : min(sentence[1], end + 50)])[0]
    return before, after
