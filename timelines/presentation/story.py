"""Choose the 8 to 15 milestones of a stay.

Each occurrence of a timeline gets points by one table (`WEIGHTS`). The milestones with most points
are the story, in order of time; the page shows the points of each. Words are the note's own,
shortened. What is denied, of relatives or only planned is left out. No Django here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum

from ehr.presentation.clock import Clock, Moment
from ehr.presentation.wording import hours_words
from timelines.domain import Lane, Polarity, differs
from timelines.presentation.story_words import Kind, Reading, read_words, shorten

#: The fewest and the most milestones of a story, and how many "Show more" adds.
FEWEST, MOST, MORE = 8, 15, 15
#: The most milestones that "Show more" reaches.
LONGEST = 60
#: Points from which an occurrence is a milestone if the story has the fewest already.
ENOUGH = 3.0
#: What is further from admission than this is history.
LONG_BEFORE = -30 * 24.0
#: Hours before admission in which a complaint brought the patient in.
PRESENTING = -7 * 24.0
#: Hours before admission in which a transfer belongs to the stay.
ARRIVING = -72.0
#: How many complaints count.
COMPLAINTS = 4
#: Procedures that the record times within these hours are one.
AT_ONCE = 0.1
#: Two mentions of one act are one milestone within these hours.
SAME_ACT = 3.0


_OUTSIDE = {"before": "Before the stay", "after": "After the stay"}


class Reason(StrEnum):
    """Why an occurrence is a milestone; the value is how the page says it."""

    END = "how the stay ended"
    TRANSFER = "transfer"
    CRITICAL = "critical event"
    PROCEDURE = "procedure or imaging"
    INTERVENTION = "operation or intervention"
    PRESENTING = "what brought the patient in"
    FIRST = "first of a treatment"
    LAST = "end of a treatment"
    MAJOR = "treatment of a critical state"
    EXTREME = "most extreme value of its measure"
    CONFLICT = "note states another time than the record"
    CHANGE = "large change by the record"
    RECORD = "a row of the record"
    PLAN = "plan at discharge"
    LISTED = "repeated in a list of the note"
    MINOR = "routine treatment or value"
    HISTORY = "long before the stay"


#: Points of each reason. docs/reference/story.md shows this table.
WEIGHTS: dict[Reason, float] = {
    Reason.END: 10.0,
    Reason.TRANSFER: 5.0,
    Reason.CRITICAL: 4.0,
    Reason.PROCEDURE: 3.0,
    Reason.INTERVENTION: 2.0,
    Reason.PRESENTING: 3.5,
    Reason.FIRST: 2.5,
    Reason.LAST: 1.5,
    Reason.MAJOR: 2.0,
    Reason.EXTREME: 3.5,
    Reason.CONFLICT: 2.0,
    Reason.CHANGE: 1.0,
    Reason.RECORD: 0.5,
    Reason.PLAN: 2.0,
    Reason.LISTED: -4.0,
    Reason.MINOR: -2.0,
    Reason.HISTORY: -3.0,
}
#: Each milestone that is chosen takes these points from the others of its kind and of its day,
#: at most so many from each.
SAME_KIND, SAME_DAY, AT_MOST = 0.6, 0.3, 2.5


@dataclass(frozen=True, slots=True)
class Cited:
    """A row that a time rests on."""

    row: int
    event: str


@dataclass(frozen=True, slots=True)
class StoryLine:
    """An occurrence of a timeline, as the story reads it.

    `text`, `text_known`: its time from the note alone, if the timeline is revised.
    """

    uid: str
    mention: str
    lane: Lane
    polarity: Polarity
    time: float | None
    known: bool | None = False
    text: float | None = None
    text_known: bool | None = None
    revised: bool = False
    cited: tuple[Cited, ...] = ()
    #: The same for occurrences of several notes that are one event.
    event: str = ""

    @property
    def moved(self) -> bool:
        """Whether rows of the record changed its time beyond tolerance."""
        return self.revised and bool(self.cited) and differs(self.text, self.time)


@dataclass(frozen=True, slots=True)
class Milestone:
    """One act of the story.

    `uids`: the occurrences that are merged in it, the first is selected. `noted`: the time of the
    note if the record moved it. `rank` counts from 1 by points.
    """

    uids: tuple[str, ...]
    time: float
    words: str
    act: str
    kind: Kind
    points: float
    reasons: tuple[Reason, ...]
    when: Moment
    #: Inferred from the note alone.
    approximate: bool = False
    noted: Moment | None = None
    rank: int = 0
    #: The occurrence that is pinned; "" if none is.
    pin: str = ""

    @property
    def uid(self) -> str:
        return self.uids[0]

    @property
    def pinned(self) -> bool:
        return bool(self.pin)

    @property
    def pin_uid(self) -> str:
        """The occurrence that a pin is stored for, or taken from."""
        return self.pin or self.uid

    @property
    def why(self) -> str:
        said = ", ".join(f"{r.value} {_signed(WEIGHTS[r])}" for r in self.reasons)
        return f"{self.points:g} points: {said}" if said else f"{self.points:g} points"


@dataclass(frozen=True, slots=True)
class Day:
    """The milestones under one heading, in order of time."""

    heading: Moment
    milestones: tuple[Milestone, ...]
    #: Whether one of them is in the story before "Show more".
    is_shown: bool = True


@dataclass(frozen=True)
class Story:
    """All milestones by day; those up to rank `shown` are the story."""

    days: tuple[Day, ...] = ()
    shown: int = 0
    count: int = 0
    pinned: tuple[Milestone, ...] = ()

    def __bool__(self) -> bool:
        return self.count > 0

    @property
    def hidden(self) -> int:
        return max(0, self.count - self.shown)


@dataclass(slots=True)
class _Draft:
    line: StoryLine
    reading: Reading
    time: float
    #: Its place in the note.
    order: int
    day: str
    reasons: list[Reason] = field(default_factory=list)
    merged: list[_Draft] = field(default_factory=list)

    @property
    def points(self) -> float:
        return sum(WEIGHTS[r] for r in self.reasons)


def build_story(lines: Sequence[StoryLine], clock: Clock, *, pins: Collection[str] = ()) -> Story:
    """Return the story of a timeline; pinned milestones are always in it."""
    drafts = _drafts(lines, clock)
    _give_points(drafts, clock.discharge)
    acts = _merge(drafts)
    ranked = _rank(acts, set(pins))
    if not ranked:
        return Story()
    milestones = [
        _milestone(draft, clock, rank, set(pins)) for rank, draft in enumerate(ranked, start=1)
    ]
    enough = sum(d.points >= ENOUGH for d in ranked)
    pinned = sum(m.pinned for m in milestones)
    shown = min(len(milestones), max(FEWEST, min(MOST, enough), pinned))
    by_day: dict[Moment, list[Milestone]] = defaultdict(list)
    for milestone in sorted(milestones, key=lambda m: (m.time, m.rank)):
        by_day[_heading(milestone.time, clock)].append(milestone)
    return Story(
        days=tuple(
            Day(heading, tuple(found), any(m.rank <= shown for m in found))
            for heading, found in by_day.items()
        ),
        shown=shown,
        count=len(milestones),
        pinned=tuple(sorted((m for m in milestones if m.pinned), key=lambda m: m.time)),
    )


def _drafts(lines: Iterable[StoryLine], clock: Clock) -> list[_Draft]:
    """Return what may be shown: placed, of the patient, naming something."""
    found = []
    for order, line in enumerate(lines):
        if line.time is None or line.polarity in (Polarity.ABSENT, Polarity.FAMILY):
            continue
        reading = read_words(line.mention, line.lane, [c.event for c in line.cited])
        if reading.names_nothing or (
            reading.kind is not Kind.PLAN and line.polarity is Polarity.PLANNED
        ):
            continue
        found.append(_Draft(line, reading, line.time, order, _day(line.time, clock)))
    return sorted(found, key=lambda d: d.time)


def _give_points(drafts: Sequence[_Draft], discharge: float | None) -> None:
    """Give each draft its reasons; `drafts` are in order of time."""
    firsts, lasts = _courses(drafts)
    worst = _worst(drafts)
    brought = _complaints(drafts)
    end = _end(drafts, discharge)
    for draft in drafts:
        reading, line = draft.reading, draft.line
        inside = draft.time >= LONG_BEFORE
        course = id(draft) in firsts or id(draft) in lasts
        given = {
            Reason.END: draft is end,
            Reason.TRANSFER: reading.kind is Kind.TRANSFER
            and draft is not end
            and draft.time >= ARRIVING,
            Reason.CRITICAL: reading.critical,
            Reason.PROCEDURE: reading.kind is Kind.PROCEDURE and not reading.minor,
            Reason.INTERVENTION: reading.intervention,
            Reason.PRESENTING: id(draft) in brought,
            Reason.FIRST: id(draft) in firsts,
            Reason.LAST: id(draft) in lasts,
            Reason.MAJOR: course and reading.major,
            Reason.EXTREME: inside and id(draft) in worst,
            Reason.CONFLICT: line.moved and bool(line.text_known),
            Reason.CHANGE: line.moved and not line.text_known,
            Reason.RECORD: inside and bool(line.cited),
            Reason.PLAN: reading.kind is Kind.PLAN,
            Reason.LISTED: reading.listed,
            Reason.MINOR: reading.minor,
            Reason.HISTORY: not inside,
        }
        draft.reasons = [reason for reason, applies in given.items() if applies]


def _courses(drafts: Sequence[_Draft]) -> tuple[set[int], set[int]]:
    """Return the first giving of each treatment, and its last end."""
    firsts: dict[str, _Draft] = {}
    lasts: dict[str, _Draft] = {}
    for draft in drafts:
        reading = draft.reading
        if reading.kind is not Kind.TREATMENT or not reading.name or reading.listed:
            continue
        if draft.time < LONG_BEFORE or reading.ordered:
            continue
        if reading.ends:
            lasts[reading.name] = draft
        else:
            firsts.setdefault(reading.name, draft)
    return {id(d) for d in firsts.values()}, {id(d) for d in lasts.values()}


def _worst(drafts: Sequence[_Draft]) -> set[int]:
    """Return the most extreme value of each measure."""
    found: dict[str, _Draft] = {}
    for draft in drafts:
        reading = draft.reading
        if reading.measure and (
            reading.measure not in found or reading.beyond > found[reading.measure].reading.beyond
        ):
            found[reading.measure] = draft
    return {id(d) for d in found.values()}


def _complaints(drafts: Sequence[_Draft]) -> set[int]:
    """Return what brought the patient in: critical, or first in the note."""
    complaints = [
        d
        for d in drafts
        if d.reading.complaint
        or (
            d.reading.kind is Kind.FINDING
            and PRESENTING <= d.time < 0
            and not (d.reading.listed or d.reading.measured)
        )
    ]
    return {id(d) for d in sorted(complaints, key=_complaint_order)[:COMPLAINTS]}


def _complaint_order(draft: _Draft) -> tuple[bool, int]:
    """Order critical events first, then by place in the note."""
    return not draft.reading.critical, draft.order


def _end(drafts: Sequence[_Draft], discharge: float | None) -> _Draft | None:
    """Return the draft that says how the stay ended; death comes first."""
    leaving = [
        d
        for d in drafts
        if d.reading.leaves
        and not d.reading.listed
        and (discharge is None or d.time >= discharge - 24)
    ]
    return max(
        leaving,
        key=lambda d: (
            d.reading.dies,
            d.reading.kind is Kind.TRANSFER,
            bool(d.line.cited),
            -d.order,
        ),
        default=None,
    )


def _merge(drafts: Sequence[_Draft]) -> list[_Draft]:
    """Join the mentions of one act: the same rows, or words within hours."""
    kept: list[_Draft] = []
    by_rows: dict[frozenset[int], _Draft] = {}
    by_words: dict[str, list[_Draft]] = defaultdict(list)
    ends: list[_Draft] = []
    by_event: dict[str, _Draft] = {}
    # The mention with most points names the act; its results follow it.
    for draft in sorted(drafts, key=lambda d: (-d.points, d.order)):
        rows = frozenset(c.row for c in draft.line.cited)
        same = by_event.get(draft.line.event) if draft.line.event else None
        if same is None and rows:
            same = by_rows.get(rows)
        if same is None:
            alike = ends if draft.reading.leaves else by_words[draft.reading.key]
            same = next((d for d in alike if abs(d.time - draft.time) <= SAME_ACT), None)
        if same is None and rows and draft.reading.kind is Kind.PROCEDURE:
            same = next((d for d in kept if _at_once(d, draft)), None)
        by_event.setdefault(draft.line.event, same or draft)
        if same is not None:
            same.merged.append(draft)
            continue
        kept.append(draft)
        if rows:
            by_rows[rows] = draft
        by_words[draft.reading.key].append(draft)
        if draft.reading.leaves:
            ends.append(draft)
    return kept


def _at_once(first: _Draft, second: _Draft) -> bool:
    """Return whether two examinations of the record are one act."""
    return (
        first.reading.kind is second.reading.kind
        and bool(first.line.cited)
        and abs(first.time - second.time) < AT_ONCE
    )


def _rank(drafts: Sequence[_Draft], pins: set[str]) -> list[_Draft]:
    """Order by points; each choice takes points from its kind and its day."""
    pool = {id(d): d for d in drafts}
    kinds: Counter[Kind] = Counter()
    days: Counter[str] = Counter()
    ranked: list[_Draft] = []

    def chosen(draft: _Draft) -> None:
        ranked.append(pool.pop(id(draft)))
        kinds[draft.reading.kind] += 1
        days[draft.day] += 1

    for draft in drafts:
        if pins & {d.line.uid for d in (draft, *draft.merged)}:
            chosen(draft)
    while pool and len(ranked) < LONGEST:
        chosen(
            max(
                pool.values(),
                key=lambda d: (
                    d.points
                    - min(AT_MOST, SAME_KIND * kinds[d.reading.kind] + SAME_DAY * days[d.day]),
                    -d.time,
                ),
            )
        )
    return ranked


def _milestone(draft: _Draft, clock: Clock, rank: int, pins: set[str]) -> Milestone:
    line, reading = draft.line, draft.reading
    parts = [reading.words]
    for other in sorted(draft.merged, key=lambda d: -d.points):
        # Results that rest on the same row as an examination say what it showed.
        if (
            reading.kind is Kind.PROCEDURE
            and other.reading.kind is Kind.FINDING
            and not other.reading.listed
            and len(parts) < 3
        ):
            parts.append(other.reading.words)
    uids = (line.uid, *(d.line.uid for d in draft.merged))
    return Milestone(
        uids=uids,
        time=draft.time,
        words=shorten(": ".join([parts[0], ", ".join(parts[1:])] if parts[1:] else parts)),
        act=reading.act,
        kind=reading.kind,
        points=round(draft.points, 1),
        reasons=tuple(draft.reasons),
        when=_moment(draft.time, clock),
        approximate=not line.known and not line.cited,
        noted=_noted(line, draft.time, clock),
        rank=rank,
        pin=next((uid for uid in uids if uid in pins), ""),
    )


def _noted(line: StoryLine, time: float, clock: Clock) -> Moment | None:
    if not line.moved or line.text is None:
        return None
    return Moment(clock.say(line.text, time), hours_words(line.text))


def _moment(hours: float, clock: Clock) -> Moment:
    """Return the time under its day: the clock alone inside the stay."""
    moment = clock.read(hours)
    return replace(moment, day=moment.day.rpartition(" · ")[2])


def _day(hours: float, clock: Clock) -> str:
    """Return the hospital day; "before" and "after" outside the stay."""
    day, inside, _ = clock.read(hours).day.partition(" · ")
    return day if inside else "before" if hours < 0 else "after"


def _heading(hours: float, clock: Clock) -> Moment:
    """Return the day with its weekday, and the hours at which it begins."""
    day = _day(hours, clock)
    if day in _OUTSIDE:
        return Moment(_OUTSIDE[day])
    on = clock.admitted + timedelta(hours=hours)
    midnight = clock.hours(on.replace(hour=0, minute=0, second=0, microsecond=0))
    return Moment(f"{day} · {on:%a}", f"From {hours_words(max(0.0, midnight))}")


def _signed(points: float) -> str:
    return f"{points:+g}".replace("-", "−")
