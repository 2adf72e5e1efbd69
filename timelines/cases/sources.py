"""Read the sources of an occurrence in other notes of its chart.

The caller has checked that the person may see the case (`timelines.cases.opening`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q

from accounts.models import User
from accounts.permissions import user_can_manage_study
from ehr.presentation.clock import Clock, Moment
from timelines.cases.choices import Choice
from timelines.cases.linked import Part, find_place, load_note_parts
from timelines.domain import TimelineKind
from timelines.models import Entry, Occurrence, OccurrenceLink
from timelines.pipeline.linking.values import Decider
from timelines.presentation.sentence import Sentence, find_sentence
from timelines.runs.links import load_groups

_BY = {Decider.RULES: "the rules", Decider.MODEL: "a model"}


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One occurrence of a group: its note, its words and its time alone.

    `apart`: it cannot be at the time of the occurrence that is shown. `own`: it is that one.
    """

    uid: str
    mention: str
    note: Part | None
    sentence: Sentence | None
    says: Moment
    shown: Moment
    apart: bool
    own: bool


@dataclass(frozen=True, slots=True)
class LinkLine:
    """A link of the occurrence, or one that was undone.

    `mine`: the person may undo it. `undone_by` is empty while it counts.
    """

    public_id: str
    uid: str
    mention: str
    reason: str
    by: str
    mine: bool
    undone_by: str = ""
    undone_reason: str = ""


@dataclass(frozen=True)
class Sources:
    """The note of an occurrence, and the same event in other notes."""

    note: Part | None = None
    lines: tuple[SourceLine, ...] = ()
    links: tuple[LinkLine, ...] = ()
    undone: tuple[LinkLine, ...] = ()

    @property
    def conflicts(self) -> list[SourceLine]:
        return [line for line in self.lines if line.apart]

    def find_origin(self, context: Iterable[str]) -> SourceLine | None:
        """Return the source whose time an entry has, by the context of it."""
        first = next(iter(context), "")
        return next((x for x in self.lines if x.uid == first and not x.apart), None)


def load_sources(
    occurrence: Occurrence, chosen: Choice, case_run: int | None, clock: Clock, user: User
) -> Sources:
    """Return the sources of an occurrence of a timeline over a chart.

    `case_run` is that of the run which made the timeline, or the one that was corrected.
    """
    chart = occurrence.inventory.note
    parts = load_note_parts(chart.pk, clock)
    groups = load_groups(occurrence.inventory_id)
    group = groups.get(occurrence.uid4, ())
    links = _load_links(occurrence, user)
    linked = {line.uid for line in links if not line.undone_by}
    undone = {
        line.uid: line for line in links if line.undone_by and line.uid not in (*group, *linked)
    }
    return Sources(
        _part(parts, occurrence.start),
        _load_lines(occurrence, group, parts, chosen, case_run, clock),
        tuple(line for line in links if not line.undone_by),
        tuple(undone.values()),
    )


def _part(parts: Sequence[Part], start: int | None) -> Part | None:
    place = find_place(parts, start)
    return None if place is None else parts[place]


def _load_lines(
    occurrence: Occurrence,
    group: Sequence[str],
    parts: Sequence[Part],
    chosen: Choice,
    case_run: int | None,
    clock: Clock,
) -> tuple[SourceLine, ...]:
    members = Occurrence.objects.filter(inventory=occurrence.inventory_id, uid4__in=group)
    times = dict(
        Entry.objects.filter(timeline=chosen.pk, occurrence__in=members).values_list(
            "occurrence_id", "time"
        )
    )
    alone = {
        entry.occurrence_id: entry.own.time if hasattr(entry, "own") else entry.time
        for entry in Entry.objects.filter(
            timeline__case_run=case_run,
            timeline__case_run__isnull=False,
            timeline__kind=TimelineKind.TEXT_ONLY,
            occurrence__in=members,
        ).select_related("own")
    }
    text, here = occurrence.inventory.note.text, times.get(occurrence.pk)
    return tuple(
        SourceLine(
            uid=o.uid4,
            mention=o.mention,
            note=_part(parts, o.start),
            sentence=None if o.start is None else find_sentence(text, o.start, o.end or 0),
            says=clock.read(alone.get(o.pk)),
            shown=clock.read(times.get(o.pk)),
            apart=times.get(o.pk) != here,
            own=o == occurrence,
        )
        for o in members.order_by("ordinal")
    )


def _load_links(occurrence: Occurrence, user: User) -> list[LinkLine]:
    """Return the links of an occurrence, oldest first."""
    found = OccurrenceLink.objects.filter(Q(first=occurrence) | Q(second=occurrence))
    admin = user_can_manage_study(user, occurrence.inventory.encounter.dataset.study)
    rows = found.select_related("first", "second", "author", "undone_by__author").order_by("pk")
    return [_link_line(row, occurrence, user, admin) for row in rows]


def _link_line(row: OccurrenceLink, occurrence: Occurrence, user: User, admin: bool) -> LinkLine:
    other = row.second if row.first_id == occurrence.pk else row.first
    undone = getattr(row, "undone_by", None)
    return LinkLine(
        row.public_id,
        other.uid4,
        other.mention,
        row.reason,
        row.author.get_username() if row.author else _BY[Decider(row.decided_by)],
        admin or row.author_id in (None, user.pk),
        undone.author.get_username() if undone else "",
        undone.reason if undone else "",
    )
