"""Packets in the API, for study admins.

Each class is the one definition of its body, and OpenAPI describes it from there.
"""

from __future__ import annotations

import secrets
from typing import Any

from rest_framework.serializers import (
    BooleanField,
    CharField,
    ChoiceField,
    DateField,
    DateTimeField,
    DictField,
    IntegerField,
    ListField,
    ValidationError,
)

from accounts.api_access.bodies import Page
from accounts.api_access.operations import Body, make_choices
from accounts.api_access.tables import Table
from adjudication import models
from adjudication.api.review.bodies import Progress
from adjudication.packets.actions import LONGEST_LABEL
from adjudication.packets.forms import LONGEST_LEASE, MOST
from adjudication.sampling.drawing import CASES, QUOTAS, Stratum

STRATA = make_choices(Stratum)


class Packet(Body):
    """A drawn sample of findings for blinded review."""

    id = CharField(source="packet.public_id")
    study = CharField(source="packet.study.public_id")
    judge_run = CharField(source="packet.judge_run.public_id")
    label = CharField(source="packet.label")  # type: ignore[assignment]  # the framework's fields have a label of their own
    state = ChoiceField(models.Packet.State.choices, source="packet.state")
    reveal = ChoiceField(models.Packet.Reveal.choices, source="packet.reveal")
    seed = IntegerField(source="packet.seed")
    lease_minutes = IntegerField(source="packet.lease_minutes")
    due_on = DateField(
        allow_null=True, source="packet.due_on", help_text="The day by which the review is due."
    )
    follows = CharField(
        allow_null=True,
        source="packet.follows.public_id",
        help_text="The earlier packet; this one has only changed findings.",
    )
    items = IntegerField(source="packet.item_count")
    slots = IntegerField(
        source="packet.slots", help_text="Decisions that are due; 0 before the packet is opened."
    )
    decided = IntegerField(source="packet.decided")
    people = IntegerField(source="packet.people")
    created_at = DateTimeField(source="packet.created_at")
    opened_at = DateTimeField(allow_null=True, source="packet.opened_at")
    closed_at = DateTimeField(allow_null=True, source="packet.closed_at")


class Pairing(Body):
    """Items of one pairing by stratum."""

    pairing = CharField()
    strata = DictField(child=IntegerField())
    total = IntegerField()
    reviewers = IntegerField(help_text="Reviewers per item.")


class Shortage(Body):
    """A quota that could not be met."""

    pairing = CharField()
    stratum = ChoiceField(STRATA)
    wanted = IntegerField()
    available = IntegerField()
    redistributed = IntegerField(help_text="Number drawn from other strata instead.")


class Person(Body):
    """A person of the packet."""

    id = CharField(source="assignment.public_id", help_text="Public id of the assignment.")
    person = CharField(source="assignment.person.public_id")
    username = CharField(source="assignment.person.get_username")
    role = ChoiceField(models.Assignment.Role.choices, source="assignment.role")
    pairings = ListField(child=CharField(), source="assignment.pairings", help_text="Empty: all.")
    practised = BooleanField(source="assignment.practised")
    signed_at = DateTimeField(allow_null=True, source="assignment.signed_at")
    withdrawn_at = DateTimeField(allow_null=True, source="assignment.withdrawn_at")
    progress = Progress()
    late = IntegerField(help_text="Late answers, which do not count.")
    reasons = ListField(
        child=CharField(), help_text="Why this person must not decide on this packet."
    )


class PacketDetail(Packet):
    """A packet with its items, reviewers and open problems."""

    design = DictField(source="packet.design")
    pairings = Pairing(many=True)
    shortages = Shortage(many=True)
    assignments = Person(many=True)
    obstacles = ListField(child=CharField(), help_text="Why the packet cannot be opened now.")
    disagreements = IntegerField(help_text="Items for a third person.")
    settled = IntegerField(help_text="Number of those that are decided.")
    chain_faults = ListField(child=CharField(), help_text="Faults in the chain of decisions.")


class PacketPage(Page):
    """Packets."""

    results = Packet(many=True)


class Candidate(Body):
    """A member of the study who is not in the packet.

    `reasons` say why they may not review it.
    """

    person = CharField()
    username = CharField()
    reasons = ListField(child=CharField())


class Eligible(Body):
    """Findings of a judge run that may be drawn, and counts of the others."""

    judge_run = CharField()
    pairings = DictField(
        child=DictField(child=IntegerField()),
        help_text="Pairing → stratum → findings.",
    )
    excluded = DictField(child=IntegerField(), help_text="Reason → findings.")
    cases = IntegerField(help_text="Cases with a judged game.")
    complete_cases = IntegerField(help_text="Cases judged in every pairing.")


class QuotasField(DictField):
    """Stratum → findings from each pairing."""

    child = IntegerField(min_value=0, max_value=MOST)

    def to_internal_value(self, data: Any) -> dict[str, int]:
        """Give strata that are not named no quota.

        Raises ValidationError for unknown ones.
        """
        found: dict[str, int] = super().to_internal_value(data)
        if unknown := sorted(set(found) - set(QUOTAS)):
            raise ValidationError([f"There is no stratum {unknown[0][:40]}."])
        return {s: found.get(s, 0) for s in QUOTAS}


class Draw(Body):
    """How to draw. The defaults are the protocol's.

    The same findings, settings and seed draw the same packet.
    """

    label = CharField(  # type: ignore[assignment]  # as above
        max_length=LONGEST_LABEL,
        help_text="Reviewers see this label: do not name a source or a judge.",
    )
    pairings = ListField(
        child=CharField(max_length=300), required=False, help_text="All by default."
    )
    quotas = QuotasField(
        default=lambda: dict(QUOTAS),
        help_text="Stratum → findings from each pairing.",
    )
    cases = IntegerField(
        default=CASES,
        min_value=1,
        max_value=MOST,
        allow_null=True,
        help_text="Null: all of them.",
    )
    second = CharField(
        default="",
        allow_blank=True,
        max_length=300,
        help_text="The pairing whose items two people decide on.",
    )
    redistribute = BooleanField(
        default=False, help_text="If a stratum has too few findings, draw more of the others."
    )
    reveal = ChoiceField(
        models.Packet.Reveal.choices, default=models.Packet.Reveal.AFTER_CLOSE.value
    )
    lease_minutes = IntegerField(default=30, min_value=1, max_value=LONGEST_LEASE)
    due_on = DateField(
        default=None, allow_null=True, help_text="The day by which the review is due."
    )
    seed = IntegerField(default=lambda: secrets.randbelow(10**9), min_value=0, max_value=2**62)


class Drawn(Body):
    """The result of a draw. Pairing → stratum → items."""

    items = IntegerField()
    pairings = DictField(child=DictField(child=IntegerField()))
    cases = IntegerField()
    shortages = Shortage(many=True)
    excluded = DictField(child=IntegerField())
    seed = IntegerField()


class Assign(Body):
    """The person who joins the packet, and the items they decide on."""

    person = CharField(max_length=20, help_text="Public id of a member of the study.")
    role = ChoiceField(
        models.Assignment.Role.choices, default=models.Assignment.Role.REVIEWER.value
    )
    pairing = CharField(default="", allow_blank=True, max_length=300, help_text="Empty: all items.")


class DueDate(Body):
    """The day by which the review is due, from today on; null for none."""

    due_on = DateField(allow_null=True)


class Second(Body):
    """The pairing whose items two people decide on."""

    pairing = CharField(max_length=300)


class SecondDone(Body):
    """The number of changed items."""

    items = IntegerField()


class Changed(Body):
    """The judge run whose findings are compared with the packet's own."""

    judge_run = CharField(max_length=20)


class PacketSearch(Body):
    """A pair of timelines that a reviewer searches before their items."""

    id = CharField(source="search.public_id")
    assignment = CharField(source="search.assignment.public_id")
    username = CharField(source="search.assignment.person.get_username")
    game = CharField(source="search.game.public_id")
    case = CharField(source="search.game.comparison.encounter.public_id")
    pairing = CharField()
    submitted_at = DateTimeField(allow_null=True, help_text="Null until it is submitted.")
    listed = IntegerField(allow_null=True, help_text="Differences; null until it is submitted.")


class NewSearch(Body):
    """A reviewer of the packet, and a judged game of one of its cases."""

    assignment = CharField(max_length=20)
    game = CharField(max_length=20)


class ItemNote(Body):
    """What a reviewer wrote to the study admin about an item."""

    id = CharField(source="public_id")
    item = CharField(source="item.public_id")
    number = IntegerField(source="item.ordinal", help_text="Of the item in the packet.")
    username = CharField(source="assignment.person.get_username")
    text = CharField()
    at = DateTimeField()


class ReportCard(Body):
    """The tables of the judge's report card.

    Uphold rates raw and standardised, strata, agreement, disagreements, times, reviews still
    needed.
    """

    packet = CharField()
    state = ChoiceField(models.Packet.State.choices)
    tables = Table(many=True)
