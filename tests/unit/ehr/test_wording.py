from datetime import datetime

import pytest

from ehr.wording import clock_words, hospital_day, hours_words


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        (0.0, "0 h"),
        (6.5, "+6.5 h"),
        (-0.5, "−0.5 h"),
        (47.9, "+47.9 h"),
        (-76.0, "−3 d 4 h"),
        (72.0, "+3 d"),
        (-2160.0, "−3 mo"),
        (-87600.0, "−10 y"),
    ],
)
def test_hours_are_said_as_a_person_would(hours, words):
    assert hours_words(hours) == words


def test_hospital_days_count_calendar_days():
    admitted = datetime(2129, 4, 5, 22, 56)
    assert hospital_day(admitted, datetime(2129, 4, 5, 23, 0)) == 1
    assert hospital_day(admitted, datetime(2129, 4, 6, 0, 1)) == 2
    assert hospital_day(admitted, datetime(2129, 4, 4, 23, 0)) is None


def test_clock_words():
    admitted = datetime(2129, 4, 5, 22, 56)
    assert clock_words(admitted, datetime(2129, 4, 6, 5, 26)) == "HD 2, 05:26"
    assert clock_words(admitted, datetime(2129, 4, 1, 8, 0)) == "2129-04-01 08:00"
