"""The note and the plot of one timeline of a case.

They are drawn once and reused while nothing in them can change.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.core.cache import cache
from django.utils.html import json_script
from django.utils.safestring import SafeString, mark_safe

from ehr.models import Encounter, Note
from ehr.record.charts import find_note
from ehr.record.clock import clock_of
from timelines.cases.choices import Choice, Choices
from timelines.cases.items import spans_and_items
from timelines.cases.linked import add_notes, links_state
from timelines.cases.moves import load_moves
from timelines.cases.opening import stay
from timelines.cases.pairs import CasePairs
from timelines.cases.story import load_story_lines
from timelines.models import Inventory, StageRun
from timelines.presentation.case_plot import build_axis, payload
from timelines.presentation.note_html import note_html
from timelines.presentation.ribbon import Course, find_course, ribbon
from timelines.presentation.story import StoryLine
from timelines.runs.storage import checked_text

#: Drawings of settled timelines are cached in this process for an hour of use.
KEEP_SECONDS = 3600


@dataclass(frozen=True)
class Drawn:
    """The drawing of one timeline of a case.

    It has the note with its highlights, the data of plot and table, the course of the stay with the
    data of the ribbon, and the lines of the story.
    """

    note: SafeString
    data: SafeString
    count: int
    course: Course
    ribbon: SafeString
    story_lines: tuple[StoryLine, ...]


def shown_note(choice: Choice, encounter: Encounter) -> Note | None:
    """Return the note that the timeline's spans point into.

    Raises NoteChanged if its text no longer has the checksum of its import.
    """
    note = (
        Inventory.objects.select_related("note").get(pk=choice.inventory_id).note
        if choice.inventory_id
        else find_note(encounter)
    )
    if note is not None:
        checked_text(note)
    return note


def drawn(
    encounter: Encounter, choice: Choice, choices: Choices, pairs: CasePairs | None = None
) -> Drawn:
    """Return the note and data of one timeline.

    They are cached once neither the timeline nor what it is compared with can change. With `pairs`
    of an evaluation it is compared with those instead, and not cached.
    """
    if pairs is not None:
        return _draw(encounter, choice, choices, pairs)
    key = lasting_key("case", choice, choices)
    found: Drawn | None = cache.get(key) if key else None
    if found is None:
        found = _draw(encounter, choice, choices)
        if key:
            cache.set(key, found, KEEP_SECONDS)
    return found


def lasting_key(name: str, choice: Choice, choices: Choices) -> str:
    """Return the cache's key for what is drawn of a timeline.

    "" while the timeline, or what it is compared with, can change.
    """
    compared = choices.references[0] if choices.references else None
    lasting = choice.settled and (compared is None or compared.settled) and _is_finished(choice)
    if not lasting:
        return ""
    return f"{name}:{choice.pk}:{compared.pk if compared else 0}{links_state(choice)}"


def _draw(
    encounter: Encounter, choice: Choice, choices: Choices, pairs: CasePairs | None = None
) -> Drawn:
    note = shown_note(choice, encounter)
    spans, items = spans_and_items(choice, choices)
    items = pairs.select(items) if pairs else items
    items, notes = add_notes(items, choice, clock_of(encounter))
    anchor, discharge = stay(encounter)
    status = {i.key: i.status.value for i in items}
    parts = tuple(note.parts.values_list("start", "end")) if note and note.composed else ()
    html = note_html(note.text, spans, status, parts) if note else ""
    data = json_script(payload(items, anchor, discharge, notes), "case-data")
    axis = build_axis(items, discharge)
    course = find_course(load_moves(encounter, anchor), discharge, axis.stay)
    return Drawn(
        mark_safe(html),  # note_html escapes every character of the note
        data,
        len(items),
        course,
        json_script(ribbon(course, axis, anchor), "case-ribbon"),
        load_story_lines(encounter, choice, choices),
    )


def _is_finished(choice: Choice) -> bool:
    """Return whether the run behind a timeline has no unfinished stage.

    Such a stage could still store evidence or alternatives.
    """
    if choice.case_run_id is None:
        return True
    return (
        not StageRun.objects.filter(case_run_id=choice.case_run_id)
        .exclude(state="succeeded")
        .exists()
    )
