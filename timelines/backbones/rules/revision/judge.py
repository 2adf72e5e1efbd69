"""Is a row the same occurrence? Each evidence row gets a verdict with the reason in a clinician's words.

A row passes when it is about the same thing (one vocabulary for asking and judging), has the stated value,
records the right act (an order is no administration, a charted dressing no insertion) and lies where the
text allows. Source: protocol section 2, stage 6.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from timelines.backbones.rules.querying.reading import OUTSIDE_SECTIONS, PLAN_SECTIONS, PLACES, Act, Reading
from timelines.backbones.rules.querying.vocabulary import Concept, EventName, Hit, Kind, event_name
from timelines.backbones.rules.revision.conditions import fits_condition
from timelines.backbones.rules.revision.stated import stated_values, tells
from timelines.domain import Entry, Evidence, Polarity, SourceRow
from timelines.pipeline.expansion import distance_to_bounds


@dataclass(frozen=True, slots=True)
class Verdict:
    """`cost` in the currency of the assignment: 0 fits perfectly, `KEEP_COST` is as good as no row at all.

    `reach`: hours that this kind of match may lie outside the text's bounds.
    """

    row: SourceRow
    cost: float
    reach: float
    reason: str


@dataclass(frozen=True, slots=True)
class _Match:
    """How well a row's content matches, before its time is looked at."""

    cost: float
    reach: float
    reason: str


#: Hours beyond the text's bounds that a match is believed: the same value is strong, the same drug weaker, a mere reading weakest.
REACH_VALUE = 30.0
REACH_ACT = 18.0
REACH_WEAK = 6.0
#: A result is told when it is known, days after its specimen was taken.
REACH_RESULT = 60.0
#: Cost of an hour beyond the bounds, as a share of the reach.
_DISTANCE_COST = 0.8


class Judge:
    """Judges the rows of one case; it sees all of its evidence, because an order counts differently when doses are charted too."""

    def __init__(self, evidence: Sequence[Evidence]) -> None:
        self._names: dict[str, list[SourceRow]] = defaultdict(list)
        for row in {e.row.row_index: e.row for e in evidence}.values():
            self._names[row.event].append(row)

    def verdicts(self, reading: Reading, entry: Entry, rows: Sequence[SourceRow]) -> list[Verdict]:
        """Rows that may be this occurrence, best first; an empty list keeps the text time."""
        if not _may_have_rows(reading, entry):
            return []
        found = []
        for row in rows:
            match = self._match(reading, row)
            if match is not None and row.time is not None:
                if _LAST_BEFORE_DISCHARGE.search(reading.text) and match.reach == REACH_VALUE:
                    match = _Match(match.cost, 2 * REACH_VALUE, match.reason)
                if _IN_ED.search(reading.occurrence.mention):
                    match = _Match(match.cost, min(match.reach, _ED_REACH), match.reason)
                verdict = _placed(match, row, row.time, entry)
                if verdict is not None:
                    found.append(verdict)
        return sorted(found, key=lambda v: (v.cost, v.row.row_index))

    def _match(self, reading: Reading, row: SourceRow) -> _Match | None:
        name = event_name(row.event)
        if "alarm" in name.words or "dressing" in name.words or "goal" in name.words:
            return None
        for hit in _judged_by(reading):
            if hit.concept.matches(name):
                return self._of_concept(hit.concept, reading, row, name, implied=hit.implied)
        carrier = reading.carrier
        if carrier is not None and carrier.matches(name) and (not reading.subjects or reading.implied):
            match = self._of_concept(carrier, reading, row, name, implied=False)
            return None if match is None else _Match(match.cost + 0.1, match.reach, f"{match.reason}; the finding is part of it")
        return None

    def _of_concept(self, concept: Concept, reading: Reading, row: SourceRow, name: EventName, *, implied: bool) -> _Match | None:
        if concept.kind is Kind.MEASUREMENT:
            return _measured(reading, row, implied=implied)
        if name.category in ("med", "order"):
            return self._given(concept, reading, row, name)
        if concept.name in PLACES or concept.name == "death":
            return _moved(concept, reading, row, name)
        if name.category == "micro":
            return _specimen(reading, row)
        if name.category == "procedure":
            return _performed(concept, reading, name)
        return _Match(0.6, REACH_WEAK, f"{row.event}: charted with it") if name.category == "output" else None

    def _given(self, concept: Concept, reading: Reading, row: SourceRow, name: EventName) -> _Match | None:
        if reading.occurrence.polarity is Polarity.ABSENT and reading.act is not Act.END:
            return None
        charted = any(e.startswith("med:") and concept.matches(event_name(e)) for e in self._names)
        wanted = _acts(reading, charted=charted, infusion=_is_infusion(reading))
        kind = f"{name.category} {name.act}"
        if kind not in wanted:
            return None
        cost = wanted[kind]
        if kind == "med end" and reading.act is Act.END and self._continues(row):
            cost += 0.5
        if kind == "med end" and reading.act is not Act.END and (_is_infusion(reading) or concept.name in _SLOW):
            return None
        if "prophylaxis" in name.words and _is_infusion(reading):
            return None
        values = stated_values(reading.text)
        reason = f"{_ACT_WORDS.get(kind, kind)} of {concept.name if concept.kind is Kind.DRUG else ' '.join(name.words[:-1])}"
        if values and row.numeric_value is not None:
            stated = tells(values, row.numeric_value, row.unit, row.event)
            if stated is not None:
                return _Match(max(0.0, cost - 0.3), REACH_VALUE, f"{reason}: same drug and dose")
            if reading.act is Act.CHANGE:
                return None
            cost += 0.25
        return _Match(cost, REACH_ACT, f"{reason}: same drug, right act")

    def _continues(self, row: SourceRow) -> bool:
        """An infusion row ends where the next begins: a changed rate or bag, no stop."""
        start = row.event.removesuffix("end") + "start"
        return any(r.time is not None and row.time is not None and abs(r.time - row.time) < 0.05 for r in self._names.get(start, ()))


#: Given over hours: where such a row ends says little about when it began.
_SLOW = frozenset(
    {
        "sodium chloride 0.9%", "lactated ringer's", "plasma-lyte", "fluid bolus", "blood product", "packed red blood cells", "fresh frozen plasma",
        "platelet transfusion", "dextrose 5%", "total parenteral nutrition", "tube feeds", "nutrition", "pressor", "sedative",
    }
)  # fmt: skip

_ACT_WORDS = {
    "med start": "administration",
    "med end": "end of administration",
    "order start": "order",
    "order stop": "end of order",
}
_ORAL = re.compile(
    r"\b(?:oral|orally|PO|by mouth|tablets?|subcutaneous\w*|SQ|SC|subq|patch|daily|BID|TID|QID|nightly|qhs|taper|regimen|home|standing)\b",
    re.IGNORECASE,
)
_BY_MOUTH = re.compile(r"\b(?:oral|orally|PO|by mouth|tablets?)\b", re.IGNORECASE)
_INFUSION = re.compile(r"\b(?:gtt|drip|infusion|infusing|weaned|titrated|pressors?|off)\b", re.IGNORECASE)


def _judged_by(reading: Reading) -> tuple[Hit, ...]:
    """The subject itself; a second concept only where the first is a condition or a whole class of drugs."""
    first = reading.subjects[:1]
    if first and (first[0].implied or first[0].concept.kind is Kind.DRUG_CLASS):
        return tuple(h for h in reading.subjects[:2] if h.concept.name not in PLACES) or first
    return first


def _is_infusion(reading: Reading) -> bool:
    return bool(_INFUSION.search(reading.text))


def _acts(reading: Reading, *, charted: bool, infusion: bool) -> Mapping[str, float]:
    """Which rows may date this act, and at what cost. Doses that are charted count before orders."""
    if reading.act is Act.ORDER:
        return {"order start": 0.1}
    if reading.act is Act.END:
        if infusion:
            return {"med end": 0.1, "order stop": 0.9 if charted else 0.3}
        return {"order stop": 0.25, "med end": 0.55}
    if _ORAL.search(reading.text) and not infusion:
        return {"order start": 0.2, "med start": 0.7 if _BY_MOUTH.search(reading.text) else 0.4}
    acts = {"med start": 0.1, "med end": 0.45, "order start": 1.1 if charted else 0.35}
    if reading.act is Act.CHANGE:
        acts["med end"] = 0.8
    return acts


_PRESSURES = re.compile(r"(?<![\d/.])(?P<systolic>\d{2,3})/(?P<diastolic>\d{2,3})(?![\d/])")


def _measured(reading: Reading, row: SourceRow, *, implied: bool) -> _Match | None:
    values = stated_values(reading.text)
    if row.numeric_value is None:
        return _Match(0.7, REACH_WEAK, f"{row.event} was charted") if not values and not implied else None
    pair = _PRESSURES.search(reading.text)
    if pair and re.search(r"systolic|diastolic|mean|\bbp[sd]\b", row.event):
        part = (
            pair["systolic"]
            if re.search(r"systolic|\bbps\b", row.event)
            else pair["diastolic"]
            if re.search(r"diastolic|\bbpd\b", row.event)
            else ""
        )
        same = bool(part) and float(part) == row.numeric_value
        return (
            _Match(0.0 if "systolic" in row.event else 0.1, REACH_VALUE, f"same pressure, {row.value} of {pair.group()}") if same else None
        )
    if values:
        stated = tells(values, row.numeric_value, row.unit, row.event)
        if stated is None:
            return None
        cost = 0.0 if stated.exact is not None else 0.25
        return _Match(cost, REACH_VALUE, f"same measurement, same value {row.value}{' ' + row.unit if row.unit else ''}")
    fits = fits_condition(reading.text, row.event, row.numeric_value)
    if fits is None:
        drawn = row.event.startswith("lab:") and not implied
        return _Match(0.6, REACH_WEAK, f"same test ({row.value}); the text states no value") if drawn else None
    return _Match(0.55, REACH_WEAK, f"reading {row.value} fits the condition named") if fits else None


_NEGATIVE_RESULT = re.compile(
    r"no growth|negative|no \w+ (?:isolated|found|seen|growth)|not (?:detected|isolated)|no .{0,40}(?:isolated|found|seen)", re.IGNORECASE
)
_SAYS_NEGATIVE = re.compile(
    r"\b(?:negative|no growth|ngtd|neg|sterile|without growth|no organisms?|did not grow|unremarkable|no)\b", re.IGNORECASE
)
_SAYS_POSITIVE = re.compile(
    r"\b(?:grew|grown|growing|positive|pos|bacteremia|gram[- ]?(?:positive|negative)|MSSA|coli|aureus|klebsiella|pseudomonas|enterococc\w+|strep\w*|staph\w*|candida|yeast)\b",
    re.IGNORECASE,
)


def _specimen(reading: Reading, row: SourceRow) -> _Match | None:
    """A culture is dated by its collection; its result must not contradict the text."""
    negative = bool(_NEGATIVE_RESULT.search(row.value))
    grew = bool(row.value.strip(" _")) and not negative
    says_negative, says_positive = bool(_SAYS_NEGATIVE.search(reading.text)), bool(_SAYS_POSITIVE.search(reading.text))
    if (says_negative and not says_positive and grew) or (says_positive and not says_negative and negative):
        return None
    agrees = (says_negative and negative) or (says_positive and grew)
    return _Match(0.1 if agrees else 0.25, REACH_RESULT if agrees else REACH_ACT, "collection of the same specimen")


def _performed(concept: Concept, reading: Reading, name: EventName) -> _Match | None:
    ends = name.act in ("end", "stop") or bool({"removed", "discontinued", "extubation"} & set(name.words))
    removal = concept.name == "extubation" or reading.act is Act.END
    lasting = concept.name in _LASTING
    if lasting and removal != ends:
        return None
    if reading.act is Act.ORDER or (reading.occurrence.polarity is Polarity.ABSENT and concept is not reading.carrier):
        return None
    if concept.name == "surgery":
        wanted = "received" if _BACK_FROM.search(reading.text) else "sent"
        return _Match(0.3, REACH_ACT, "the operating room row of the same operation") if wanted in name.words else None
    if lasting:
        return _Match(
            0.1 if concept.name != "extubation" or "extubation" in name.words else 0.2,
            REACH_ACT,
            f"{'removal' if removal else 'placement'} of the same device, as performed",
        )
    return _Match(0.1 if not ends else 0.3, REACH_ACT, "the same procedure, as performed")


_BACK_FROM = re.compile(r"\b(?:return\w*|back|arriv\w*|came|out) (?:from|of|to)|\bfrom the (?:OR|operating)", re.IGNORECASE)

#: Devices and supports with a begin and an end; for other procedures both rows are one moment.
_LASTING = frozenset(
    {
        "invasive ventilation", "extubation", "noninvasive ventilation", "tracheostomy", "arterial line", "central line", "introducer", "pa catheter", "picc",
        "dialysis catheter", "peripheral iv", "iabp", "pacing wires", "crrt", "hemodialysis", "chest tube", "foley", "evd", "feeding tube", "wound vac",
    }
)  # fmt: skip

_UNITS = (
    (r"\bmicu\b|medical intensive", r"medical intensive|micu"),
    (r"\bsicu\b|surgical intensive", r"surgical intensive|sicu"),
    (r"\btsicu\b|\bticu\b|trauma", r"trauma|tsicu"),
    (r"\bcvicu\b|cardiovascular intensive|cardiac surgery (?:icu|intensive|unit)", r"cardiac vascular|cvicu|cardiovascular"),
    (r"\bccu\b|coronary care|cardiac (?:intensive )?care", r"coronary|ccu|cardiac"),
    (r"neuro", r"neuro"),
    (r"\bpacu\b|recovery", r"pacu|recovery"),
    (r"\bicu\b|intensive care|\bunit\b", r"intensive|icu|ccu|coronary|care unit|stepdown|intermediate"),
)
_ICU_VALUE = re.compile(r"intensive|icu|\bccu\b|coronary|neuro (?:surgical )?(?:intermediate|stepdown)", re.IGNORECASE)


_MOVE = re.compile(
    r"\b(?:transfer\w*|arriv(?:ed|al|es)|admitted|admission (?:to|from)|hospital admission|present(?:ed|ation|s)|discharged|discharge (?:home|to)|^discharge$|disposition|left|moved|came|"
    r"return\w*|brought|call\w*[- ]out|went|died|death|expired|passed away|pronounced|stepdown|stepped down)\b",
    re.IGNORECASE,
)


_LEAVES = re.compile(
    r"\b(?:left|leaving|out of|called out|transfer\w* (?:out|from)|step\w* down from)\b(?!.*\bto (?:the )?(?:\w+ )?(?:ICU|intensive))",
    re.IGNORECASE,
)


def _moved(concept: Concept, reading: Reading, row: SourceRow, name: EventName) -> _Match | None:
    """Arrivals, transfers and discharge: the administrative row of the very place."""
    if reading.occurrence.polarity is Polarity.ABSENT or name.category not in ("transfer", "admission", "icu", "chart", "procedure"):
        return None
    if not _MOVE.search(reading.occurrence.mention):
        return None
    place = f"{row.event} {row.value}".lower()
    text = reading.text.lower()
    leaves = bool(_LEAVES.search(reading.occurrence.mention))
    if concept.name == "icu arrival" and not leaves:
        for said, recorded in _UNITS:
            if re.search(said, text):
                return _Match(0.1, REACH_ACT, "the transfer to that unit") if re.search(recorded, place) else None
        return _Match(0.4, REACH_ACT, "a transfer to intensive care") if _ICU_VALUE.search(place) else None
    if concept.name == "ward transfer" or leaves:
        if "called out" in text or "call-out" in text or "called-out" in text:
            return _Match(0.1, REACH_ACT, "the call-out") if "called out" in place else None
        ward = name.category == "transfer" and "ed" not in name.words and name.words[:1] != ("discharge",) and not _ICU_VALUE.search(place)
        return _Match(0.15, REACH_ACT, "the transfer to the ward") if ward else None
    if concept.name == "service change":
        return None
    return _Match(0.1, REACH_ACT, "the administrative row of the same event")


def _may_have_rows(reading: Reading, entry: Entry) -> bool:
    """Histories lie before the record and plans after it; neither is evidenced by a row."""
    if reading.section in OUTSIDE_SECTIONS:
        return False
    if reading.implied and reading.section in ("discharge_diagnosis", "admission_diagnosis", "chief_complaint"):
        return False
    if _OUTSIDE.search(reading.occurrence.mention) and not _FROM_OUTSIDE.search(reading.occurrence.mention):
        return False
    measured = bool(reading.concept and reading.concept.kind is Kind.MEASUREMENT and reading.values)
    if not measured and (reading.section in PLAN_SECTIONS or _PLAN.search(reading.occurrence.mention)):
        return bool(reading.concept and reading.concept.name in ("discharge", "death"))
    if not measured and _HISTORY.search(reading.occurrence.mention):
        return False
    return entry.upper is None or entry.upper > _RECORD_BEGINS or (entry.time is not None and entry.time > _RECORD_BEGINS)


#: "discharge creatinine": the last one drawn, which may be a day or two old.
_LAST_BEFORE_DISCHARGE = re.compile(r"\b(?:discharge|dc|d/c|final|last)\b", re.IGNORECASE)
_IN_ED = re.compile(r"\b(?:in|at|from) (?:the |our )?(?:ED|ER|emergency|triage)\b|\bED\b|\btriage\b")
#: Hours: what happened in the emergency department is over when the unit begins to chart.
_ED_REACH = 4.0
#: Hours: what the text puts wholly before this lies before any row of the admission.
_RECORD_BEGINS = -36.0
_OUTSIDE = re.compile(
    r"\b(?:outside (?:hospital|facility|ED|emergency)|OSH|referring hospital|other hospital|outside-hospital|in the field|EMS)\b",
    re.IGNORECASE,
)
_FROM_OUTSIDE = re.compile(r"\b(?:transfer\w*|from|removed|pulled|discontinued|fluids?|saline|bolus\w*)\b", re.IGNORECASE)
_HISTORY = re.compile(
    r"\b(?:history of|h/o|hx of|chronic|baseline|prior (?!to)|previous(?:ly)?|home (?:med|dose)|years? ago|at home|childhood|remote|family history)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:follow[- ]?up|planned|to be (?:given|taken|continued|repeated|avoided|completed)|will (?:be|follow|see|continue|need)|(?:at|on|after|for) discharge|prescription|"
    r"discharge (?:med|prescription|instruction)|appointment|referr\w+ (?:to|for)|instructed|advised|pending)\b",
    re.IGNORECASE,
)


def _placed(match: _Match, row: SourceRow, time: float, entry: Entry) -> Verdict | None:
    """Add what the distance to the text's bounds costs; beyond the reach of the match there is no verdict."""
    if entry.time is None and entry.lower is None and entry.upper is None:
        return Verdict(row, match.cost + 0.2, match.reach, match.reason)
    distance = distance_to_bounds(time, entry)
    if distance > match.reach:
        return None
    inside = 0.0 if entry.time is None else 0.25 * min(1.0, abs(time - entry.time) / 8.0)
    return Verdict(row, match.cost + _DISTANCE_COST * distance / match.reach + inside, match.reach, match.reason)
