"""Studies and the audit trail in the API."""

from __future__ import annotations

from rest_framework.serializers import (
    CharField,
    ChoiceField,
    DateTimeField,
    DictField,
    IntegerField,
    ListField,
)

from accounts.api_access.bodies import NextPage
from accounts.api_access.operations import Body
from accounts.models import Role


class Study(Body):
    """A study, and your roles in it."""

    id = CharField(source="study.public_id")
    name = CharField(source="study.name")
    created_at = DateTimeField(source="study.created_at")
    roles = ListField(child=ChoiceField(Role.choices))


class Member(Body):
    """A person of a study."""

    person = CharField(source="person.public_id")
    username = CharField(source="person.get_username")
    roles = ListField(child=ChoiceField(Role.choices))


class StudyDetail(Study):
    """A study with its members; null for those who do not manage it."""

    members = Member(many=True, allow_null=True)


class AuditEvent(Body):
    """Who did what, with ids and counts and never text of patients."""

    at = DateTimeField()
    person = CharField(allow_null=True, source="actor.public_id", default=None)
    username = CharField(allow_null=True, source="actor.get_username", default=None)
    action = CharField()
    object_type = CharField(allow_blank=True)
    object_id = CharField(allow_blank=True)
    detail = DictField(
        allow_null=True,
        help_text="Null while a case is closed to you: the counts would show something of it.",
    )


class AuditPage(NextPage):
    """A page of the audit trail."""

    count = IntegerField(
        allow_null=True, help_text="Number of all events; null after the first page."
    )
    results = AuditEvent(many=True)
