"""A timestamp without a time zone: records contain naive local times.

Source: protocol section 1.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models


class NaiveDateTimeField(models.Field):
    """Postgres `timestamp`: a local time without a zone.

    De-identified and local times must never be shifted by a zone.
    """

    description = "Local date and time without a zone"

    def db_type(self, connection: Any) -> str:
        return "timestamp"

    def get_prep_value(self, value: Any) -> datetime | None:
        return self.to_python(super().get_prep_value(value))

    def to_python(self, value: Any) -> datetime | None:
        if value is None or isinstance(value, datetime):
            if isinstance(value, datetime) and value.tzinfo is not None:
                raise ValidationError("a clock time of the record carries no time zone")
            return value
        try:
            return datetime.fromisoformat(value)
        except (TypeError, ValueError) as error:
            raise ValidationError("not an ISO date and time") from error

    def value_to_string(self, obj: models.Model) -> str:
        value: Any = self.value_from_object(obj)
        return "" if value is None else value.isoformat()
