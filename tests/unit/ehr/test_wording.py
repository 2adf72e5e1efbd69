"""The words for hours, clocks and events of the record.

Clock times are worked out by hand from an admission at 14:38 on 24 February.
"""

from __future__ import annotations

from datetime import datetime

import pytest

from ehr.presentation import wording
from ehr.schema import TimeKind

ADMITTED = datetime(2131, 2, 24, 14, 38)


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (None, "not placed"),
        (0.0, "0 h"),
        (0.004, "0 h"),
        (0.5, "+30 min"),
        (-0.25, "−15 min"),
        (0.999, "+1 h"),
        (6.5, "+6.5 h"),
        (-24.0, "−24 h"),
        (47.94, "+47.9 h"),
        (47.96, "+2 d"),
        (-76.0, "−3 d 4 h"),
        (168.0, "+7 d"),
        (335.6, "+14 d"),
        (-720.0, "−30 d"),
        (-8640.0, "−360 d"),
        (-8760.0, "−1 y"),
        (-13140.0, "−1.5 y"),
        (-17520.0, "−2 y"),
        (-87600.0, "−10 y"),
        (-306600.0, "−35 y"),
    ],
)
def test_hours_are_said_in_the_unit_a_person_would_use(hours, said):
    assert wording.hours_words(hours) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-0.3, "0.0 s"),
        (0.44, "0.4 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (125.0, "2 min 5 s"),
        (3600.0, "1 h 0 min"),
        (7499.0, "2 h 4 min"),
    ],
)
def test_durations_are_said_to_a_useful_precision(seconds, said):
    assert wording.duration_words(seconds) == said


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (datetime(2131, 2, 24, 14, 38), "HD 1 · 14:38"),
        (datetime(2131, 2, 24, 21, 7, 40), "HD 1 · 21:08"),
        (datetime(2131, 2, 25, 0, 1), "HD 2 · 00:01"),
        (datetime(2131, 2, 24, 23, 59, 45), "HD 2 · 00:00"),
        (datetime(2131, 2, 24, 10, 0), "24 Feb, 10:00"),
        (datetime(2131, 2, 21, 10, 38), "21 Feb, 10:38"),
        (datetime(2131, 2, 10, 14, 38), "10 Feb, 14:38"),
        (datetime(2131, 2, 10, 14, 37), "2131-02-10 14:37"),
        (datetime(2121, 2, 24, 8, 0), "2121-02-24 08:00"),
    ],
)
def test_the_clock_is_a_hospital_day_from_admission_on_and_a_date_before(when, said):
    assert wording.clock_words(ADMITTED, when) == said


@pytest.mark.parametrize(
    ("event", "said", "name"),
    [
        ("med:andexanet alfa:start", "med andexanet alfa started", "andexanet alfa started"),
        ("order:vancomycin:stop", "order vancomycin stopped", "vancomycin stopped"),
        ("lab:lactate:blood", "lab lactate (blood)", "lactate (blood)"),
        ("chart:heart rate:", "chart heart rate", "heart rate"),
        (
            "micro:blood culture:blood",
            "microbiology blood culture (blood)",
            "blood culture (blood)",
        ),
        ("icu:medical icu:in", "icu medical icu in", "medical icu in"),
        ("admission:emergency:", "admission emergency", "emergency"),
        ("no category", "no category", "no category"),
        ("<b>:x", "<b> x", "x"),
    ],
)
def test_an_event_name_reads_as_a_phrase(event, said, name):
    assert wording.event_words(event) == said
    assert wording.name_words(event) == name


def test_a_value_carries_its_unit():
    assert wording.value_words("4.1", "mmol/L") == "4.1 mmol/L"
    assert wording.value_words("", "mmol/L") == ""


def test_every_time_kind_has_words():
    assert set(wording.TIME_KIND_WORDS) == {kind.value for kind in TimeKind}
    assert all(
        wording.time_kind_words(kind.value).endswith(("time", "kind", "performed"))
        for kind in TimeKind
    )
    assert wording.time_kind_words("something new") == "something new"
