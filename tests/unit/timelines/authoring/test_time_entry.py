"""A clinician's typed time, read as hours from admission.

Admission is 2196-02-24 14:38, discharge 2196-02-28 14:38.
"""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehr.presentation.wording import clock_words, hours_words
from timelines.drafts.time_entry import UNDERSTOOD, TimeEntry, TimeNotUnderstood, read_time

ADMITTED = datetime(2196, 2, 24, 14, 38)
DISCHARGED = datetime(2196, 2, 28, 14, 38)
#: 14:38 is 14 h 38 min after midnight: the day of admission began at −14.633333 and ends at
#: +9.366667.
MIDNIGHT = 9.366667

POINTS = [
    ("+6.5", 6.5),
    ("6.5", 6.5),
    ("6.5 h", 6.5),
    ("6,5 h", 6.5),
    (".5 h", 0.5),
    ("6.5hrs", 6.5),
    ("-72", -72),
    ("−72", -72),  # U+2212
    ("– 72", -72),  # en dash
    ("-3 d", -72),
    ("-3d", -72),
    ("- 3 days", -72),
    ("3 days before", -72),
    ("3 days before admission", -72),
    ("3 d prior to presentation", -72),
    ("3 days ago", -72),
    ("3 D BEFORE THE ADMISSION", -72),
    ("-3 d before", -72),
    ("2 weeks before", -336),
    ("1 mo after", 720),
    ("-1.5 y", -13140),
    ("-3 d 4 h", -76),
    ("2 h 30 min", 2.5),
    ("+45 min", 0.75),
    ("45 mins before", -0.75),
    ("0", 0),
    ("-0", 0),
    ("admission", 0),
    ("on admission", 0),
    ("discharge", 96),
    # From 14:38 on the 24th to 08:00 on the 27th: 2 days, 17 hours and 22 minutes.
    ("HD 4 08:00", 65.366667),
    ("HD4 8:00", 65.366667),
    ("HD 4, 8 am", 65.366667),
    ("hospital day 4 at 08:00", 65.366667),
    ("HD 1 14:38", 0),
    ("HD 1 08:00", -6.633333),
    ("HD 2 12 am", MIDNIGHT),
    ("2196-02-24 14:00", -0.633333),
    ("2196-02-24T14:00:30", -0.625),
    ("24 Feb 14:00", -0.633333),
    ("24 Feb, 14:00", -0.633333),
    ("24th February 2196 14:00", -0.633333),
    ("Feb 24 2 pm", -0.633333),
    ("31 Dec 14:38", -55 * 24),
    ("1 Aug 14:38", 159 * 24),
    ("14:00", -0.633333),
    ("2:30 pm", -0.133333),
    ("12 pm", -2.633333),
]
RANGES = [
    ("between -96 and -48", -72, -96, -48),
    ("from -96 to -48", -72, -96, -48),
    ("-96..-48", -72, -96, -48),
    ("-96 … −48", -72, -96, -48),
    ("-4 to -2 d", -72, -96, -48),
    ("between 4 and 2 days before", -72, -96, -48),
    ("HD 4", 69.366667, MIDNIGHT + 48, MIDNIGHT + 72),
    ("HD4", 69.366667, MIDNIGHT + 48, MIDNIGHT + 72),
    ("HD 1", 4.683333, 0, MIDNIGHT),
    ("27 Feb", 69.366667, MIDNIGHT + 48, MIDNIGHT + 72),
    ("2196-02-24", -2.633333, -14.633333, MIDNIGHT),
    ("HD 2 to HD 3", 33.366667, MIDNIGHT, MIDNIGHT + 48),
    ("HD 2 08:00 to HD 2 10:00", 18.366667, 17.366667, 19.366667),
]
NOT_UNDERSTOOD = [
    *(
        "",
        "   ",
        "whenever",
        "3 m before lunch",
        "m",
        "24/02",
        "02-24",
        "1,000 h",
        "HD 0",
        "HD",
        "HD 4 25:00",
        "HD 4 8",
        "HD 4 13 pm",
    ),
    *(
        "30 Feb",
        "2196-13-01",
        "25:00",
        "14:60",
        "--3",
        "+-3",
        "+3 d before",
        "-3 d after",
        "3 d h",
        "between 5 and",
        "5 to 3",
        "between 4 days and 2 days before",
        "+",
        ".",
    ),
    *(
        "not before",
        "not after whenever",
        "~",
        "9" * 101,
        "9" * 90 + " y",
        "١٢٣ d x",
        "2196-02-24 14:00 15:00",
    ),
]


@pytest.mark.parametrize(("text", "hours"), POINTS)
def test_a_point_has_no_bounds_and_does_not_say_that_the_note_states_it(text, hours):
    read = read_time(text, ADMITTED, DISCHARGED)
    assert read.time == pytest.approx(hours, abs=1e-6)
    assert (read.lower, read.upper, read.known) == (None, None, None)


@pytest.mark.parametrize(("text", "time", "lower", "upper"), RANGES)
def test_words_with_an_extent_give_bounds_and_their_middle(text, time, lower, upper):
    read = read_time(text, ADMITTED)
    assert (read.time, read.lower, read.upper) == pytest.approx((time, lower, upper), abs=2e-6)
    assert read.known is None


@pytest.mark.parametrize("text", ["N/A", "n/a", "NA", "unknown", "not placed"])
def test_not_placeable_is_a_decision(text):
    assert read_time(text, ADMITTED) == TimeEntry(None, known=False)


def test_one_bound_without_a_point():
    assert read_time("not before HD 2", ADMITTED) == TimeEntry(None, MIDNIGHT, None, known=False)
    assert read_time("not after -48", ADMITTED) == TimeEntry(None, None, -48, known=False)


@pytest.mark.parametrize("sign", ["~", "~ ", "≈", "about ", "approx. ", "ca. ", "around "])
def test_about_is_inferred(sign):
    assert read_time(f"{sign}-3 d", ADMITTED) == TimeEntry(-72, known=False)


@pytest.mark.parametrize("text", NOT_UNDERSTOOD)
def test_the_rest_is_refused_and_never_quoted(text):
    with pytest.raises(TimeNotUnderstood) as refused:
        read_time(text, ADMITTED)
    assert str(refused.value)
    assert text.strip() not in str(refused.value) or not text.strip() or text in UNDERSTOOD


def test_discharge_needs_one():
    with pytest.raises(TimeNotUnderstood):
        read_time("discharge", ADMITTED)


def test_a_leap_day_is_sought_in_a_leap_year():
    assert read_time("29 Feb", datetime(2197, 2, 28)).time == pytest.approx(-365 * 24 + 12)


@given(st.integers(-60 * 24 * 300, 60 * 24 * 300))
def test_what_the_pages_say_reads_back(minutes):
    """`hours_words` is exact to its smallest unit when it is read back.

    Below 48 h that is a tenth of an hour, then an hour, a day, a tenth of a year.
    """
    hours = minutes / 60
    step = (
        1 / 60
        if abs(hours) < 1
        else 0.1
        if abs(hours) < 48
        else 1
        if abs(hours) < 336
        else 24
        if abs(hours) < 8760
        else 876
    )
    assert read_time(hours_words(hours), ADMITTED).time == pytest.approx(hours, abs=step / 2 + 1e-6)


@given(st.datetimes(datetime(2180, 1, 1), datetime(2210, 1, 1)))
def test_clocks_of_the_pages_read_back_to_the_minute(when):
    hours = (when - ADMITTED).total_seconds() / 3600
    assert read_time(clock_words(ADMITTED, when), ADMITTED).time == pytest.approx(
        hours, abs=0.5 / 60 + 1e-6
    )


@given(st.floats(-50000, 50000), st.floats(-50000, 50000))
def test_ranges_read_back(a, b):
    lower, upper = round(min(a, b), 2), round(max(a, b), 2)
    read = read_time(f"between {lower:.2f} and {upper:.2f}", ADMITTED)
    assert (read.lower, read.upper) == pytest.approx((lower, upper), abs=1e-6)
    assert read.lower <= read.time <= read.upper


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        read = read_time(text, ADMITTED, DISCHARGED)
    except TimeNotUnderstood:
        return
    if read.time is not None:
        assert read.lower is None or read.lower <= read.time
        assert read.upper is None or read.time <= read.upper
