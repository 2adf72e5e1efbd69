"""Bodies that several parts of the API of cohorts share."""

from __future__ import annotations

from rest_framework.serializers import (
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    IntegerField,
    ListField,
)

from accounts.api_access.operations import Body
from jobs.models import JobState


class VersionName(Body):
    """A version of a concept."""

    id = CharField(source="concept.public_id", help_text="Of the concept.")
    name = CharField(source="concept.name")
    number = IntegerField()


class Job(Body):
    """Something that a worker does."""

    id = CharField(source="public_id")
    state = ChoiceField(JobState.choices)
    progress = DictField(help_text="`done` and `total`, `words`; empty before it runs.")
    reasons = ListField(child=CharField(), help_text="Why attempts failed.")
    created_at = DateTimeField()
    created_by = CharField(allow_null=True, source="created_by.get_username", default=None)
