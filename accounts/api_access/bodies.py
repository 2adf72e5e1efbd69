"""Bodies that several parts of the API share."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rest_framework.serializers import CharField, IntegerField, URLField

from accounts.api_access.operations import Body


class LocalTimeField(CharField):
    """A clock time of the record, without a zone."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("help_text", "Local time without a zone, 2150-01-31T09:30:00.")
        super().__init__(**options)

    def to_representation(self, value: object) -> str:
        """Write the time as ISO 8601."""
        assert isinstance(value, datetime)
        return value.isoformat()


class Page(Body):
    """A counted page; `next` and `previous` are addresses."""

    count = IntegerField()
    next = URLField(allow_null=True)
    previous = URLField(allow_null=True)


class NextPage(Body):
    """A page of a list; `next` leads to the following one."""

    next = CharField(
        allow_null=True,
        help_text="Send it as `after` to get the next page; null after the last page.",
    )


class NamedChoice(Body):
    """An object that may be chosen by its public id."""

    id = CharField(source="public_id")
    name = CharField()
