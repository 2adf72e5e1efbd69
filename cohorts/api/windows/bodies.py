"""Windows in the API: criteria, results, members and what decides them."""

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

from accounts.api_access.bodies import Page
from accounts.api_access.operations import Body
from cohorts.api.bodies import Job, VersionName
from cohorts.api.choices import MEMBERSHIP, TIMES
from cohorts.values import Source

LONGEST_YAML = 100_000


class Window(Body):
    """Criteria under a name."""

    id = CharField(source="public_id")
    study = CharField(source="study.public_id")
    name = CharField()
    version = IntegerField(help_text="The newest.")
    created_at = DateTimeField()
    created_by = CharField(allow_null=True, source="created_by.get_username", default=None)


class WindowPage(Page):
    """Windows by study and name."""

    results = Window(many=True)


class WindowVersion(Body):
    """Criteria as they were saved, with the concepts that they use."""

    number = IntegerField()
    yaml = CharField()
    words = CharField(help_text="The criteria in a sentence, or why they cannot be read now.")
    concepts = VersionName(many=True)
    created_at = DateTimeField()
    created_by = CharField(allow_null=True, source="created_by.get_username", default=None)


class WindowDetail(Window):
    """A window with its versions, newest first."""

    versions = WindowVersion(many=True)


class WindowStart(Body):
    """Criteria; their `name` is that of the window."""

    study = CharField(default="", allow_blank=True, max_length=20)
    yaml = CharField(max_length=LONGEST_YAML, trim_whitespace=False)


class WindowEdit(Body):
    """Other criteria for the next version."""

    yaml = CharField(max_length=LONGEST_YAML, trim_whitespace=False)


class AcesStart(Body):
    """A task of ACES (es-aces)."""

    study = CharField(default="", allow_blank=True, max_length=20)
    task = CharField(max_length=LONGEST_YAML, trim_whitespace=False)
    name = CharField(default="Task of ACES", max_length=200)


class AcesWindow(Body):
    """A task as criteria; nothing is stored."""

    yaml = CharField()
    notes = ListField(child=CharField(), help_text="What was left out or assumed.")


class ResultStart(Body):
    """Which dataset is evaluated, and by which two sources of times."""

    dataset = CharField(max_length=20)
    first = ChoiceField(TIMES, default=Source.NOTE.value)
    second = ChoiceField(TIMES, default=Source.RECORD.value)


class WindowResult(Job):
    """One evaluation of a window."""

    window = CharField(source="version.window.public_id")
    version = IntegerField(source="version.number")
    dataset = CharField(source="dataset.public_id")
    first = ChoiceField(TIMES)
    second = ChoiceField(TIMES)
    code_revision = CharField(allow_blank=True)


class WindowResultPage(Page):
    """Results, newest first."""

    results = WindowResult(many=True)


class ResultCell(Body):
    """How many open stays have these two answers.

    Empty: the source has no times of them.
    """

    first = ChoiceField(MEMBERSHIP, allow_blank=True)
    second = ChoiceField(MEMBERSHIP, allow_blank=True)
    count = IntegerField()
    show = CharField(help_text="Lists these members.")


class ResultYes(Body):
    """How many stays are members."""

    first = IntegerField()
    second = IntegerField()


class WindowResultDetail(WindowResult):
    """A result with its counts, over the cases that are open to you."""

    yes = ResultYes(allow_null=True, help_text="Null until it is done.")
    cells = ResultCell(many=True)
    given_up = IntegerField(help_text="Stays that were not decided exactly.")
    before = CharField(allow_null=True, help_text="The result before, of the same question.")
    since = IntegerField(help_text="Stays whose answers differ from `before`.")
    changes = ListField(child=CharField(), help_text="What an update would take into account.")


class EvidenceRow(Body):
    """A row of the record."""

    row_index = IntegerField(source="index")
    event = CharField()
    value = CharField(allow_blank=True)
    hours = FloatField(allow_null=True)


class Evidence(Body):
    """An event that decides.

    Its sentence in the note, and the row that its time rests on.
    """

    concept = CharField()
    words = CharField(allow_blank=True)
    uid = CharField(source="uid4", allow_blank=True)
    sentence = CharField(allow_null=True)
    hours = FloatField(allow_null=True)
    lower = FloatField(allow_null=True)
    upper = FloatField(allow_null=True)
    row = EvidenceRow(allow_null=True)
    gone = BooleanField(help_text="Its timeline no longer exists; the words are stored ones.")


class MemberSide(Body):
    """The answer by one source."""

    member = ChoiceField(MEMBERSHIP, allow_blank=True, help_text="Empty: no times.")
    share = FloatField(allow_null=True, help_text="Of the allowed times that meet the criteria.")
    evidence = Evidence(many=True)


class MemberAnswer(Body):
    """A person's answer, which counts instead."""

    member = ChoiceField(MEMBERSHIP, source="status")
    reason = CharField()
    by = CharField(source="by.get_username")
    at = DateTimeField()


class WindowMember(Body):
    """A stay and whether it is a member."""

    number = IntegerField(help_text="Names the member in addresses.")
    case = CharField()
    case_id = CharField()
    title = CharField(allow_blank=True)
    first = MemberSide()
    second = MemberSide()
    changed = BooleanField(help_text="The two sources differ.")
    was = CharField(allow_blank=True, help_text="What the result before said, if it differs.")
    answer = MemberAnswer(allow_null=True)


class WindowMemberPage(Page):
    """Members by case id."""

    results = WindowMember(many=True)


class MemberAnswerStart(Body):
    """Confirm, override or, with an empty `member`, withdraw."""

    member = ChoiceField(MEMBERSHIP, allow_blank=True)
    reason = CharField(max_length=2000)
