"""A validator for weak passwords that Django's own validators accept.

Examples: `aaaaaaaaaaaa`, `123123123123`, `qwertyuiopas`.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError

#: Neighbours on a keyboard, along its rows and down its columns.
_ROWS = ("1234567890", "qwertyuiop", "asdfghjkl", "zxcvbnm", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p")


class VariedPasswordValidator:
    """Rejects passwords with too few characters that are hard to predict.

    `least` is the minimum of `varied_characters`.
    """

    def __init__(self, least: int = 10) -> None:
        self.least = least

    def validate(self, password: str, user: Any = None) -> None:
        """Raises ValidationError."""
        if varied_characters(password) < self.least:
            raise ValidationError(
                "This password repeats itself or follows a sequence. Choose one whose characters do"
                " not follow from each other.",
                code="password_not_varied",
            )

    def get_help_text(self) -> str:
        """For the page."""
        return (
            "Your password can’t be a repetition or a sequence, on the keyboard or in the alphabet."
        )


def varied_characters(password: str) -> int:
    """Count the characters that the ones before do not predict.

    A predictable character continues a run (of one character, an alphabet or a keyboard row) or
    repeats a pair. "aaaaaaaaaaaa" has 2, "abcdefabcdef" 3, "qwertyuiopas" 4.
    """
    text = password.casefold()
    seen: set[str] = set()
    count = 0
    for i in range(len(text)):
        pair = text[max(0, i - 1) : i + 1]
        count += pair not in seen and not _is_run(text[max(0, i - 2) : i + 1])
        seen.add(pair)
    return count


def _is_run(three: str) -> bool:
    if len(three) < 3:
        return False
    a, b, c = (ord(letter) for letter in three)
    if b - a == c - b and abs(b - a) <= 1:
        return True
    return any(three in row or three in row[::-1] for row in _ROWS)
