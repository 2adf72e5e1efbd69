"""Match medications by their acts.

An order is not an administration, an end not a begin, a changed rate not a stop.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from timelines.backbones.rules.querying.courses import CONTINUOUS
from timelines.backbones.rules.querying.reading import Act, Reading
from timelines.backbones.rules.querying.vocabulary import Concept, EventName, Kind, event_name
from timelines.backbones.rules.revision.match import REACH_ACT, REACH_VALUE, Match
from timelines.backbones.rules.revision.stated import find_equal, stated_values
from timelines.domain import Polarity, SourceRow

#: Given over hours: the end of such a row says little about its begin.
_SLOW = frozenset(
    {
        "sodium chloride 0.9%", "lactated ringer's", "plasma-lyte", "fluid bolus", "blood product",
        "packed red blood cells", "fresh frozen plasma",
        "platelet transfusion", "dextrose 5%", "total parenteral nutrition", "tube feeds", "nutrition", "pressor", "sedative",
    }
)  # fmt: skip

_ACT_WORDS = {
    "med start": "administration",
    "med end": "end of administration",
    "order start": "order",
    "order stop": "end of order",
}
#: Acts of single doses, as records of administrations name them, and the acts of infusions that
#: they equal. A dose that was not given has none.
_SAME_ACT = {
    "administered": "start",
    "applied": "start",
    "delayed administered": "start",
    "given": "start",
    "partial administered": "start",
    "restarted": "start",
    "started": "start",
    "stopped": "end",
}
_ORAL = re.compile(
    r"\b(?:oral|orally|PO|by"
    r" mouth|tablets?|subcutaneous\w*|SQ|SC|subq|patch|daily|BID|TID|QID|nightly|qhs|taper|regimen|home|standing)\b",
    re.IGNORECASE,
)
_BY_MOUTH = re.compile(r"\b(?:oral|orally|PO|by mouth|tablets?)\b", re.IGNORECASE)
_INFUSION = re.compile(
    r"\b(?:gtt|drip|infusion|infusing|weaned|titrated|pressors?)\b", re.IGNORECASE
)


_BOLUS = re.compile(r"\b(?:(?:re-?)?bolus\w*|push\w*|load\w*|doses?|x\s?1)\b", re.IGNORECASE)
#: A begin with a rate is an infusion, one without is a bolus; the other way round costs this much.
_OTHER_WAY = 0.3


class Medications:
    """Match medication rows of one case.

    `rows` are all rows of its evidence by event name, because an order counts differently if doses
    are charted too.
    """

    def __init__(self, rows: Mapping[str, Sequence[SourceRow]]) -> None:
        self._rows = rows

    def match(
        self, concept: Concept, reading: Reading, row: SourceRow, name: EventName
    ) -> Match | None:
        """Match a row of the same drug and the right act.

        The dose strengthens the match if both state one.
        """
        if reading.occurrence.polarity is Polarity.ABSENT and reading.act is not Act.END:
            return None
        bolus = _BOLUS.search(reading.text) is not None
        infusion = bool(_INFUSION.search(reading.text)) or (
            reading.act is Act.END and (concept.name in CONTINUOUS or self._has_rates(concept))
        )
        charted = any(e.startswith("med:") and concept.matches(event_name(e)) for e in self._rows)
        wanted = _acts(reading, charted=charted, infusion=infusion)
        kind = f"{name.category} {_SAME_ACT.get(name.act, name.act)}"
        if kind not in wanted or ("prophylaxis" in name.words and (infusion or bolus)):
            return None
        cost = wanted[kind]
        rated = row.numeric_value is not None and name.act == "start"
        if kind == "med start" and bolus != infusion and bolus == rated:
            cost += _OTHER_WAY
        if kind == "med end":
            if reading.act is Act.END:
                cost += 0.8 if self._continues(row) else 0.0
            elif infusion or concept.name in _SLOW:
                return None
            elif not self._is_push(row):
                cost += 0.3
        drug = concept.name if concept.kind is Kind.DRUG else " ".join(name.words[:-1])
        return _match_dose(cost, f"{_ACT_WORDS.get(kind, kind)} of {drug}", reading, row)

    def _has_rates(self, concept: Concept) -> bool:
        """Its administrations begin with a rate, so it runs as an infusion."""
        starts = [
            e
            for e in self._rows
            if e.startswith("med:") and e.endswith(":start") and concept.matches(event_name(e))
        ]
        return any(r.numeric_value is not None for e in starts for r in self._rows[e])

    def _is_push(self, row: SourceRow) -> bool:
        """Return whether the row ends a push: begin and end within minutes.

        Then the end, which has the amount, dates the dose too.
        """
        starts = self._rows.get(row.event.removesuffix("end") + "start", ())
        return any(
            r.time is not None and row.time is not None and 0 <= row.time - r.time < 0.1
            for r in starts
        )

    def _continues(self, row: SourceRow) -> bool:
        """Return whether the next infusion row begins where this one ends.

        Then the end is a changed rate or bag, not a stop.
        """
        starts = self._rows.get(row.event.removesuffix("end") + "start", ())
        return any(
            r.time is not None and row.time is not None and abs(r.time - row.time) < 0.05
            for r in starts
        )


def _match_dose(cost: float, reason: str, reading: Reading, row: SourceRow) -> Match | None:
    values = stated_values(reading.text)
    if not values or row.numeric_value is None:
        return Match(cost, REACH_ACT, f"{reason}: same drug, right act", repeats=True)
    if find_equal(values, row.numeric_value, row.unit, row.event) is not None:
        # An order of this very dose is the act, also where other doses are charted.
        return Match(
            max(0.0, min(cost, 0.75) - 0.3),
            REACH_VALUE,
            f"{reason}: same drug and dose",
            repeats=True,
        )
    # A new rate is identified by its number; another number is another change.
    return (
        None
        if reading.act is Act.CHANGE
        else Match(cost + 0.25, REACH_ACT, f"{reason}: same drug, right act", repeats=True)
    )


def _acts(reading: Reading, *, charted: bool, infusion: bool) -> Mapping[str, float]:
    """Return which rows may date this act, and at what cost.

    Charted doses count before orders.
    """
    if reading.act is Act.ORDER:
        return {"order start": 0.1}
    if reading.act is Act.END:
        if infusion:
            return {"med end": 0.25, "order stop": 0.6 if charted else 0.3}
        return {"order stop": 0.25, "med end": 0.55}
    if _ORAL.search(reading.text) and not infusion:
        return {"order start": 0.2, "med start": 0.7 if _BY_MOUTH.search(reading.text) else 0.4}
    acts = {"med start": 0.1, "med end": 0.45, "order start": 1.1 if charted else 0.35}
    if reading.act is Act.CHANGE:
        acts["med end"] = 0.8
    return acts
