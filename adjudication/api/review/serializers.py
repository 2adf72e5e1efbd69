"""Bodies of the blinded review. What a reviewer may see of an item is `visibility.BlindedItem`;
nothing here adds to it.
"""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from adjudication.blinding.visibility import Question
from adjudication.models import Assignment, Decision, Packet
from adjudication.review.decisions import GUESSES, LONGEST_COMMENT, LONGEST_REASON
from adjudication.review.slots import LONGEST_DRAFT

Body = serializers.Serializer[Any]
#: A request names as many items as somebody can have in hand.
MOST_IN_HAND = 50
LONGEST_ACTIVE = 86_400.0
ONE_TOKEN = r"\A[0-9A-Za-z_-]{1,64}\Z"


class HoursField(serializers.FloatField):
    """A number that a float can hold."""

    def to_internal_value(self, data: Any) -> float:
        """Raises ValidationError, for booleans too."""
        if isinstance(data, bool):
            self.fail("invalid")
        try:
            return super().to_internal_value(data)
        except OverflowError:
            self.fail("invalid")


class ProgressSerializer(Body):
    """How far you are. `seconds_left` at your own pace, null before anything was decided."""

    done = serializers.IntegerField()
    total = serializers.IntegerField()
    skipped = serializers.IntegerField()
    flagged = serializers.IntegerField()
    seconds_left = serializers.FloatField(allow_null=True)


class ReviewSerializer(Body):
    """Your place in a packet."""

    id = serializers.CharField()
    study = serializers.CharField()
    packet = serializers.CharField(help_text="Public id of the packet.")
    label = serializers.CharField()  # type: ignore[assignment]  # the framework's fields have a label of their own
    role = serializers.ChoiceField(Assignment.Role.choices)
    state = serializers.ChoiceField(Packet.State.choices, help_text="Of the packet.")
    practised = serializers.BooleanField(help_text="Items come after the practice round.")
    signed_at = serializers.DateTimeField(allow_null=True)
    progress = ProgressSerializer()


class ReviewRowSerializer(Body):
    """A row of a timeline; whole hours from admission, null for no time."""

    event = serializers.CharField()
    hours = serializers.IntegerField(allow_null=True)
    candidate = serializers.BooleanField(help_text="Whether this is the row that is asked about.")


class ReviewSideSerializer(Body):
    """One side. `row` is null where this timeline does not hold the event."""

    row = ReviewRowSerializer(allow_null=True)
    timeline = ReviewRowSerializer(many=True)


class RecordRowSerializer(Body):
    """A row of the structured record; hours from admission."""

    hours = serializers.FloatField(allow_null=True)
    value = serializers.CharField()
    unit = serializers.CharField()
    time_kind = serializers.CharField()


class ReviewSeriesSerializer(Body):
    """A series of the record. `rows` are those nearest to the candidates; ask for all by its
    number.
    """

    number = serializers.IntegerField()
    event = serializers.CharField()
    summary = serializers.CharField()
    count = serializers.IntegerField()
    rows = RecordRowSerializer(many=True)


class SpanSerializer(Body):
    """A place in the note: code points, end-exclusive."""

    start = serializers.IntegerField()
    end = serializers.IntegerField()


class DraftSerializer(Body):
    """What you have chosen and typed so far, in the labels that you see."""

    answer = serializers.ChoiceField(Decision.Answer.choices, allow_blank=True)
    own_time = serializers.FloatField(allow_null=True)
    comment = serializers.CharField(allow_blank=True)
    active_seconds = serializers.FloatField()


class ReviewItemSerializer(Body):
    """One item as you see it. Which timeline is A is drawn for you alone, and stays so."""

    id = serializers.CharField()
    question = serializers.ChoiceField([(q.value, q.words) for q in Question])
    a = ReviewSideSerializer()
    b = ReviewSideSerializer()
    note = serializers.CharField()
    spans = SpanSerializer(many=True)
    series = ReviewSeriesSerializer(many=True)
    stay_hours = serializers.IntegerField(allow_null=True)
    admitted_at = serializers.CharField(
        allow_null=True, help_text="Hour zero by the record's own clock, which has no zone."
    )
    draft = DraftSerializer()
    flagged = serializers.BooleanField()
    decision = serializers.CharField(
        allow_null=True,
        help_text="Public id of your current decision; an amendment expects it.",
    )


class NextSerializer(Body):
    """The item that is now yours; null where none is left for you."""

    item = ReviewItemSerializer(allow_null=True)
    progress = ProgressSerializer()


class NextRequestSerializer(Body):
    """`besides`: items that you have in hand already."""

    besides = serializers.ListField(
        child=serializers.CharField(max_length=20),
        max_length=MOST_IN_HAND,
        required=False,
        default=list,
    )


class DraftRequestSerializer(Body):
    """What to keep; A and B as you see them."""

    answer = serializers.ChoiceField(
        Decision.Answer.choices, required=False, allow_blank=True, default=""
    )
    own_time = HoursField(
        required=False, allow_null=True, default=None, help_text="Hours from admission."
    )
    comment = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        trim_whitespace=False,
        max_length=LONGEST_DRAFT,
    )
    active_seconds = HoursField(required=False, default=0.0, min_value=0, max_value=LONGEST_ACTIVE)


class DecideRequestSerializer(Body):
    """Your answer. `token` is made by you for this answer alone: sent again after a lost
    connection, it is stored once.
    """

    token = serializers.RegexField(ONE_TOKEN, trim_whitespace=False)
    answer = serializers.ChoiceField(Decision.Answer.choices, help_text="A and B as you see them.")
    own_time = HoursField(
        required=False,
        allow_null=True,
        default=None,
        help_text="The time you would give, hours from admission.",
    )
    comment = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        trim_whitespace=False,
        max_length=LONGEST_COMMENT,
    )
    flagged = serializers.BooleanField(required=False, default=False)
    active_seconds = HoursField(required=False, default=0.0, min_value=0, max_value=LONGEST_ACTIVE)


class AmendRequestSerializer(DecideRequestSerializer):
    """Another answer that replaces the current decision."""

    expects = serializers.CharField(
        max_length=20, help_text="Public id of the decision that it replaces."
    )


class TokenRequestSerializer(Body):
    """A step that needs nothing but its token."""

    token = serializers.RegexField(ONE_TOKEN, trim_whitespace=False)


class FlagRequestSerializer(Body):
    """Whether the item is marked for a second look."""

    flagged = serializers.BooleanField()


class DecidedSerializer(Body):
    """What was stored."""

    decision = serializers.CharField()
    progress = ProgressSerializer()


class HeldSerializer(Body):
    """`held`: whether the item is still yours. The draft is stored either way."""

    held = serializers.BooleanField()


class RowsSerializer(Body):
    """All rows of a series, in order of time."""

    rows = RecordRowSerializer(many=True)


class AnswerSerializer(Body):
    """One of your current answers. `judge` and `upheld` are null unless the packet reveals them."""

    item = serializers.CharField()
    decision = serializers.CharField()
    answer = serializers.ChoiceField(Decision.Answer.choices)
    own_time = serializers.FloatField(allow_null=True)
    comment = serializers.CharField(allow_blank=True)
    flagged = serializers.BooleanField()
    amended = serializers.BooleanField()
    a = ReviewRowSerializer(allow_null=True)
    b = ReviewRowSerializer(allow_null=True)
    judge = serializers.ChoiceField(Decision.Answer.choices, allow_null=True)
    upheld = serializers.BooleanField(allow_null=True)


class GuessSerializer(Body):
    """A question of the blinding check: which side comes from a clinician?"""

    item = serializers.CharField()
    a = ReviewRowSerializer(allow_null=True)
    b = ReviewRowSerializer(allow_null=True)
    guess = serializers.ChoiceField([(g, g) for g in GUESSES], allow_blank=True)


class GuessRequestSerializer(Body):
    """Your guess on one of the asked items, in the labels that you see."""

    token = serializers.RegexField(ONE_TOKEN, trim_whitespace=False)
    item = serializers.CharField(max_length=20)
    guess = serializers.ChoiceField([(g, g) for g in GUESSES])


class SignRequestSerializer(Body):
    """Signing asks for the password again, however you authenticated."""

    password = serializers.CharField(
        trim_whitespace=False, max_length=4096, style={"input_type": "password"}, write_only=True
    )


class UnsignRequestSerializer(Body):
    """Why the signature is taken back."""

    reason = serializers.CharField(max_length=LONGEST_REASON)


class ReceiptSerializer(Body):
    """The receipt of a signature. `head` is the hash of the chain that it covers, `hash` its own."""

    packet = serializers.CharField()
    review = serializers.CharField()
    signed_by = serializers.CharField()
    signed_at = serializers.DateTimeField()
    decided = serializers.IntegerField()
    sequence = serializers.IntegerField()
    head = serializers.CharField()
    hash = serializers.CharField()


class PracticeLineSerializer(Body):
    """A case of the practice round."""

    number = serializers.IntegerField()
    answered = serializers.BooleanField()


class PracticeCaseSerializer(Body):
    """A made-up case, like an item."""

    number = serializers.IntegerField()
    question = serializers.ChoiceField([(q.value, q.words) for q in Question])
    a = ReviewSideSerializer()
    b = ReviewSideSerializer()
    note = serializers.CharField()
    spans = SpanSerializer(many=True)
    series = ReviewSeriesSerializer(many=True)


class PracticeRequestSerializer(Body):
    """Your answer to a made-up case."""

    answer = serializers.ChoiceField(Decision.Answer.choices)


class PracticeAnswerSerializer(Body):
    """Which answer is right, and why."""

    right = serializers.BooleanField()
    answer = serializers.ChoiceField(Decision.Answer.choices)
    explanation = serializers.CharField()
