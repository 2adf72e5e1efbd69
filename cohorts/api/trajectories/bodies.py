"""Trajectories in the API: saved choices, and their figures."""

from __future__ import annotations

from rest_framework.serializers import (
    CharField,
    ChoiceField,
    DateTimeField,
    FloatField,
    IntegerField,
    ListField,
)

from accounts.api_access.bodies import Page
from accounts.api_access.operations import Body, make_choices
from cohorts.api.choices import OCCURRENCE_TIMES
from cohorts.trajectories.actions import LONGEST_NAME
from cohorts.trajectories.choices import LONGEST, MOST_CONCEPTS
from cohorts.trajectories.lanes import Order
from cohorts.values import Source

ORDERS = make_choices(Order)


class TrajectoryChoice(Body):
    """What a view shows. Concepts are named by their ids."""

    source = ChoiceField(OCCURRENCE_TIMES, default=Source.RECORD.value)  # type: ignore[assignment]  # the framework's fields have a source of their own
    zero = CharField(
        default="", allow_blank=True, max_length=20, help_text="Hour 0: admission, or a concept."
    )
    concepts = ListField(child=CharField(max_length=20), default=list, max_length=MOST_CONCEPTS)
    target = CharField(
        default="", allow_blank=True, max_length=20, help_text="Of the time to an event."
    )
    series = CharField(
        default="",
        allow_blank=True,
        max_length=200,
        help_text="Patterns of names of series, separated by commas; `*` is any text.",
    )
    start = FloatField(default=-24.0, min_value=-LONGEST, max_value=0)
    stop = FloatField(default=96.0, min_value=-LONGEST, max_value=LONGEST)
    group = CharField(
        default="", allow_blank=True, max_length=20, help_text="`unit`, `sex` or a concept."
    )
    order = ChoiceField(ORDERS, default=Order.LENGTH.value)


class TrajectoryStart(TrajectoryChoice):
    """A view that is saved under a name."""

    dataset = CharField(max_length=20)
    name = CharField(max_length=LONGEST_NAME)


class Trajectory(Body):
    """A saved view."""

    id = CharField(source="public_id")
    study = CharField(source="study.public_id")
    dataset = CharField(source="dataset.public_id")
    name = CharField()
    created_at = DateTimeField()
    created_by = CharField(allow_null=True, source="created_by.get_username", default=None)


class TrajectoryPage(Page):
    """Saved views by study and name."""

    results = Trajectory(many=True)


class TrajectoryTable(Body):
    """A tidy table of a view; `tables` returns it."""

    name = CharField()
    rows = IntegerField()


class TrajectoryDetail(Trajectory):
    """A saved view and what its figures say of your open cases."""

    choice = TrajectoryChoice()
    stays = IntegerField(help_text="Stays with an hour 0.")
    without = IntegerField(help_text="Stays without one.")
    before = IntegerField(help_text="Stays with the target before hour 0, which are left out.")
    series = ListField(child=CharField(), help_text="Those that the patterns found.")
    changes = CharField(allow_blank=True, help_text="The values around hour 0 in a sentence.")
    tables = TrajectoryTable(many=True)
