"""Important rows of the record that no occurrence explains.

They are candidates for a person's look, apart from the inventory. A row is explained if the study
timeline has an occurrence that rests on it or on a row of the same episode, or that is of the same
thing and may be of the same time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, QuerySet

from cohorts.attention.important import Kind, find_concerned
from cohorts.facts.choosing import find_timelines
from cohorts.models import RowDismissal
from cohorts.values import Source
from ehr.models import Dataset, Encounter, EventSeries, SourceRow
from timelines.domain import Anchor, Polarity, differs
from timelines.models import Entry


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the record that is of an important kind."""

    row_index: int
    hours: float
    event: str
    value: str
    unit: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Said:
    """An occurrence of the study timeline."""

    uid4: str
    mention: str
    time: float | None
    lower: float | None
    upper: float | None
    rows: frozenset[int]

    def may_be_at(self, hours: float) -> bool:
        """Return whether its time and bounds allow this hour; without a time, any."""
        if self.time is None or not differs(self.time, hours):
            return True
        return None not in (self.lower, self.upper) and self.lower <= hours <= self.upper  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Episode:
    """Rows of one kind, close in time, that no occurrence explains.

    `nearest`: the occurrence that is closest in time, if one has a time.
    """

    rows: tuple[Row, ...]
    nearest: Said | None

    @property
    def first(self) -> Row:
        return self.rows[0]


def find_stays(dataset: Dataset, closed: Collection[int]) -> QuerySet[Encounter]:
    """Return the open stays with series that may have important rows."""
    names = EventSeries.objects.filter(encounter__dataset=dataset).order_by()
    events = list(find_concerned(names.values_list("event", flat=True).distinct()))
    series = EventSeries.objects.filter(encounter=OuterRef("pk"), event__in=events)
    timelines = find_timelines(dataset, Source.RECORD).filter(encounter=OuterRef("pk"))
    found = Encounter.objects.filter(Exists(series), Exists(timelines), dataset=dataset)
    return found.exclude(pk__in=list(closed)).order_by("case_id", "pk")


def find_unexplained(
    dataset: Dataset, encounters: Sequence[Encounter]
) -> dict[int, tuple[Episode, ...]]:
    """Return the episodes of each stay, in order of time; stays without one are left out.

    Four queries. Dismissed rows are left out with their episode.
    """
    keys = [encounter.pk for encounter in encounters]
    said = _load_said(dataset, keys)
    dismissed = set(
        RowDismissal.objects.filter(encounter__in=keys).values_list("encounter", "row_index")
    )
    found = {}
    for encounter, rows in _load_rows(dataset, encounters).items():
        episodes = [
            Episode(episode, _nearest(episode[0], said[encounter]))
            for episode in split_episodes(rows)
            if not any((encounter, row.row_index) in dismissed for row in episode)
            and not is_explained(episode, said[encounter])
        ]
        if episodes:
            found[encounter] = tuple(sorted(episodes, key=lambda e: e.first.hours))
    return found


def split_episodes(rows: Sequence[Row]) -> Iterator[tuple[Row, ...]]:
    """Yield the rows of each kind in runs without a gap longer than the kind's."""
    by_kind: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.hours, row.row_index)):
        by_kind[row.kind.name].append(row)
    for of_kind in by_kind.values():
        episode: list[Row] = []
        for row in of_kind:
            if episode and row.hours - episode[-1].hours > row.kind.gap:
                yield tuple(episode)
                episode = []
            episode.append(row)
        yield tuple(episode)


def is_explained(episode: Sequence[Row], said: Sequence[Said]) -> bool:
    """Return whether an occurrence rests on the episode or says it."""
    indices = {row.row_index for row in episode}
    kind = episode[0].kind
    return any(
        not indices.isdisjoint(one.rows)
        or (kind.explains(one.mention) and any(one.may_be_at(row.hours) for row in episode))
        for one in said
    )


def _nearest(row: Row, said: Sequence[Said]) -> Said | None:
    placed = [one for one in said if one.time is not None]
    return min(placed, key=lambda one: abs((one.time or 0.0) - row.hours), default=None)


def _load_rows(dataset: Dataset, encounters: Sequence[Encounter]) -> dict[int, list[Row]]:
    keys = [encounter.pk for encounter in encounters]
    names = EventSeries.objects.filter(encounter__in=keys).order_by()
    concerned = find_concerned(names.values_list("event", flat=True).distinct())
    anchors = {encounter.pk: Anchor(encounter.admitted_at) for encounter in encounters}
    rows = SourceRow.objects.filter(
        dataset=dataset, encounter__in=keys, event__in=list(concerned), time__isnull=False
    ).order_by("encounter", "time", "row_index")
    found: dict[int, list[Row]] = defaultdict(list)
    for encounter, index, time, event, value, number, unit in rows.values_list(
        "encounter_id", "row_index", "time", "event", "value", "numeric_value", "unit"
    ):
        assert time is not None
        found[encounter] += [
            Row(index, anchors[encounter].hours(time), event, value, unit, kind)
            for kind in concerned[event]
            if kind.includes(value, number, unit)
        ]
    return found


def _load_said(dataset: Dataset, encounters: Sequence[int]) -> dict[int, list[Said]]:
    timelines = find_timelines(dataset, Source.RECORD).filter(encounter__in=encounters)
    entries = Entry.objects.filter(
        timeline__in=list(timelines.values_list("pk", flat=True)),
        occurrence__polarity=Polarity.PRESENT.value,
    ).order_by("occurrence__ordinal")
    found: dict[int, list[Said]] = defaultdict(list)
    for encounter, uid4, mention, time, lower, upper, rows in entries.values_list(
        "timeline__encounter_id",
        "occurrence__uid4",
        "occurrence__mention",
        "time",
        "lower",
        "upper",
        "adopted_rows",
    ):
        found[encounter].append(Said(uid4, mention, time, lower, upper, frozenset(rows)))
    return found
