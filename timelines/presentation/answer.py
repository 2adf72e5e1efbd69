"""Say in one or two sentences why an occurrence is at its time.

The panel of the case page begins with them. They are made from the words of the note, the rows that
the time cites and the rows that it does not. No Django here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ehr.presentation.clock import Clock, Moment
from ehr.presentation.wording import name_words, span_words
from timelines.domain import NoRows, Polarity, TimelineKind
from timelines.presentation.wording import shorten_quote

#: Hours within which two times are the same (they are shown to the minute).
_SAME = 1 / 60
#: Hours that a time may differ from a row before the row is named as another one that fits.
_FITS = 3.0
#: Hours of bounds from which a time is said to be open.
_WIDE = 24.0

#: What a row of each kind of time records, and the same for the end of it.
_ACTS = {
    "administration": ("Given", "Stopped"),
    "order": ("Ordered", "Order ended"),
    "collection": ("Collected", "Collected"),
    "result": ("Result known", "Result known"),
    "performed": ("Done", "Ended"),
    "charted": ("Charted", "Charted"),
    "administrative": ("Recorded", "Recorded"),
}
_ENDS = (":stop", ":end", ":out")
#: Whose rows they are, by the category of the event.
_SOURCES = {
    "med": "The medication record",
    "order": "The order list",
    "lab": "The laboratory",
    "chart": "The chart",
    "micro": "Microbiology",
    "procedure": "The procedure record",
    "output": "The fluid balance",
}
_UNUSED = {
    NoRows.NONE_FOUND: "The record has no row for it.",
    NoRows.BELOW_THRESHOLD: "No series of the record was relevant enough.",
    NoRows.OVER_BUDGET: "Rows were found, but there was no room to show them to the reviser.",
}


@dataclass(frozen=True, slots=True)
class RowFact:
    """A row of the record.

    `hours` is None if it has no time; `value` has its unit.
    """

    event: str
    value: str
    hours: float | None
    time_kind: str


@dataclass(frozen=True, slots=True)
class Claim:
    """What a person says about the time.

    `hours` None: it is not placed, or with `happened` False it did not happen. `settles`: it is an
    adjudicator's decision. `as_made`: that decision is that the reconstructed time stays.
    """

    by: str
    hours: float | None
    happened: bool = True
    reason: str = ""
    settles: bool = False
    as_made: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one occurrence in one timeline.

    Times are hours from admission. `words`: its span in the note. `text`: its time from the text
    alone, if the timeline is revised. `cited`: rows that its time rests on. `near`: rows of other
    things that it is counted from. `others`: rows that were found for it and used for neither.
    `relies_on`: mentions of occurrences that its time follows. `searched`: the run looked for rows.
    `reference`, `alternatives`: its time in a reference and in other alternatives, with a label.
    `correction`: the claim that the shown time is, and `made` the time that it replaced. `claims`:
    what people say that is not shown.
    """

    kind: TimelineKind
    time: float | None
    known: bool | None
    words: str = ""
    text: float | None = None
    text_known: bool | None = None
    lower: float | None = None
    upper: float | None = None
    polarity: Polarity = Polarity.PRESENT
    cited: Sequence[RowFact] = ()
    near: Sequence[RowFact] = ()
    others: Sequence[RowFact] = ()
    relies_on: Sequence[str] = ()
    searched: bool = True
    no_rows: NoRows | None = None
    reference: float | None = None
    alternatives: Sequence[tuple[str, float | None]] = ()
    correction: Claim | None = None
    made: float | None = None
    claims: Sequence[Claim] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The time, the sentences behind it, and what disagrees."""

    headline: str
    because: tuple[str, ...]
    asides: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerBothWays:
    """An answer as pages show it: each part in both ways to write times."""

    headline: Moment
    because: Moment
    asides: Moment


def answer_both_ways(facts: Facts, clock: Clock) -> AnswerBothWays:
    """Return the answer with times as day and clock, and as hours."""
    day, hours = answer(facts, clock), answer(facts, replace(clock, in_hours=True))
    return AnswerBothWays(
        Moment(day.headline, hours.headline),
        Moment(" ".join(day.because), " ".join(hours.because)),
        Moment(" ".join(day.asides), " ".join(hours.asides)),
    )


def answer(facts: Facts, clock: Clock) -> Answer:
    """Return why the occurrence is at its time."""
    if facts.correction is not None:
        headline, because = _from_person(facts, facts.correction, clock)
    elif facts.time is None:
        headline, because = "Not placed.", _why_not_placed(facts, clock)
    elif facts.cited:
        headline, because = _from_record(facts, facts.time, clock)
    else:
        headline, because = _from_note(facts, facts.time, clock)
    return Answer(headline, tuple(because), tuple(_asides(facts, clock)))


def _from_person(facts: Facts, claim: Claim, clock: Clock) -> tuple[str, list[str]]:
    way = "Settled" if claim.settles else "Corrected"
    was = "not placed" if facts.made is None else clock.say(facts.made, claim.hours)
    if claim.hours is None:
        headline = f"{way} by {claim.by}: {_say_claim(claim, clock)}, was {was}."
    elif facts.made is not None and _apart(facts.made, claim.hours) <= _SAME:
        headline = f"{clock.say(claim.hours)}, confirmed by {claim.by}."
    else:
        headline = f"{way} by {claim.by} to {clock.say(claim.hours)}, was {was}."
    because = []
    if facts.cited:
        at = claim.hours or 0.0
        row = min(facts.cited, key=lambda r: _apart(r.hours, at))
        source = _SOURCES.get(row.event.partition(":")[0], "The record")
        same = claim.hours is not None and _apart(row.hours, at) <= _SAME
        because = [f"{source} has {_row_words(row)}{'' if same else f' at {_at(row, clock)}'}."]
    if claim.reason:
        because.append(f"Reason: “{shorten_quote(claim.reason).removesuffix('.')}”.")
    return headline, because


def _say_claim(claim: Claim, clock: Clock) -> str:
    if claim.hours is None:
        return "not placed" if claim.happened else "did not happen"
    return clock.say(claim.hours)


def _say_other(claim: Claim, clock: Clock) -> str:
    if claim.as_made:
        return f"{claim.by} kept the reconstructed time."
    if claim.hours is None:
        return f"{claim.by} says it {'has no time' if claim.happened else 'did not happen'}."
    return f"{claim.by} says {clock.say(claim.hours)}."


def _from_record(facts: Facts, time: float, clock: Clock) -> tuple[str, list[str]]:
    row = min(facts.cited, key=lambda r: _apart(r.hours, time))
    act = _act(row)
    at = clock.say(time)
    same_row = _apart(row.hours, time) <= _SAME
    source = _SOURCES.get(row.event.partition(":")[0], "The record")
    because = [f"{source} has {_row_words(row)}{'' if same_row else f' at {_at(row, clock)}'}"]
    if facts.kind is TimelineKind.REFERENCE:
        return f"{at}, placed by the author.", [because[0] + "."]
    if facts.text is None:
        headline = f"{act} {at}."
        because[0] += "; the note alone gives no time"
    elif _apart(facts.text, time) <= _SAME:
        headline = f"{act} {at}, as the note says." if facts.text_known else f"{act} {at}."
        because[0] += " at the same time" if same_row else ""
    else:
        headline = f"{act} {at}, not {clock.say(facts.text, time)}."
        said = "says" if facts.text_known else "was read as"
        quote = f" (“{shorten_quote(facts.words)}”)" if facts.words else ""
        because[0] += f"; the note{quote} {said} {clock.say(facts.text, time)}"
    because[0] += "."
    return headline, because + _other_rows(facts, time, clock, row)


def _from_note(facts: Facts, time: float, clock: Clock) -> tuple[str, list[str]]:
    at = clock.say(time)
    if facts.kind is TimelineKind.REFERENCE:
        return f"{at}, placed by the author.", ["No row of the record is cited."]
    quote = f"“{shorten_quote(facts.words)}”" if facts.words else ""
    moved = facts.text is not None and _apart(facts.text, time) > _SAME
    if moved and facts.text is not None:
        way = f"{span_words(time - facts.text)} {'later' if time > facts.text else 'earlier'}"
        if facts.near:
            row = facts.near[0]
            because = [
                f"It is counted from {_row_words(row)} at {_at(row, clock, time)}; the note was"
                f" read as {clock.say(facts.text, time)}.",
                "No row records it.",
            ]
            return f"{at}, moved {way}.", because
        along = f", together with {_list(facts.relies_on)}" if facts.relies_on else ""
        headline = f"{at}, moved {way}{along}."
        because = [f"The note was read as {clock.say(facts.text, time)}; no row is cited."]
        return headline, because
    if facts.polarity is Polarity.PLANNED:
        headline, because = (
            f"Planned at {at}.",
            [f"A plan is at the hour it was made{quote and ': '}{quote}."],
        )
    elif facts.known:
        headline, because = f"{at}, from the note.", [f"The note states it{quote and ': '}{quote}."]
    else:
        after = f" beside {_list(facts.relies_on)}" if facts.relies_on else ""
        headline = f"About {at}, from the note."
        because = [
            f"The note gives no time for {quote or 'it'}; it was placed by its context{after}."
        ]
    low, high = facts.lower, facts.upper
    if low is not None and high is not None and high - low >= _WIDE:
        first, last = clock.say(low), clock.say(high)
        because.append(f"Its bounds are {first} to {last}.")
    if facts.kind is TimelineKind.REVISED:
        because += _unused_rows(facts, time, clock)
    return headline, because


def _why_not_placed(facts: Facts, clock: Clock) -> list[str]:
    if facts.kind is TimelineKind.REFERENCE:
        return ["The author gave it no time."]
    if facts.kind is TimelineKind.REVISED and facts.text is not None:
        return [f"The note was read as {clock.say(facts.text)}; revision took that back."]
    because = ["The note gives it no time."]
    return because + (
        _unused_rows(facts, None, clock) if facts.kind is TimelineKind.REVISED else []
    )


def _other_rows(facts: Facts, time: float, clock: Clock, used: RowFact) -> list[str]:
    """Name the order behind the act, and a row that fits as well."""
    said = []
    orders = [
        r
        for r in facts.others
        if r.time_kind == "order" and used.time_kind != "order" and _apart(r.hours, time) > _SAME
    ]
    if orders:
        first = min(orders, key=lambda r: _apart(r.hours, time))
        said.append(f"The order is from {_at(first, clock, time)}.")
    rivals = [
        r
        for r in facts.others
        if r.time_kind == used.time_kind
        and r.event == used.event
        and _SAME < _apart(r.hours, time) <= _FITS
    ]
    if rivals:
        nearest = min(rivals, key=lambda r: _apart(r.hours, time))
        said.append(f"Another row fits: {_at(nearest, clock, time)}{_value(nearest)}.")
    return said


def _unused_rows(facts: Facts, time: float | None, clock: Clock) -> list[str]:
    """Say why no row of the record was used."""
    if not facts.searched:
        return ["This run did not search the record for it."]
    placed = [r for r in facts.others if r.hours is not None]
    if facts.no_rows is not None and not placed:
        return [_UNUSED[facts.no_rows]]
    if not placed:
        return []
    row = placed[0] if time is None else min(placed, key=lambda r: _apart(r.hours, time))
    return [f"No row was used; the nearest is {_row_words(row)} at {_at(row, clock)}."]


def _asides(facts: Facts, clock: Clock) -> list[str]:
    said = [_say_other(claim, clock) for claim in facts.claims]
    if facts.reference is not None and (
        facts.time is None or _apart(facts.reference, facts.time) > _SAME
    ):
        said.append(f"The reference has {clock.say(facts.reference, facts.time)}.")
    for label, other in facts.alternatives:
        if other is not None and (facts.time is None or _apart(other, facts.time) > _SAME):
            said.append(f"{label} has {clock.say(other, facts.time)}.")
    return said


def _row_words(row: RowFact) -> str:
    return f"{name_words(row.event)}{_value(row)}"


def _value(row: RowFact) -> str:
    return f", {row.value.rstrip('.')}" if row.value else ""


def _act(row: RowFact) -> str:
    act, end = _ACTS.get(row.time_kind, ("Recorded", "Recorded"))
    return end if row.event.endswith(_ENDS) else act


def _at(row: RowFact, clock: Clock, beside: float | None = None) -> str:
    return "no time" if row.hours is None else clock.say(row.hours, beside)


def _apart(a: float | None, b: float) -> float:
    return float("inf") if a is None else abs(a - b)


def _list(mentions: Sequence[str]) -> str:
    return " and ".join(f"“{shorten_quote(m)}”" for m in mentions[:2])
