"""Read the lines from which the story of a timeline is built."""

from __future__ import annotations

from collections.abc import Sequence

from ehr.models import Encounter, SourceRow
from ehr.record.clock import clock_of
from timelines.cases.choices import Choice, Choices
from timelines.cases.linked import load_heads
from timelines.cases.pins import pinned_uids
from timelines.domain import Lane, Polarity, TimelineKind
from timelines.models import Entry
from timelines.presentation.story import Cited, Story, StoryLine, build_story

_FIELDS = (
    "occurrence_id",
    "occurrence__uid4",
    "occurrence__mention",
    "occurrence__lane",
    "occurrence__polarity",
    "time",
    "known",
    "adopted_rows",
)


def load_story(encounter: Encounter, choice: Choice, lines: Sequence[StoryLine]) -> Story:
    """Return the story with the current pins, in one query."""
    return build_story(lines, clock_of(encounter), pins=pinned_uids(choice.inventory_id))


def load_story_lines(
    encounter: Encounter, choice: Choice, choices: Choices
) -> tuple[StoryLine, ...]:
    """Return the lines of a timeline's story, in three queries.

    A timeline without an inventory has no story: its lines have no kinds.
    """
    if choice.inventory_id is None:
        return ()
    entries = list(
        Entry.objects.filter(timeline_id=choice.pk, occurrence__isnull=False)
        .order_by("occurrence__ordinal")
        .values_list(*_FIELDS)
    )
    rows = _rows(encounter, {index for entry in entries for index in entry[-1]})
    group = choices.find_group(choice)
    text = group.text_only if group and choice.kind is TimelineKind.REVISED else None
    read = _text_times(text)
    heads = load_heads(choice, {entry[1]: entry[5] for entry in entries})
    return tuple(
        StoryLine(
            uid=uid,
            mention=mention,
            lane=Lane(lane),
            polarity=Polarity(polarity),
            time=time,
            known=known,
            text=read.get(pk, (None, None))[0],
            text_known=read.get(pk, (None, None))[1],
            revised=pk in read,
            cited=tuple(rows[index] for index in cited if index in rows),
            event=heads.get(uid, uid),
        )
        for pk, uid, mention, lane, polarity, time, known, cited in entries
    )


def _rows(encounter: Encounter, indices: set[int]) -> dict[int, Cited]:
    found = SourceRow.objects.filter(
        dataset_id=encounter.dataset_id, encounter_id=encounter.pk, row_index__in=indices
    )
    return {index: Cited(index, event) for index, event in found.values_list("row_index", "event")}


def _text_times(choice: Choice | None) -> dict[int | None, tuple[float | None, bool | None]]:
    if choice is None:
        return {}
    read = Entry.objects.filter(timeline_id=choice.pk, occurrence__isnull=False)
    return {
        pk: (time, known) for pk, time, known in read.values_list("occurrence_id", "time", "known")
    }
