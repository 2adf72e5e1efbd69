"""Several notes of a stay as one chart, timed by the rules.

Admission is Wednesday, 4 March 2150, 22:00. The notes are those of the long note with dated heads
in `test_entries`: whether a note or its file says when it was written, the times are the same.
"""

from __future__ import annotations

from datetime import datetime

import pytest

from tests.unit.timelines.rules.test_entries import CHART, HEADS
from timelines.backbones.rules.querying.reading import read_note
from timelines.backbones.rules.sections.notes import View, find_view, read_sections_of
from timelines.backbones.rules.tagging.tagger import RuleTagger
from timelines.backbones.rules.timing.timer import RuleTimer
from timelines.domain import (
    Anchor,
    Entry,
    InvariantError,
    Inventory,
    NotePart,
    Occurrence,
    Polarity,
    TaggedNote,
)

ANCHOR, DISCHARGE = Anchor(datetime(2150, 3, 4, 22, 0)), 40.0
FIRST, SECOND, THIRD = CHART.format(first="", second="|", third="|").split("|")
SUMMARY = """HISTORY OF PRESENT ILLNESS:
Fever for three days before she came.

HOSPITAL COURSE:
On hospital day 2 the film was repeated. She was discharged home in good condition.
"""
NOTES = (
    ("admission note", 1.5, FIRST),
    ("progress note", 10.17, SECOND),
    ("progress note", 36.0, THIRD),
    ("discharge summary", None, SUMMARY),
)
WORDS = {
    "cough for two days": -48.0,  # the story of the admission note
    "Temperature 38.9": 1.5,  # undated: so when it was written
    "Potassium 3.1": 0.67,
    "Lungs clear": 10.17,
    "Oxygen was stopped": 8.25,
    "a film taken": 1.5,  # the last 23:30 before it was written
    "Warfarin": 10.17,  # a plan is at the hour it was made
    "Physiotherapy": 10.17,
    "Creatinine 1.0": 36.0,
    "Drain out": 36.0,
    "Fever for three days": -72.0,  # the summary does not go on where a progress note ended
    "discharged home": 40.0,
}
PLANS = ("Warfarin", "Physiotherapy")


def chart(later: float = 0.0) -> tuple[str, tuple[NotePart, ...]]:
    text, parts = "", []
    for kind, written, note in NOTES:
        text += f"=== {kind} ===\n\n"
        end = len(text) + len(note)
        parts.append(NotePart(len(text), end, kind, None if written is None else written + later))
        text += f"{note}\n\n"
    return text, tuple(parts)


def times(text: str, parts: tuple[NotePart, ...]) -> dict[str, Entry]:
    spans = sorted((text.index(w), w) for w in WORDS)
    inventory = Inventory(
        tuple(
            Occurrence(
                f"{n:04x}",
                n,
                words,
                at,
                at + len(words),
                Polarity.PLANNED if words in PLANS else Polarity.PRESENT,
            )
            for n, (at, words) in enumerate(spans)
        )
    )
    found = RuleTimer(margins={}).infer(TaggedNote(text, inventory, parts), ANCHOR, DISCHARGE)
    return {words: entry for (_, words), entry in zip(spans, found.entries, strict=True)}


def test_a_note_of_a_chart_is_read_from_when_it_was_written() -> None:
    found = times(*chart())
    for words, hours in WORDS.items():
        assert found[words].time == pytest.approx(hours, abs=0.3), (words, found[words].reason)


def test_the_heads_of_one_long_note_give_the_same_times() -> None:
    note = CHART.format(first=HEADS[1][0], second=HEADS[1][1], third=HEADS[1][2])
    by_chart = times(*chart())
    for words in list(WORDS)[:10]:
        at = note.index(words)
        inventory = Inventory((Occurrence("0a1b", 0, words, at, at + len(words)),))
        alone = RuleTimer(margins={}).infer(TaggedNote(note, inventory), ANCHOR, DISCHARGE)
        assert by_chart[words].time == pytest.approx(alone.entries[0].time, abs=0.3), words


def test_nothing_that_a_note_reports_as_past_may_be_after_it_was_written() -> None:
    text, parts = chart()
    inventory_times = times(text, parts)
    for part in parts[:3]:
        inside = [w for w in WORDS if part.start <= text.index(w) < part.end and w not in PLANS]
        assert inside
        for words in inside:
            entry = inventory_times[words]
            assert part.written is not None
            assert entry.upper is not None
            assert entry.upper <= max(part.written, entry.time or 0.0) + 0.01, words


def test_a_note_written_a_day_later_moves_what_it_dates_by_a_day_and_no_other_note() -> None:
    before, after = times(*chart()), times(*chart(later=24.0))
    for words in ("Temperature 38.9", "Lungs clear", "Oxygen was stopped", "Warfarin"):
        assert after[words].time == pytest.approx((before[words].time or 0.0) + 24.0, abs=0.3), (
            words
        )
    for words in ("Fever for three days", "discharged home"):
        assert after[words].time == before[words].time


def test_a_plan_has_the_hour_of_its_note_not_the_hour_that_it_names() -> None:
    note = "Stable. Plan: bronchoscopy at 08:00.\n"
    (span,) = (s for s in RuleTagger().tag(note) if "bronchoscopy" in note[s.start : s.end])
    assert span.polarity is Polarity.PLANNED
    planned = Occurrence("0a1b", 0, "bronchoscopy", span.start, span.end, span.polarity)
    tagged = TaggedNote(
        note, Inventory((planned,)), (NotePart(0, len(note), "progress note", 20.0),)
    )
    (entry,) = RuleTimer(margins={}).infer(tagged, ANCHOR, DISCHARGE)
    # Written at 18:00: the last 08:00 is ten hours before, the next one after it.
    assert (entry.time, entry.decided_by) == (20.0, "plan")


@pytest.mark.parametrize(
    ("note", "words", "hours"),
    [
        # Written at 08:00 on the day after the admission: 03:00 of that day, and 23:00 before it.
        ("Overnight one more melena at 03:00.", "Overnight one more melena at 03:00", 5.0),
        ("Overnight one more melena at 23:00.", "Overnight one more melena at 23:00", 1.0),
        ("Overnight one more melena.", "Overnight one more melena", 4.0),
    ],
)
def test_a_stated_clock_time_says_more_than_the_night(note: str, words: str, hours: float) -> None:
    inventory = Inventory((Occurrence("0a1b", 0, words, 0, len(words)),))
    tagged = TaggedNote(note, inventory, (NotePart(0, len(note), "progress note", 10.0),))
    (entry,) = RuleTimer(margins={}).infer(tagged, ANCHOR, DISCHARGE)
    assert entry.time == pytest.approx(hours)


def test_a_part_has_characters() -> None:
    with pytest.raises(InvariantError, match="empty or reversed"):
        NotePart(4, 4, "progress note")


PROGRESS = """Progress note, 2 March 2150 07:45

Admission date: 1 March 2150

78 year old woman with melena. Haemoglobin this morning 7.9 g/dL.
Diagnosis: upper GI bleed.
Plan: endoscopy this afternoon.
"""


def mentions(kind: str) -> list[str]:
    return [span.mention for span in RuleTagger().tag(PROGRESS, kind)]


def test_a_progress_note_has_no_sections_of_a_discharge() -> None:
    assert mentions("progress note") == [
        "78 year old",
        "female sex",
        "melena",
        "haemoglobin this morning 7.9 g/dL",
        "upper GI bleed",
        "planned: endoscopy this afternoon",
    ]


def test_the_kind_of_a_note_says_from_where_it_sees_the_stay() -> None:
    views = {kind: find_view(kind) for kind in ("", "Discharge Summary", "ED note", "consult")}
    assert list(views.values()) == [View.END, View.END, View.ARRIVAL, View.DURING]
    own = read_sections_of(PROGRESS, View.DURING)
    assert [s.kind for s in own] == ["header", "other", "other", "transitional"]
    # The head ends with its last field.
    assert PROGRESS[own[1].start :].lstrip().startswith("78 year old")


def test_age_and_sex_of_a_progress_note_are_facts_about_the_patient() -> None:
    words = "78 year old"
    at = PROGRESS.index(words)
    inventory = Inventory((Occurrence("0a1b", 0, words, at, at + len(words)),))
    tagged = TaggedNote(PROGRESS, inventory, (NotePart(0, len(PROGRESS), "progress note", 10.0),))
    (entry,) = RuleTimer(margins={}).infer(tagged, ANCHOR, DISCHARGE)
    assert (entry.time, entry.decided_by) == (0.0, "static")


def test_the_sections_of_a_chart_are_those_of_its_notes() -> None:
    summary = "DISCHARGE DIAGNOSIS:\nUpper GI bleed.\n"
    text = f"{summary}\n{PROGRESS}"
    at = len(summary) + 1
    words = {"Upper GI bleed": "discharge_diagnosis", "Haemoglobin this morning 7.9": "other"}
    occurrences = tuple(
        Occurrence(f"000{n}", n, w, text.index(w), text.index(w) + len(w))
        for n, w in enumerate(words)
    )
    parts = (
        NotePart(0, len(summary), "discharge summary", 90.0),
        NotePart(at, len(text), "progress note", 10.0),
    )
    found = read_note(TaggedNote(text, Inventory(occurrences), parts))
    assert [r.section for r in found.values()] == list(words.values())
    alone = read_note(TaggedNote(text, Inventory(occurrences)))
    assert alone["0001"].section == "discharge_diagnosis"
