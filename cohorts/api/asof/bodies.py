"""What was known at an hour, in the API.

A stay, reports, exports, leakage checks.
"""

from __future__ import annotations

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DictField,
    FloatField,
    IntegerField,
    ListField,
)

from accounts.api_access.bodies import Page
from accounts.api_access.operations import Body, make_choices
from cohorts.api.bodies import Job, VersionName
from cohorts.api.choices import KNOWN_STATES, OCCURRENCE_TIMES
from cohorts.asof.states import Basis, Doubt
from cohorts.values import Source
from timelines.exports.views import VIEW_FORMATS

#: Characters of features in a request; `manage.py check_leakage` reads larger files.
MOST_FEATURES = 2 * 1024 * 1024


class KnownOccurrence(Body):
    """An occurrence at an hour.

    When it happened, and when it was first documented.
    """

    uid = CharField(source="uid4", allow_blank=True)
    mention = CharField()
    lane = CharField(allow_blank=True)
    known = ChoiceField(KNOWN_STATES, source="state")
    hours = FloatField(allow_null=True)
    lower = FloatField(allow_null=True)
    upper = FloatField(allow_null=True)
    documented = FloatField(allow_null=True, source="documented_hours")
    documented_by = CharField(source="by", help_text="What documented it, in words.")
    row_index = IntegerField(allow_null=True, help_text="The row that documented it.")


class CaseAsOf(Body):
    """A stay as it was known at an hour."""

    case = CharField()
    source = ChoiceField(OCCURRENCE_TIMES)  # type: ignore[assignment]  # the framework's fields have a source of their own
    hour = FloatField()
    end = FloatField(help_text="The last hour worth asking: discharge, at least a day.")
    timeline = CharField(allow_null=True, help_text="Null: the source has none that you may see.")
    next_change = FloatField(allow_null=True, help_text="The next hour at which one changes.")
    counts = DictField(child=IntegerField())
    occurrences = KnownOccurrence(many=True)


class PlacedOccurrence(KnownOccurrence):
    """An occurrence of one of several stays, with its sentence."""

    case = CharField()
    case_id = CharField()
    hour = FloatField(help_text="The hour of the stay.")
    sentence = CharField(allow_null=True)


class PlacedOccurrencePage(Page):
    """Occurrences by stay, in the order of the note."""

    results = PlacedOccurrence(many=True)


class AsOfJob(Job):
    """What a report or a check asks."""

    study = CharField(source="study.public_id")
    dataset = CharField(source="dataset.public_id")
    label = CharField(allow_blank=True)  # type: ignore[assignment]  # and a label
    source = ChoiceField(OCCURRENCE_TIMES)  # type: ignore[assignment]  # as above
    hours = FloatField(allow_null=True, help_text="Null for a check of features.")
    after = VersionName(allow_null=True, help_text="Hours from its first occurrence, or admission.")


class AsOfJobPage(Page):
    """Reports or checks, newest first."""

    results = AsOfJob(many=True)


class KnownCount(Body):
    """Occurrences in one state, and stays that have one."""

    known = ChoiceField(KNOWN_STATES, source="state")
    occurrences = IntegerField()
    stays = IntegerField()


class KnownGroup(Body):
    """The counts of a kind of occurrences or of a concept."""

    of = ChoiceField(make_choices(("lane", "concept")))
    key = CharField(help_text="Names it in `cells`: a lane, or the id of a concept.")
    words = CharField()
    counts = KnownCount(many=True)
    too_early = IntegerField(help_text="Known too early to a reader of the finished note.")


class AsOfReport(AsOfJob):
    """A report with its figures, over all stays of the dataset."""

    stays = IntegerField(allow_null=True, help_text="Stays that have the hour; null until done.")
    without = IntegerField(allow_null=True, help_text="Stays that have not.")
    groups = KnownGroup(many=True)


class LeakageCheck(AsOfReport):
    """A check: of features with `counts`, of a rule with `groups`."""

    features = IntegerField(help_text="How many were brought.")
    counts = DictField(
        child=IntegerField(), help_text="Features by what was known, and `unmatched`."
    )


class Leak(Body):
    """A feature that uses what was not known."""

    line = IntegerField(help_text="Of the file.")
    case = CharField(allow_null=True, help_text="Null if the case was deleted.")
    case_id = CharField(allow_blank=True)
    name = CharField()
    hours = FloatField()
    known = ChoiceField(KNOWN_STATES, source="state", allow_null=True)
    finding = CharField()
    lost = BooleanField(help_text="Occurrences behind it were deleted.")
    used = PlacedOccurrence(many=True)


class LeakPage(Page):
    """Leaks by line."""

    results = Leak(many=True)


class AsOfStart(Body):
    """What a report asks."""

    dataset = CharField(max_length=20)
    source = ChoiceField(OCCURRENCE_TIMES, default=Source.RECORD.value)  # type: ignore[assignment]  # as above
    hours = FloatField()
    after = CharField(default="", allow_blank=True, max_length=20, help_text="Id of a concept.")
    concepts = ListField(child=CharField(max_length=20), default=list, max_length=100)
    label = CharField(default="", allow_blank=True, max_length=200)  # type: ignore[assignment]  # as above


class LeakageStart(Body):
    """Features as CSV, or the hours of a rule."""

    dataset = CharField(max_length=20)
    source = ChoiceField(OCCURRENCE_TIMES, default=Source.RECORD.value)  # type: ignore[assignment]  # as above
    features = CharField(
        default="",
        allow_blank=True,
        max_length=MOST_FEATURES,
        trim_whitespace=False,
        help_text="CSV with the columns case, name, and hours or time.",
    )
    hours = FloatField(allow_null=True, default=None)
    after = CharField(default="", allow_blank=True, max_length=20, help_text="Id of a concept.")
    label = CharField(default="", allow_blank=True, max_length=200)  # type: ignore[assignment]  # as above


class AsOfExportStart(Body):
    """By which policy an export contains what was known."""

    format = ChoiceField(make_choices(VIEW_FORMATS), default="csv")
    basis = ChoiceField(make_choices(Basis), default=Basis.DOCUMENTED.value)
    doubt = ChoiceField(make_choices(Doubt), default=Doubt.DROP.value)
    later_notes = BooleanField(default=False)
    with_note_text = BooleanField(default=False)


class AsOfExport(Body):
    """An export that was started; `exports/` has its progress and its file."""

    export = CharField(source="public_id")
