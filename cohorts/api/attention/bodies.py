"""Where a person's look is needed, in the API."""

from __future__ import annotations

from rest_framework.serializers import (
    CharField,
    ChoiceField,
    DateTimeField,
    FloatField,
    IntegerField,
)

from accounts.api_access.bodies import Page
from accounts.api_access.operations import Body, make_choices
from cohorts.attention.values import Reason
from jobs.models import JobState

REASONS = make_choices(Reason)


class AttentionReason(Body):
    """Why to look at a place."""

    why = ChoiceField(REASONS)
    words = CharField()
    weight = IntegerField()
    target = CharField(allow_blank=True, help_text="Id of the finding or the window's result.")


class AttentionItem(Body):
    """An occurrence, or with an empty `uid` a stay."""

    number = IntegerField(help_text="Names the place in addresses until the next ranking.")
    case = CharField()
    case_id = CharField()
    title = CharField(allow_blank=True)
    uid = CharField(allow_blank=True)
    mention = CharField(allow_blank=True)
    score = FloatField()
    reasons = AttentionReason(many=True)


class AttentionPage(Page):
    """Places by score; the first would change most."""

    ranked_at = DateTimeField(allow_null=True, help_text="When the list was made; null: never.")
    results = AttentionItem(many=True)


class RankingStart(Body):
    """Which study is ranked."""

    study = CharField(default="", allow_blank=True, max_length=20)


class Ranking(Body):
    """The job that ranks."""

    state = ChoiceField(JobState.choices)


class ImportantRow(Body):
    """A row of the record that is clinically important."""

    row_index = IntegerField()
    hours = FloatField()
    event = CharField()
    value = CharField(allow_blank=True)
    unit = CharField(allow_blank=True)


class NearestOccurrence(Body):
    """The occurrence that is closest in time."""

    uid = CharField(source="uid4")
    mention = CharField()
    hours = FloatField(source="time")


class UnexplainedEpisode(Body):
    """Rows of one kind, close in time, that no occurrence explains."""

    important = CharField(help_text="The kind of rows.")
    why = CharField()
    rows = ImportantRow(many=True)
    nearest = NearestOccurrence(allow_null=True)


class UnexplainedStay(Body):
    """A stay that was searched; most have no episode."""

    case = CharField()
    case_id = CharField()
    title = CharField(allow_blank=True)
    episodes = UnexplainedEpisode(many=True)


class UnexplainedPage(Page):
    """Stays by case id."""

    results = UnexplainedStay(many=True)
