"""Values that a text states, and rows that have them; ranges by hand."""

import pytest

from timelines.backbones.rules.revision.conditions import fits_condition
from timelines.backbones.rules.revision.stated import find_equal, stated_values


@pytest.mark.parametrize(
    ("text", "ranges"),
    [
        ("lactate 4.1", [(4.05, 4.15)]),
        ("INR 2", [(1.5, 2.5)]),
        ("systolic in the 80s", [(80, 89.9)]),
        ("systolic in the low 90s", [(90, 93.9)]),
        ("systolic in the high 70s", [(76, 79.9)]),
        ("PTT >150", [(150, float("inf"))]),
        ("SpO2 below 88", [(float("-inf"), 88)]),
        ("RASS -2", [(-2.5, -1.5)]),
        ("platelets 12-18", [(11.5, 12.5), (17.5, 18.5)]),
        ("oxygen at six liters", [(5.5, 6.5)]),
        ("two hours later", []),
        ("strength 3/5", [(2.5, 3.5)]),
        ("CK 5,097", [(5096.5, 5097.5)]),
    ],
)
def test_stated_ranges(text: str, ranges: list[tuple[float, float]]) -> None:
    assert [pytest.approx((s.low, s.high)) for s in stated_values(text)] == ranges


@pytest.mark.parametrize(
    ("text", "value", "unit", "event", "expected"),
    [
        ("temperature 39.4", 103.0, "°F", "chart:temperature fahrenheit:", True),
        ("temperature 103", 39.4, "°C", "chart:temperature celsius:", True),
        ("temperature 103", 39.4, "°C", "chart:heart rate:", False),
        ("weight 71 kg", 156.5, "", "chart:admission weight (lbs.):", True),
        ("1 g of cefepime", 1000.0, "mg", "order:cefepime:start", True),
        ("increased to 0.36", 0.364, "", "med:norepinephrine:start", True),
        ("increased to 0.36", 0.37, "", "med:norepinephrine:start", False),
    ],
)
def test_rows_with_the_value_in_either_unit(
    text: str, value: float, unit: str, event: str, expected: bool
) -> None:
    assert (find_equal(stated_values(text), value, unit, event) is not None) is expected


@pytest.mark.parametrize(
    ("text", "event", "value", "fits"),
    [
        ("hypotension", "chart:non invasive blood pressure systolic:", 82, True),
        ("hypotension", "chart:non invasive blood pressure systolic:", 120, False),
        ("hypotension", "chart:heart rate:", 120, None),
        ("no fever overnight", "chart:temperature fahrenheit:", 98.6, True),
        ("no fever overnight", "chart:temperature fahrenheit:", 102.0, False),
        ("desaturation resolved", "chart:o2 saturation pulseoxymetry:", 96, True),
        ("no eye opening", "chart:gcs - eye opening:", 1, True),
        ("localizes to pain", "chart:gcs - motor response:", 5, True),
        ("localizes to pain", "chart:gcs - motor response:", 6, False),
        ("hyperkalemia", "lab:potassium:blood", 6.1, True),
    ],
)
def test_readings_that_fit_a_condition(
    text: str, event: str, value: float, fits: bool | None
) -> None:
    assert fits_condition(text, event, value) is fits
