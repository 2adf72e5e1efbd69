"""Which occurrences of two notes are one event, by the rules.

Each row is a sentence of two notes with the span that is tagged, and the hours that each note
alone allows. The reason of a refusal names what the notes contradict.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from timelines.backbones.rules.linking.linker import RuleLinker
from timelines.backbones.rules.linking.sameness import Mentioned, compare
from timelines.backbones.rules.querying.reading import read_note
from timelines.domain import Entry, Inventory, NotePart, Occurrence, Polarity, TaggedNote, Timeline
from timelines.pipeline.linking.values import Pair

PRESENT, ABSENT, PLANNED = Polarity.PRESENT, Polarity.ABSENT, Polarity.PLANNED
Said = tuple[str, str]
Hours = tuple[float | None, float | None]


def chart(first: Said, second: Said, polarities: tuple[Polarity, Polarity]) -> TaggedNote:
    """Two notes; each is a sentence and the words in it that are tagged."""
    text = f"{first[0]}\n\n{second[0]}\n"
    at = len(first[0]) + 2
    starts = text.index(first[1]), text.index(second[1], at)
    occurrences = tuple(
        Occurrence(f"000{n}", n, words, start, start + len(words), polarity)
        for n, ((_, words), start, polarity) in enumerate(
            zip((first, second), starts, polarities, strict=True)
        )
    )
    parts = (
        NotePart(0, at - 2, "progress note", 30.0),
        NotePart(at, len(text), "discharge summary", 96.0),
    )
    return TaggedNote(text, Inventory(occurrences), parts)


def entry(uid: str, hours: Hours) -> Entry:
    lower, upper = hours
    time = None if lower is None or upper is None else (lower + upper) / 2
    return Entry(uid, time, lower, upper)


def verdict(
    first: Said,
    second: Said,
    hours: tuple[Hours, Hours] = ((10.0, 14.0), (0.0, 24.0)),
    polarities: tuple[Polarity, Polarity] = (PRESENT, PRESENT),
    similarity: float = 0.6,
):
    note = chart(first, second, polarities)
    one, other = (
        Mentioned(reading, entry(uid, span))
        for (uid, reading), span in zip(read_note(note).items(), hours, strict=True)
    )
    return compare(one, other, similarity)


SAME = {
    "the same drug begun": (
        ("Vancomycin was started last evening.", "Vancomycin was started"),
        ("He was started on vancomycin on day 1.", "started on vancomycin"),
        "same drug (vancomycin), begun",
    ),
    "one note has the dose": (
        ("Vancomycin 1 g was given.", "Vancomycin 1 g was given"),
        ("He received vancomycin.", "received vancomycin"),
        "same drug (vancomycin), begun",
    ),
    "grams and milligrams": (
        ("Vancomycin 1 g was given.", "Vancomycin 1 g was given"),
        ("He received vancomycin 1000 mg.", "received vancomycin 1000 mg"),
        "same value",
    ),
    "the same value": (
        ("WBC 15.2 this morning.", "WBC 15.2"),
        ("Labs showed a white blood cell count of 15.2.", "white blood cell count of 15.2"),
        "same measurement (white cells), same value",
    ),
    "a rounded value": (
        ("Creatinine 1.84 at noon.", "Creatinine 1.84"),
        ("Creatinine was 1.8.", "Creatinine was 1.8"),
        "same measurement (creatinine), same value",
    ),
    "a pressure": (
        ("BP 88/51 at four.", "BP 88/51"),
        ("Blood pressure of 88/51 was noted.", "Blood pressure of 88/51"),
        "same measurement (blood pressure), same value",
    ),
    "a study by another verb": (
        ("He underwent a head CT.", "underwent a head CT"),
        ("A CT of the head was obtained.", "CT of the head"),
        "same procedure (ct)",
    ),
    "the same device placed": (
        ("Right IJ central line was placed.", "Right IJ central line was placed"),
        ("A right internal jugular line was inserted.", "right internal jugular line was inserted"),
        "same procedure (central line), begun",
    ),
    "the removal of a device": (
        ("Foley removed this morning.", "Foley removed"),
        ("The Foley catheter was removed.", "Foley catheter was removed"),
        "same procedure (foley), ended",
    ),
    "a finding that one note describes more": (
        ("Large right pleural effusion.", "Large right pleural effusion"),
        ("There was a pleural effusion.", "pleural effusion"),
        "same words (effusion, pleural)",
    ),
    "a complaint": (
        ("Two days of cough.", "Two days of cough"),
        ("He presented with cough for two days.", "cough for two days"),
        "same words (cough)",
    ),
    "the same denial": (
        ("Denies chest pain.", "chest pain"),
        ("He had no chest pain.", "chest pain"),
        "same words (chest, pain)",
    ),
}


@pytest.mark.parametrize(("first", "second", "reason"), SAME.values(), ids=SAME)
def test_one_event_is_recognised(first: Said, second: Said, reason: str) -> None:
    denied = "chest pain" in first[1]
    found = verdict(first, second, polarities=(ABSENT, ABSENT) if denied else (PRESENT, PRESENT))
    assert found.same, found.reason
    assert reason in found.reason


VANCOMYCIN = ("Vancomycin was started last evening.", "Vancomycin was started")
TEMPERATURE = ("Temperature 38.9 this morning.", "Temperature 38.9")
DIFFERENT = {
    "the same drug begun and stopped": (
        VANCOMYCIN,
        ("Vancomycin was stopped.", "Vancomycin was stopped"),
        "different acts",
    ),
    "the same drug ordered and given": (
        VANCOMYCIN,
        ("Vancomycin was ordered.", "Vancomycin was ordered"),
        "different acts",
    ),
    "a device placed and removed": (
        ("Foley placed in the ED.", "Foley placed"),
        ("Foley removed.", "Foley removed"),
        "different acts",
    ),
    "a device placed and there": (
        ("Foley placed in the ED.", "Foley placed"),
        ("Foley in situ.", "Foley in situ"),
        "different acts",
    ),
    "two drugs": (
        VANCOMYCIN,
        ("Cefepime was started.", "Cefepime was started"),
        "vancomycin and cefepime",
    ),
    "two doses": (
        ("Vancomycin 1 g was given.", "Vancomycin 1 g was given"),
        ("Vancomycin 750 mg was given.", "Vancomycin 750 mg was given"),
        "different values",
    ),
    "neighbouring values": (
        ("Hemoglobin 9.3 at noon.", "Hemoglobin 9.3"),
        ("Hemoglobin was 9.4.", "Hemoglobin was 9.4"),
        "different values",
    ),
    "two values": (
        TEMPERATURE,
        ("Temperature 37.2 that day.", "Temperature 37.2"),
        "different values",
    ),
    "a value and none": (
        TEMPERATURE,
        ("Temperature was taken.", "Temperature was taken"),
        "without its value",
    ),
    "left and right": (
        ("Left pleural effusion.", "Left pleural effusion"),
        ("Right pleural effusion.", "Right pleural effusion"),
        "“Left” and “Right”",
    ),
    "one side and both": (
        ("Right pleural effusion.", "Right pleural effusion"),
        ("Bilateral pleural effusions.", "Bilateral pleural effusions"),
        "“Bilateral” and “Right”",
    ),
    "an upper and a lower lobe": (
        ("Upper lobe consolidation.", "Upper lobe consolidation"),
        ("Lower lobe consolidation.", "Lower lobe consolidation"),
        "“Upper” and “Lower”",
    ),
    "two regions": (
        ("Head CT was done.", "Head CT was done"),
        ("Chest CT was done.", "Chest CT was done"),
        "different regions",
    ),
    "a repetition": (
        ("Head CT was done.", "Head CT was done"),
        ("Repeat head CT was done.", "Repeat head CT was done"),
        "repetition",
    ),
    "opposite conditions of one measurement": (
        ("Hyperkalemia.", "Hyperkalemia"),
        ("Hypokalemia.", "Hypokalemia"),
        "different words",
    ),
    "a condition and a value": (
        ("Hyperkalemia.", "Hyperkalemia"),
        ("Potassium 6.1.", "Potassium 6.1"),
        "one names a thing of the record",
    ),
    "two pains": (
        ("Chest pain.", "Chest pain"),
        ("Leg pain.", "Leg pain"),
        "different regions",
    ),
    "improved and worse": (
        ("Mental status improved.", "Mental status improved"),
        ("Mental status worsened.", "Mental status worsened"),
        "“improved” and “worsened”",
    ),
}


@pytest.mark.parametrize(("first", "second", "reason"), DIFFERENT.values(), ids=DIFFERENT)
def test_two_events_are_two(first: Said, second: Said, reason: str) -> None:
    for one, other in ((first, second), (second, first)):
        found = verdict(one, other)
        assert not found.same, found.reason
    assert reason in verdict(first, second).reason


@pytest.mark.parametrize("other", [PLANNED, ABSENT])
def test_what_was_done_is_not_what_is_planned_or_denied(other: Polarity) -> None:
    said = ("Vancomycin was started.", "Vancomycin was started")
    found = verdict(said, said, polarities=(PRESENT, other))
    assert (found.same, found.reason) == (False, f"one is present, the other {other.value}")


def test_what_one_note_plans_is_not_what_the_other_reports_by_any_words() -> None:
    scope = ("Endoscopy this afternoon.", "Endoscopy")
    done = ("Upper endoscopy on day 2.", "Upper endoscopy")
    note = chart(scope, done, (PRESENT, PRESENT))
    planned, reported = (
        Mentioned(reading, replace(entry(uid, (13.0, 13.0)), decided_by=rule))
        for (uid, reading), rule in zip(read_note(note).items(), ("plan", "day"), strict=True)
    )
    found = compare(planned, reported, 0.9)
    assert (found.same, found.reason) == (False, "one is a plan, the other is not")
    assert compare(reported, reported, 0.9).same


@pytest.mark.parametrize(
    ("hours", "reason"),
    [
        (((10.0, 14.0), (34.0, 38.0)), "the times exclude each other"),
        (((34.0, 38.0), (10.0, 14.0)), "the times exclude each other"),
        (((10.0, 14.0), (None, 8.0)), "the times exclude each other"),
        (((10.0, 14.0), (None, None)), "a note gives no time"),
        (((10.0, 14.0), (14.0, 20.0)), "the times exclude each other"),
        (((10.0, 14.0), (13.0, 20.0)), "the times exclude each other"),
        (((10.0, 14.0), (12.0, 20.0)), ""),
        (((0.0, 24.0), (20.0, 44.0)), ""),
        (((0.0, 24.0), (22.0, 46.0)), "the times exclude each other"),
        (((14.0, 14.0), (14.0, 20.0)), ""),
        (((10.0, 14.0), (12.0, None)), ""),
    ],
)
def test_the_same_value_on_another_day_is_another_event(
    hours: tuple[Hours, Hours], reason: str
) -> None:
    found = verdict(TEMPERATURE, TEMPERATURE, hours)
    assert found.same is (not reason)
    assert reason in found.reason


def test_other_words_need_a_high_similarity_and_a_common_word() -> None:
    first = ("Confused overnight.", "Confused overnight")
    second = ("Confused and disoriented.", "Confused and disoriented")
    assert not verdict(first, second, similarity=0.7).same
    assert verdict(first, second, similarity=0.9).same
    assert not verdict(first, ("Disoriented.", "Disoriented"), similarity=0.95).same


def test_a_link_is_stronger_by_its_value_and_nearer_times() -> None:
    note = chart(TEMPERATURE, TEMPERATURE, (PRESENT, PRESENT))
    pair = Pair("0000", "0001", 0.8)

    def strength(second: Hours) -> float:
        entries = entry("0000", (10.0, 14.0)), entry("0001", second)
        (link,) = RuleLinker().find_links(note, Timeline(entries), [pair])
        return link.strength

    assert strength((10.0, 14.0)) == pytest.approx(0.8 + 0.5)
    assert strength((10.0, 38.0)) == pytest.approx(0.8 + 0.5 - 0.25)
    assert strength((10.0, None)) == pytest.approx(0.8 + 0.5 - 0.5)
