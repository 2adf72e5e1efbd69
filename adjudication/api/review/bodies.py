"""The blinded review in the API.

A reviewer may see `visibility.BlindedItem` of an item; these bodies add nothing to it. Each class
is the one definition of its body, and OpenAPI describes it from there.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateField,
    DateTimeField,
    FloatField,
    IntegerField,
    ListField,
    RegexField,
)

from accounts.api_access.operations import Body, make_choices
from adjudication.blinding.visibility import Question
from adjudication.judging.input import whole_hours
from adjudication.models import Assignment, Decision, Packet
from adjudication.review.decisions import GUESSES, LONGEST_COMMENT, LONGEST_REASON
from adjudication.review.search_steps import CHOICES
from adjudication.review.searches import LONGEST_WORDS
from adjudication.review.slots import LONGEST_ACTIVE, LONGEST_DRAFT, MOST_IN_HAND

#: The largest number of a row that a body may name.
MOST_ROWS = 100_000


class HoursField(FloatField):
    """A number that a float can hold."""

    def to_internal_value(self, data: Any) -> float:
        """Read a number; raise ValidationError, for booleans too."""
        if isinstance(data, bool):
            self.fail("invalid")
        try:
            return super().to_internal_value(data)
        except OverflowError:
            self.fail("invalid")


class WholeHoursField(IntegerField):
    """Whole hours: decimals would reveal which side has them from the record."""

    def to_representation(self, value: Any) -> int:
        hours = whole_hours(value)
        assert hours is not None  # the framework writes null itself
        return hours


class MinuteField(CharField):
    """A time of the record's own clock, to the minute."""

    def to_representation(self, value: Any) -> str:
        """Return ISO 8601 with its offset."""
        assert isinstance(value, datetime)
        return value.isoformat(timespec="minutes")


class CommentField(CharField):
    """A typed comment, with its white space unchanged."""

    def __init__(self, max_length: int) -> None:
        super().__init__(allow_blank=True, default="", trim_whitespace=False, max_length=max_length)


class Progress(Body):
    """Your progress.

    `seconds_left` is at your own pace, null until one of your decisions was timed.
    """

    done = IntegerField()
    total = IntegerField()
    skipped = IntegerField()
    flagged = IntegerField()
    seconds_left = FloatField(allow_null=True)


class Review(Body):
    """Your place in a packet."""

    id = CharField(source="assignment.public_id")
    study = CharField(source="assignment.packet.study.public_id")
    packet = CharField(source="assignment.packet.public_id", help_text="Public id of the packet.")
    label = CharField(source="assignment.packet.label")  # type: ignore[assignment]  # the framework's fields have a label of their own
    role = ChoiceField(Assignment.Role.choices, source="assignment.role")
    state = ChoiceField(
        Packet.State.choices, source="assignment.packet.state", help_text="Of the packet."
    )
    due_on = DateField(
        allow_null=True,
        source="assignment.packet.due_on",
        help_text="The day by which the review is due.",
    )
    practised = BooleanField(
        source="assignment.practised", help_text="Items come after the practice round."
    )
    signed_at = DateTimeField(allow_null=True, source="assignment.signed_at")
    progress = Progress()


class ReviewRow(Body):
    """A row of a timeline in words of the note, with a coarse time."""

    event = CharField()
    when = CharField()


class ReviewSide(Body):
    """One side. `row` is null if this timeline does not have the event."""

    row = ReviewRow(allow_null=True)
    alone = ReviewRow(
        many=True, help_text="At the place of a question about one row: another row of this side."
    )


class ReviewTimelines(Body):
    """Both whole timelines, in the form of an item's rows."""

    a = ReviewRow(many=True)
    b = ReviewRow(many=True)


class RecordRow(Body):
    """A row of the structured record; hours from admission."""

    hours = FloatField(allow_null=True)
    value = CharField()
    unit = CharField()
    time_kind = CharField()


class ReviewSeries(Body):
    """A series of the record.

    `rows` are those nearest to the candidates; request all by its `number`.
    """

    number = IntegerField()
    event = CharField()
    summary = CharField()
    count = IntegerField()
    rows = RecordRow(many=True)


class Span(Body):
    """A place in the note: code points, end-exclusive."""

    start = IntegerField()
    end = IntegerField()

    def to_representation(self, instance: tuple[int, int]) -> dict[str, int]:
        return super().to_representation(dict(zip(self.fields, instance, strict=True)))


class Draft(Body):
    """What you have chosen and typed so far, in the labels that you see."""

    answer = ChoiceField(Decision.Answer.choices, allow_blank=True)
    own_time = FloatField(allow_null=True)
    comment = CharField(allow_blank=True)
    active_seconds = FloatField()


class ItemId(Body):
    """The item's public id."""

    id = CharField(source="item.item")


class Blinded(Body):
    """What may be seen of an item or a practice case."""

    question = ChoiceField([(q.value, q.words) for q in Question], source="item.question")
    a = ReviewSide(source="item.left")
    b = ReviewSide(source="item.right")
    near = ReviewRow(
        many=True, source="item.near", help_text="Rows near it that both timelines have."
    )
    note = CharField(source="item.note")
    spans = Span(many=True, source="item.spans")
    series = ReviewSeries(many=True, source="item.series")


class ReviewItem(ItemId, Blinded):
    """One item as you see it. Which timeline is A is drawn for you, once."""

    stay_hours = WholeHoursField(allow_null=True, source="item.stay_hours")
    admitted_at = MinuteField(
        allow_null=True,
        source="item.admitted_at",
        help_text="Hour zero by the record's own clock, which has no zone.",
    )
    draft = Draft()
    flagged = BooleanField()
    decision = CharField(
        allow_null=True,
        source="decision.public_id",
        help_text="Public id of your current decision; an amendment expects it.",
    )


class Next(Body):
    """The item that you now have; null if none is left for you."""

    item = ReviewItem(allow_null=True)
    progress = Progress()


class NextRequest(Body):
    """`besides`: items that you have already."""

    besides = ListField(
        child=CharField(max_length=20),
        max_length=MOST_IN_HAND,
        default=list,
    )


class DraftRequest(Body):
    """What to store; A and B as you see them."""

    answer = ChoiceField(Decision.Answer.choices, allow_blank=True, default="")
    own_time = HoursField(allow_null=True, default=None, help_text="Hours from admission.")
    comment = CommentField(LONGEST_DRAFT)
    active_seconds = HoursField(default=0.0, min_value=0, max_value=LONGEST_ACTIVE)


class TokenRequest(Body):
    """A step with nothing but its token."""

    token = RegexField(r"\A[0-9A-Za-z_-]{1,64}\Z", trim_whitespace=False)


class DecideRequest(TokenRequest):
    """Your answer.

    Make a new `token` for each answer. If you send it again after a lost connection, it is stored
    once.
    """

    answer = ChoiceField(Decision.Answer.choices, help_text="A and B as you see them.")
    own_time = HoursField(
        allow_null=True,
        default=None,
        help_text="The time you would give, hours from admission.",
    )
    comment = CommentField(LONGEST_COMMENT)
    flagged = BooleanField(default=False)
    active_seconds = HoursField(default=0.0, min_value=0, max_value=LONGEST_ACTIVE)


class AmendRequest(DecideRequest):
    """Another answer that replaces the current decision."""

    expects = CharField(max_length=20, help_text="Public id of the replaced decision.")


class FlagRequest(Body):
    """Whether the item is marked for a second look."""

    flagged = BooleanField()


class Decided(Body):
    """The stored decision."""

    decision = CharField()
    progress = Progress()


class Held(Body):
    """`assigned`: whether you still have the item. The draft is stored."""

    assigned = BooleanField()


class Rows(Body):
    """All rows of a series, in order of time."""

    rows = RecordRow(many=True)


class Answer(Body):
    """One of your current answers.

    `judge` and `upheld` are null unless the packet reveals them.
    """

    item = CharField()
    decision = CharField(source="decision.public_id")
    answer = ChoiceField(Decision.Answer.choices, source="chosen")
    own_time = FloatField(allow_null=True, source="decision.own_time")
    comment = CharField(allow_blank=True)
    flagged = BooleanField()
    amended = BooleanField()
    a = ReviewRow(allow_null=True)
    b = ReviewRow(allow_null=True)
    judge = ChoiceField(Decision.Answer.choices, allow_null=True, source="judged")
    upheld = BooleanField(allow_null=True)


class Guess(Body):
    """A question of the blinding check: which side comes from a clinician?"""

    item = CharField()
    a = ReviewRow(allow_null=True)
    b = ReviewRow(allow_null=True)
    guess = ChoiceField(make_choices(GUESSES), allow_blank=True)


class GuessRequest(TokenRequest):
    """Your guess on one of the asked items, in the labels that you see."""

    item = CharField(max_length=20)
    guess = ChoiceField(make_choices(GUESSES))


class ReviewSearch(Body):
    """A pair of timelines in which you look for differences before your items."""

    id = CharField(source="public_id")
    submitted_at = DateTimeField(
        allow_null=True, source="submission.at", help_text="Null until it is submitted."
    )


class SearchRow(Body):
    """A row of a searched timeline, in words of the note and coarse times."""

    number = IntegerField(help_text="From 1; differences name it.")
    event = CharField()
    when = CharField()


class ListedDifference(Body):
    """A listed difference."""

    kind = ChoiceField(CHOICES, source="name")
    a = IntegerField(allow_null=True, source="a.number", help_text="Row of A.")
    b = IntegerField(allow_null=True, source="b.number", help_text="Row of B.")
    time = FloatField(allow_null=True, help_text="Your own time, in hours from admission.")
    words = CharField(help_text="Your own; empty once the search is submitted.")


class ReviewSearchDetail(Body):
    """Both timelines of a search in the blinded form, and your list."""

    id = CharField(source="search.public_id")
    submitted_at = DateTimeField(allow_null=True, source="search.submission.at")
    note = CharField()
    a = SearchRow(many=True)
    b = SearchRow(many=True)
    listed = ListedDifference(many=True)


class NewDifference(Body):
    """A difference between the two timelines."""

    kind = ChoiceField(CHOICES)
    a = IntegerField(default=None, allow_null=True, min_value=1, max_value=MOST_ROWS)
    b = IntegerField(default=None, allow_null=True, min_value=1, max_value=MOST_ROWS)
    time = HoursField(default=None, allow_null=True, help_text="In hours from admission.")
    words = CharField(default="", allow_blank=True, max_length=LONGEST_WORDS)


class SignRequest(Body):
    """Signing asks for the password again, however you authenticated."""

    password = CharField(
        trim_whitespace=False, max_length=4096, style={"input_type": "password"}, write_only=True
    )


class UnsignRequest(Body):
    """The reason for withdrawing the signature."""

    reason = CharField(max_length=LONGEST_REASON)


class Receipt(Body):
    """The receipt of a signature.

    `head` is the hash of the chain that it covers, `hash` its own.
    """

    packet = CharField(source="assignment.packet.public_id")
    review = CharField(source="assignment.public_id")
    signed_by = CharField(source="assignment.person.get_username")
    signed_at = DateTimeField(source="at")
    decided = IntegerField(source="detail.decided")
    sequence = IntegerField()
    head = CharField(source="detail.head")
    hash = CharField()


class Number(Body):
    """The number of a practice case."""

    number = IntegerField()


class PracticeLine(Number):
    """A case of the practice round."""

    answered = BooleanField()


class PracticeCase(Number, Blinded):
    """A made-up case, like an item."""


class PracticeRequest(Body):
    """Your answer to a made-up case."""

    answer = ChoiceField(Decision.Answer.choices)


class PracticeAnswer(Body):
    """Which answer is right, and why."""

    right = BooleanField()
    answer = ChoiceField(Decision.Answer.choices)
    explanation = CharField()
