"""The grammar of time expressions and amounts, by values by hand."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.backbones.rules.timing.phrases.daypart import find_part
from timelines.backbones.rules.timing.phrases.expressions import find_expressions
from timelines.backbones.rules.timing.phrases.manner import Manner
from timelines.backbones.rules.timing.phrases.quantities import parse_quantity
from timelines.backbones.rules.timing.phrases.terms import Anchoring, Basis, Kind


@pytest.mark.parametrize(
    ("words", "hours", "low", "high"),
    [
        ("three days", 72, 60, 84),
        ("a few hours", 3, 2, 5),
        ("several days", 96, 72, 192),
        ("a couple of weeks", 336, 252, 504),
        ("half an hour", 0.5, 0.25, 0.75),
        ("three quarters of an hour", 0.75, 0.375, 1.125),
        ("an hour and a half", 1.5, 1.25, 1.75),
        ("an hour or two", 1.5, 1, 2),
        ("2-3 wks", 420, 336, 504),
        ("two to three days", 60, 48, 72),
        ("~2 h", 2, 1.4, 2.8),
        ("twenty-one days", 504, 492, 516),
        ("at least ten years", 87600, 87600, None),
        ("1 month", 720, 360, 1080),
        ("x", None, None, None),
        ("three widgets", None, None, None),
    ],
)
def test_amounts(words: str, hours: float | None, low: float | None, high: float | None) -> None:
    quantity = parse_quantity(words)
    if hours is None:
        assert quantity is None
        return
    assert quantity is not None
    assert quantity.hours == pytest.approx(hours)
    assert quantity.low == pytest.approx(low)
    assert quantity.high == (None if high is None else pytest.approx(high))


@pytest.mark.parametrize(
    ("modifier", "base", "point"),
    [
        ("", "morning", 8.0),
        ("mid", "AM", 9.75),
        ("late", "afternoon", 17.0),
        ("", "overnight", 26.0),
        ("just after", "midnight", 24.4),
        ("just before", "noon", 11.7),
        ("before", "dawn", 5.0),
        ("early", "day", 3.5),
    ],
)
def test_parts_of_the_day(modifier: str, base: str, point: float) -> None:
    part = find_part(modifier, base)
    assert part is not None
    assert part.point == pytest.approx(point)
    assert part.low <= part.point <= part.high


@pytest.mark.parametrize(
    ("text", "basis", "number", "point"),
    [
        ("late morning HD#2", Basis.HOSPITAL, 2, 11.0),
        ("hospital day 3", Basis.HOSPITAL, 3, None),
        ("on the evening of POD 1", Basis.POSTOP, 1, 19.5),
        ("on postoperative day (POD) 4", Basis.POSTOP, 4, None),
        ("MICU day 2", Basis.UNIT, 2, None),
        ("late HD3 afternoon", Basis.HOSPITAL, 3, 17.0),
        ("early HD6", Basis.HOSPITAL, 6, 3.5),
        ("at 0315 on HD2", Basis.HOSPITAL, 2, 3.25),
        ("at about two in the morning of POD 1", Basis.POSTOP, 1, 2.0),
        ("shortly before six that morning, POD 2", Basis.POSTOP, 2, 5.8),
        ("the next day", Basis.CURRENT, 1, None),
        ("the evening before", Basis.CURRENT, -1, 19.5),
        ("the morning of presentation", Basis.EVENT, 0, 8.0),
        ("on 3/14", Basis.DATE, 14, None),
        ("[**3-14**]", Basis.DATE, 14, None),
        ("March 14, 2150", Basis.DATE, 14, None),
        ("on Tuesday", Basis.WEEKDAY, 1, None),
        ("14 March 2150", Basis.DATE, 14, None),
        ("14-MAR-2150 0810", Basis.DATE, 14, 8 + 1 / 6),
        ("14-MAR 2100", Basis.DATE, 14, 21.0),
        ("on the morning of the 14th", Basis.DATE, 14, 8.0),
        ("on the last morning", Basis.EVENT, 0, 8.0),
        ("the morning after the puncture", Basis.EVENT, 1, 8.0),
        ("the evening after the puncture", Basis.EVENT, 0, 19.5),
        ("on the first post-procedure day", Basis.POSTOP, 1, None),
        ("at a quarter past six on HD2", Basis.HOSPITAL, 2, 6.25),
        ("a few minutes before six that evening, HD2", Basis.HOSPITAL, 2, 17 + 55 / 60),
    ],
)
def test_named_days(text: str, basis: Basis, number: int, point: float | None) -> None:
    (expression,) = find_expressions(text)
    assert expression.kind is Kind.POINT
    assert expression.day is not None
    assert (expression.day.basis, expression.day.number) == (basis, number)
    assert (expression.part.point if expression.part else None) == (
        None if point is None else pytest.approx(point)
    )


@pytest.mark.parametrize(
    ("text", "anchoring", "direction", "hours", "reference"),
    [
        ("two weeks prior to admission", Anchoring.ADMISSION, -1, 336, ""),
        ("4 days PTA", Anchoring.ADMISSION, -1, 96, ""),
        ("6 yrs ago", Anchoring.ADMISSION, -1, 52560, ""),
        ("two hours later", Anchoring.CURSOR, 1, 2, ""),
        ("within the hour", Anchoring.CURSOR, 1, 0.7, ""),
        ("an hour after intubation", Anchoring.REFERENCE, 1, 1, "intubation"),
        ("~90 min before diuretic", Anchoring.REFERENCE, -1, 1.5, "diuretic"),
        ("half an hour before he was extubated", Anchoring.REFERENCE, -1, 0.5, "he was extubated"),
    ],
)
def test_offsets(
    text: str, anchoring: Anchoring, direction: int, hours: float, reference: str
) -> None:
    (expression,) = find_expressions(text)
    assert expression.kind is Kind.OFFSET
    assert expression.quantity is not None
    assert expression.quantity.hours == pytest.approx(hours)
    assert (expression.anchoring, expression.direction, expression.reference) == (
        anchoring,
        direction,
        reference,
    )


@pytest.mark.parametrize(
    "text",
    [
        "3-day history of",
        "for the past six months",
        "x5 d",
        "of eight years' standing",
        "4 nights of cough",
    ],
)
def test_spans(text: str) -> None:
    assert [e.kind for e in find_expressions(text)] == [Kind.SPAN]


@pytest.mark.parametrize(
    "text",
    [
        "BP 120/80, strength 5/5",
        "59 year old man",
        "I am well",
        "K 4.1, Cr 2.5",
        "NS at 125 cc/h",
        "HR in the 80s",
        "___",
        "PCWP 12 and 18",
        "Tylenol q6h prn",
    ],
)
def test_what_is_no_time(text: str) -> None:
    assert find_expressions(text) == []


def test_age_in_childhood() -> None:
    (expression,) = find_expressions("in childhood")
    assert expression.age == (4.0, 14.0)
    for words in ("at the age of nineteen", "since age 19", "started smoking at nineteen"):
        (nineteen,) = find_expressions(words)
        assert nineteen.age == (19, 20)
    (twenties,) = find_expressions("since his 20s")
    assert twenties.age == (20.0, 30.0)


@given(st.text(max_size=200))
def test_any_text_is_searched_without_overlap(text: str) -> None:
    found = find_expressions(text)
    for one, two in itertools.pairwise(found):
        assert one.end <= two.start
    assert all(0 <= e.start < e.end <= len(text) for e in found)


_TIME_WORDS = (
    "HD2 HD#5-6 POD 1 the next morning overnight midnight before after two hours later 3 days ago at 0315 6 pm noon half an hour "
    "within on arrival to MICU in childhood since 2015 3/14 [**3-14**] Friday , . ; ( ) -> and that evening of admission"
)
_WORDS = st.sampled_from(_TIME_WORDS.split())


@given(st.lists(_WORDS, max_size=14).map(" ".join))
def test_any_mixture_of_time_words_is_searched_without_overlap(text: str) -> None:
    found = find_expressions(text)
    for one, two in itertools.pairwise(found):
        assert one.end <= two.start
    for e in found:
        assert text[e.start : e.end].strip() == e.text
        if e.part is not None:
            assert e.part.low <= e.part.point <= e.part.high
        if e.quantity is not None:
            assert e.quantity.low <= e.quantity.hours


@pytest.mark.parametrize(
    ("text", "year", "month"),
    [
        ("in 2139", 2139, None),
        ("(2145)", 2145, None),
        ("last November", None, 11),
        ("in the spring of 2109", 2109, 4),
        ("since March 2149", 2149, 3),
    ],
)
def test_years_months_and_seasons(text: str, year: int | None, month: int | None) -> None:
    (expression,) = find_expressions(text)
    assert expression.kind is Kind.YEAR
    assert (expression.year, expression.month) == (year, month)


@pytest.mark.parametrize(
    "text",
    [
        "the 9th rib",
        "every morning",
        "after two doses",
        "at four centimeters",
        "ferritin 2139",
        "she may march",
        "in the fall he broke a wrist",
        "1100 mL",
        "through the 5th metatarsal",
    ],
)
def test_numbers_that_are_not_times(text: str) -> None:
    manner = Manner(is_year=lambda year: True, plain_clocks=True)
    assert [e for e in find_expressions(text, manner) if e.kind in (Kind.POINT, Kind.YEAR)] == []


def test_the_habit_of_a_note_decides_about_short_clock_times() -> None:
    (full,) = find_expressions("8:22")
    (half,) = find_expressions("8:22", Manner(full_day=False))
    assert not full.ambiguous_clock
    assert half.ambiguous_clock
    assert find_expressions("vancomycin 2130") == []
    assert len(find_expressions("vancomycin 2130", Manner(plain_clocks=True))) == 1
