"""Bodies of packets, for those who steer them."""

from __future__ import annotations

import secrets
from typing import Any

from rest_framework import serializers

from adjudication.api.judging.serializers import PageSerializer, TableSerializer
from adjudication.api.review.serializers import Body, ProgressSerializer
from adjudication.models import Assignment, Packet
from adjudication.packets.actions import LONGEST_LABEL
from adjudication.packets.forms import LONGEST_LEASE, MOST
from adjudication.sampling.drawing import CASES, QUOTAS, Stratum

STRATA = [(s.value, s.value) for s in Stratum]


class PacketSerializer(Body):
    """A drawn sample of findings for blinded review."""

    id = serializers.CharField()
    study = serializers.CharField()
    judge_run = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the framework's fields have a label of their own
    state = serializers.ChoiceField(Packet.State.choices)
    reveal = serializers.ChoiceField(Packet.Reveal.choices)
    seed = serializers.IntegerField()
    lease_minutes = serializers.IntegerField()
    follows = serializers.CharField(
        allow_null=True, help_text="The earlier packet; this one has only changed findings."
    )
    items = serializers.IntegerField()
    slots = serializers.IntegerField(help_text="Decisions that are due; none before it is opened.")
    decided = serializers.IntegerField()
    people = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    opened_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)


class PairingSerializer(Body):
    """Items of one pairing by stratum."""

    pairing = serializers.CharField()
    strata = serializers.DictField(child=serializers.IntegerField())
    total = serializers.IntegerField()
    reviewers = serializers.IntegerField(help_text="How many decide on each item.")


class ShortageSerializer(Body):
    """A quota that could not be met."""

    pairing = serializers.CharField()
    stratum = serializers.ChoiceField(STRATA)
    wanted = serializers.IntegerField()
    available = serializers.IntegerField()
    redistributed = serializers.IntegerField(help_text="How many other strata gave instead.")


class PersonSerializer(Body):
    """Somebody of the packet."""

    id = serializers.CharField(help_text="Public id of the assignment.")
    person = serializers.CharField()
    username = serializers.CharField()
    role = serializers.ChoiceField(Assignment.Role.choices)
    pairings = serializers.ListField(child=serializers.CharField(), help_text="Empty: all.")
    practised = serializers.BooleanField()
    signed_at = serializers.DateTimeField(allow_null=True)
    withdrawn_at = serializers.DateTimeField(allow_null=True)
    progress = ProgressSerializer()
    late = serializers.IntegerField(help_text="Answers that came too late to count.")
    reasons = serializers.ListField(
        child=serializers.CharField(), help_text="Why they must not decide on this packet."
    )


class PacketDetailSerializer(PacketSerializer):
    """A packet with its items, reviewers and open problems."""

    design = serializers.DictField()
    pairings = PairingSerializer(many=True)
    shortages = ShortageSerializer(many=True)
    assignments = PersonSerializer(many=True)
    obstacles = serializers.ListField(
        child=serializers.CharField(), help_text="Why it cannot be opened now."
    )
    disagreements = serializers.IntegerField(help_text="Items for a third person.")
    settled = serializers.IntegerField(help_text="How many of them are decided.")
    chain_faults = serializers.ListField(
        child=serializers.CharField(), help_text="Where the chain of decisions does not hold."
    )


class PacketPageSerializer(PageSerializer):
    """Packets."""

    results = PacketSerializer(many=True)


class CandidateSerializer(Body):
    """A member of the study who is not in the packet; `reasons` why they may not review it."""

    person = serializers.CharField()
    username = serializers.CharField()
    reasons = serializers.ListField(child=serializers.CharField())


class EligibleSerializer(Body):
    """What of a judge run may be drawn, and what not."""

    judge_run = serializers.CharField()
    pairings = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField()),
        help_text="Pairing → stratum → findings.",
    )
    excluded = serializers.DictField(
        child=serializers.IntegerField(), help_text="Reason → findings."
    )
    cases = serializers.IntegerField(help_text="Cases with a judged game.")
    complete_cases = serializers.IntegerField(help_text="Cases judged in every pairing.")


class QuotasField(serializers.DictField):
    """Stratum → findings from each pairing."""

    child = serializers.IntegerField(min_value=0, max_value=MOST)

    def to_internal_value(self, data: Any) -> dict[str, int]:
        """Strata that are not named have no quota. Raises ValidationError for unknown ones."""
        found: dict[str, int] = super().to_internal_value(data)
        if unknown := sorted(set(found) - set(QUOTAS)):
            raise serializers.ValidationError([f"There is no stratum {unknown[0][:40]}."])
        return {s: found.get(s, 0) for s in QUOTAS}


class DrawSerializer(Body):
    """How to draw. The defaults are the protocol's; the same findings, settings and seed draw the
    same packet.
    """

    label = serializers.CharField(  # type: ignore[assignment]  # as above
        max_length=LONGEST_LABEL, help_text="Reviewers see it: name no source and no judge in it."
    )
    pairings = serializers.ListField(
        child=serializers.CharField(max_length=300), required=False, help_text="All by default."
    )
    quotas = QuotasField(
        required=False,
        default=lambda: dict(QUOTAS),
        help_text="Stratum → findings from each pairing.",
    )
    cases = serializers.IntegerField(
        required=False,
        default=CASES,
        min_value=1,
        max_value=MOST,
        allow_null=True,
        help_text="Null: every one.",
    )
    second = serializers.CharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=300,
        help_text="The pairing whose items two people decide on.",
    )
    redistribute = serializers.BooleanField(
        default=False, help_text="Where a stratum is short, draw more of the others."
    )
    reveal = serializers.ChoiceField(Packet.Reveal.choices, default=Packet.Reveal.AFTER_CLOSE.value)
    lease_minutes = serializers.IntegerField(
        required=False, default=30, min_value=1, max_value=LONGEST_LEASE
    )
    seed = serializers.IntegerField(
        required=False, default=lambda: secrets.randbelow(10**9), min_value=0, max_value=2**62
    )


class DrawnSerializer(Body):
    """What a draw would give. Pairing → stratum → items."""

    items = serializers.IntegerField()
    pairings = serializers.DictField(child=serializers.DictField(child=serializers.IntegerField()))
    cases = serializers.IntegerField()
    shortages = ShortageSerializer(many=True)
    excluded = serializers.DictField(child=serializers.IntegerField())
    seed = serializers.IntegerField()


class AssignSerializer(Body):
    """Who comes into the packet, and what they decide on."""

    person = serializers.CharField(max_length=20, help_text="Public id of a member of the study.")
    role = serializers.ChoiceField(Assignment.Role.choices, default=Assignment.Role.REVIEWER.value)
    pairing = serializers.CharField(
        required=False, default="", allow_blank=True, max_length=300, help_text="Empty: all items."
    )


class SecondSerializer(Body):
    """The pairing whose items two people decide on."""

    pairing = serializers.CharField(max_length=300)


class SecondDoneSerializer(Body):
    """How many items that touched."""

    items = serializers.IntegerField()


class ChangedSerializer(Body):
    """The judge run whose findings are compared with the packet's own."""

    judge_run = serializers.CharField(max_length=20)


class ReportCardSerializer(Body):
    """The judge's report card: uphold rates raw and standardised, strata, agreement, disagreements,
    times, reviews still needed.
    """

    packet = serializers.CharField()
    state = serializers.ChoiceField(Packet.State.choices)
    tables = TableSerializer(many=True)
