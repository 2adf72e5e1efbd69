"""Corrections and comments of a case in the API."""

from __future__ import annotations

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateTimeField,
    FloatField,
    IntegerField,
    ListField,
)

from accounts.api_access.operations import Body
from timelines.curation.comments import LONGEST_BODY
from timelines.curation.corrections import MOST_ROWS
from timelines.drafts.values import LONGEST_ENTERED, LONGEST_REASON
from timelines.models import Comment as StoredComment
from timelines.models import Correction as StoredCorrection
from timelines.pipeline.linking.values import Decider

ANSWERS = ("time", "not_placed", "not_happened")


class Correction(Body):
    """One row of the log of corrections. Times are hours from admission."""

    id = CharField(source="row.public_id")
    timeline = CharField(source="row.base.public_id", help_text="Public id of the base timeline.")
    uid = CharField(source="row.occurrence.uid4")
    by = CharField(source="row.author.username")
    at = DateTimeField(source="row.at")
    kind = ChoiceField(StoredCorrection.Kind.choices, source="row.kind")
    settles = BooleanField(source="row.settles", help_text="A study admin's decision.")
    chosen = CharField(
        source="row.chosen.public_id",
        default=None,
        allow_null=True,
        help_text="The correction that a settlement chose.",
    )
    undoes = CharField(source="row.undoes.public_id", default=None, allow_null=True)
    time = FloatField(source="row.time", allow_null=True)
    lower = FloatField(source="row.lower", allow_null=True)
    upper = FloatField(source="row.upper", allow_null=True)
    known = BooleanField(source="row.known", help_text="The note states the time.")
    rows = ListField(child=IntegerField(), source="row.rows")
    entered = CharField(source="row.entered", allow_blank=True)
    reason = CharField(source="row.reason", allow_blank=True)
    applied = BooleanField(help_text="The curated timeline has it.")


class Correct(Body):
    """A correction of one time."""

    uid = CharField(max_length=4)
    timeline = CharField(
        required=False, default="", help_text="Public id; by default the one that pages show first."
    )
    kind = ChoiceField(ANSWERS, required=False, default="time")
    entered = CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=LONGEST_ENTERED,
        help_text="The time as typed: +6.5, HD 4 08:00. Empty: the time of the first row.",
    )
    rows = ListField(
        child=IntegerField(min_value=0, max_value=2**31 - 1),
        required=False,
        default=list,
        max_length=MOST_ROWS,
    )
    known = BooleanField(required=False, default=False)
    reason = CharField(required=False, default="", allow_blank=True, max_length=LONGEST_REASON)


class Comment(Body):
    """One row of the comments of a case. A withdrawn one has no words."""

    id = CharField(source="public_id")
    uid = CharField(source="occurrence.uid4", default=None, allow_null=True)
    reply_to = CharField(source="parent.public_id", default=None, allow_null=True)
    by = CharField(source="author.username")
    at = DateTimeField()
    kind = ChoiceField(StoredComment.Kind.choices)
    body = CharField(allow_blank=True)
    mentions = ListField(child=CharField())


class Say(Body):
    """A comment on a case or an occurrence, or a reply."""

    body = CharField(max_length=LONGEST_BODY)
    uid = CharField(required=False, default="", allow_blank=True, max_length=4)
    timeline = CharField(required=False, default="", allow_blank=True)
    reply_to = CharField(
        required=False, default="", allow_blank=True, help_text="Public id of a comment."
    )


class Link(Body):
    """Two occurrences of different notes of a chart that are one event."""

    id = CharField(source="public_id")
    uid = CharField(source="first.uid4")
    mention = CharField(source="first.mention")
    other = CharField(source="second.uid4")
    other_mention = CharField(source="second.mention")
    decided_by = ChoiceField([(decider.value, decider.value) for decider in Decider])
    by = CharField(source="author.username", default=None, allow_null=True)
    at = DateTimeField()
    reason = CharField()
    undone_by = CharField(source="undone_by.author.username", default=None, allow_null=True)
    undone_reason = CharField(
        source="undone_by.reason", default=None, allow_null=True, allow_blank=True
    )


class LinkTwo(Body):
    """Two occurrences that a person links."""

    uid = CharField(max_length=4)
    other = CharField(max_length=4, help_text="UID of an occurrence of another note of the chart.")
    timeline = CharField(
        required=False, default="", help_text="Public id; by default the one that pages show first."
    )
    reason = CharField(required=False, default="", allow_blank=True, max_length=LONGEST_REASON)


class UndoLink(Body):
    """Why a link is wrong."""

    reason = CharField(required=False, default="", allow_blank=True, max_length=LONGEST_REASON)
