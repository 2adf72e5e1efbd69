"""Places in lists, as addresses name them."""

from __future__ import annotations

import pytest

from accounts.ids import parse_place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("0", 0),
        ("2", 2),
        ("02", 2),
        ("3", None),
        ("-1", None),
        ("", None),
        ("²", None),
        ("١", None),
    ],
)
def test_a_place_is_within_its_list(text: str, place: int | None) -> None:
    assert parse_place(text, 3) == place


def test_more_digits_than_python_reads_are_no_place() -> None:
    assert parse_place("9" * 5000, 3) is None
    assert parse_place("0", 0) is None
