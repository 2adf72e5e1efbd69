"""Which occurrences may have rows, and how far from the text's time."""

from __future__ import annotations

import re

from timelines.backbones.rules.querying.reading import OUTSIDE_SECTIONS, PLAN_SECTIONS, Reading
from timelines.backbones.rules.querying.vocabulary import Kind
from timelines.backbones.rules.revision.match import REACH_UNIQUE, Match
from timelines.backbones.rules.timing.estimate import CONTENT, SECTION
from timelines.domain import Entry, Polarity, SourceRow

#: "discharge creatinine": the last one drawn, which may be a day or two old.
_LAST_BEFORE_DISCHARGE = re.compile(r"\b(?:discharge|dc|d/c|final|last)\b", re.IGNORECASE)
_IN_ED = re.compile(
    r"\b(?:in|at|from) (?:the |our )?(?:ED|ER|emergency|triage)\b|\bED\b|\btriage\b"
)
#: A list of procedures at the head of a note does not say when in the stay they were done,
#: and an event without a stated day may be of any day.
_ANY_TIME = 2000.0
#: Rules of the text timer that place events without a stated time.
_UNSTATED = frozenset({"narrative", SECTION, CONTENT, "heading"})
#: Rules of the text timer for what was so during a whole stay or life.
_NO_MOMENT = frozenset({"stay", "static"})
#: Hours: events in the emergency department are over when the unit begins to chart.
_ED_REACH = 4.0
#: Hours: acts before the admission were done elsewhere; only a row close to the text's time is the
#: same act.
_BEFORE_ARRIVAL, _HPI_REACH = 1.0, 1.5
#: Hours: events whose bounds are all before this precede any row of the admission.
_RECORD_BEGINS = -36.0
_OUTSIDE = re.compile(
    r"\b(?:outside (?:hospital|facility|ED|emergency)|OSH|referring hospital|other"
    r" hospital|outside-hospital|in the field|EMS)\b",
    re.IGNORECASE,
)
_FROM_OUTSIDE = re.compile(
    r"\b(?:transfer\w*|from|removed|pulled|discontinued|fluids?|saline|bolus\w*)\b", re.IGNORECASE
)
_HISTORY = re.compile(
    r"\b(?:history of|h/o|hx of|chronic|baseline|prior (?!to)|previous(?:ly)?|home"
    r" (?:med|dose)|years? ago|"
    r"at home|childhood|remote|family history)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:follow[- ]?up|planned|to be (?:given|taken|continued|repeated|avoided|completed)|will"
    r" (?:be|follow|see|continue|need)|"
    r"(?:at|on|after|for) discharge|prescription|discharge"
    r" (?:med|prescription|instruction)|appointment|referr\w+ (?:to|for)|"
    r"instructed|advised|pending)\b",
    re.IGNORECASE,
)


#: Lists that name conditions; a drug or a number there belongs to the condition.
_DIAGNOSES = frozenset({"discharge_diagnosis", "admission_diagnosis", "chief_complaint"})


def _is_procedure(reading: Reading) -> bool:
    return reading.concept is not None and reading.concept.kind is Kind.PROCEDURE


def may_have_rows(reading: Reading, entry: Entry) -> bool:
    """Return whether rows may be evidence for an occurrence.

    Histories precede the record and plans follow it, so neither has evidence.
    """
    if reading.section in OUTSIDE_SECTIONS or entry.decided_by in _NO_MOMENT:
        return False
    if reading.section in _DIAGNOSES and (reading.implied or not _is_procedure(reading)):
        return False
    if _OUTSIDE.search(reading.occurrence.mention) and not _FROM_OUTSIDE.search(
        reading.occurrence.mention
    ):
        return False
    if (
        reading.section.startswith("exam")
        and reading.concept
        and reading.concept.kind is Kind.PROCEDURE
    ):
        # "intubated" among the findings of an examination is how the patient was, not the placement
        return False
    measured = bool(reading.concept and reading.concept.kind is Kind.MEASUREMENT and reading.values)
    planned = reading.occurrence.polarity is Polarity.PLANNED
    if planned or (
        not measured
        and (reading.section in PLAN_SECTIONS or _PLAN.search(reading.occurrence.mention))
    ):
        return bool(reading.concept and reading.concept.name in ("discharge", "death"))
    if not measured and _HISTORY.search(reading.occurrence.mention):
        return False
    return (
        entry.upper is None
        or entry.upper > _RECORD_BEGINS
        or (entry.time is not None and entry.time > _RECORD_BEGINS)
    )


def may_follow_arrival(reading: Reading, entry: Entry, row: SourceRow) -> bool:
    """Return whether a row may be an act of the presenting story.

    What led to the admission was done before it. The unit charts what it goes on with again when
    the patient arrives, and that is another moment.
    """
    before_arrival = (
        reading.section == "hpi" and entry.time is not None and entry.time < _BEFORE_ARRIVAL
    )
    return (
        not before_arrival
        or row.time is None
        or row.time <= _BEFORE_ARRIVAL
        or not row.event.startswith(("med:", "order:", "procedure:"))
    )


def compute_reach(match: Match, reading: Reading, entry: Entry, *, unique: bool) -> float:
    """Return how many hours beyond the text's bounds a match may be.

    `unique`: no other row of the record has the stated value.
    """
    if reading.section == "procedures" and entry.decided_by == SECTION:
        return _ANY_TIME
    if _IN_ED.search(reading.occurrence.mention):
        return min(match.reach, _ED_REACH)
    if reading.section == "hpi" and entry.time is not None and entry.time < _BEFORE_ARRIVAL:
        return min(match.reach, _HPI_REACH)
    if match.borrowed:
        return match.reach
    if match.exact and unique:
        return _ANY_TIME if entry.decided_by in _UNSTATED and not entry.known else REACH_UNIQUE
    return (
        2 * match.reach
        if match.exact and _LAST_BEFORE_DISCHARGE.search(reading.text)
        else match.reach
    )
