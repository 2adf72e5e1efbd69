"""The parts of addresses.

They are strict: an address with anything else in it gives 404 before any query.
"""

from __future__ import annotations

from django.urls import register_converter

from accounts.ids import ALPHABET, PUBLIC_ID_LENGTH


class TextConverter:
    """What matches the pattern, as it is."""

    regex = ""

    def to_python(self, value: str) -> str:
        """Return the text of the address."""
        return value

    def to_url(self, value: str) -> str:
        """Return the text for the address."""
        return value


class PublicIdConverter(TextConverter):
    """A public id (`accounts.ids`)."""

    regex = f"[{ALPHABET}]{{{PUBLIC_ID_LENGTH}}}"


class Uid4Converter(TextConverter):
    """A UID: four lower-case hex digits."""

    regex = "[0-9a-f]{4}"


class NumberConverter:
    """A number that every integer column can compare itself with."""

    regex = "[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        """Return the number of the address."""
        return int(value)

    def to_url(self, value: int) -> str:
        """Return the number for the address."""
        return str(value)


def register_converters() -> None:
    """Register `<public_id:…>`, `<uid4:…>` and `<number:…>`.

    Words such as actions and formats are `<slug:…>`.
    """
    register_converter(PublicIdConverter, "public_id")
    register_converter(Uid4Converter, "uid4")
    register_converter(NumberConverter, "number")
