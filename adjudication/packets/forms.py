"""The forms that draw a packet and assign people to it.

Defaults are the protocol's.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from datetime import date
from typing import Any

from django import forms
from django.utils import timezone

from accounts.models import Role, Study, User
from adjudication.models import Assignment, JudgeRun, Packet
from adjudication.packets.actions import LONGEST_LABEL, find_pairing, list_pairings
from adjudication.packets.candidates import Candidate
from adjudication.packets.searches import find_searchable_games
from adjudication.sampling.drawing import CASES, QUOTAS, Design

MOST = 10_000
LONGEST_LEASE = 7 * 24 * 60


def quota_field(stratum: str) -> str:
    """Return the name of a stratum's field: "quota_timing_decisive"."""
    return "quota_" + stratum.lower().replace(" ", "_").replace("-", "_")


class DueDateField(forms.DateField):
    """An optional day from today on."""

    def __init__(self, **options: Any) -> None:
        widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
        super().__init__(required=False, label="Review due on", widget=widget, **options)

    def validate(self, value: date | None) -> None:
        """Raise ValidationError for a day in the past."""
        super().validate(value)
        if value is not None and value < timezone.localdate():
            raise forms.ValidationError("The due date is in the past. Enter today or a later day.")


class DueForm(forms.Form):
    """The day by which the review of a packet is due; empty for none."""

    due_on = DueDateField()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **options})


class DrawForm(forms.Form):
    """Pairings, a quota for each of their strata, cases, and review settings."""

    label = forms.CharField(
        max_length=LONGEST_LABEL,
        help_text="Reviewers see this label: do not name a source or a judge.",
    )
    pairings = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, help_text="Reviewers never see them."
    )
    cases = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST,
        initial=CASES,
        help_text=(
            "Number of cases to draw at random from those judged in all chosen pairings. Empty:"
            " all of them."
        ),
    )
    second = forms.ChoiceField(
        required=False,
        label="Second reviewer",
        help_text="Two people decide on each item of this pairing, to measure agreement.",
    )
    redistribute = forms.BooleanField(
        required=False,
        label="If a stratum has too few findings, draw more of the others",
        help_text="Otherwise the packet is smaller and lists what is missing.",
    )
    reveal = forms.ChoiceField(
        choices=Packet.Reveal.choices,
        initial=Packet.Reveal.AFTER_CLOSE,
        label="Reviewers see the judge's side",
    )
    lease_minutes = forms.IntegerField(
        min_value=1,
        max_value=LONGEST_LEASE,
        initial=30,
        label="Minutes an item is reserved for its reviewer",
        help_text="After that, other reviewers can get the item. Typed values are stored.",
    )
    due_on = DueDateField(
        help_text="Reviewers see it. You can change it until you close the packet."
    )
    seed = forms.IntegerField(
        min_value=0,
        max_value=2**62,
        help_text="The same findings, settings and seed draw the same packet.",
    )

    def __init__(self, *args: Any, judge_run: JudgeRun, **options: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **options})
        pairings = [(p, p) for p in list_pairings(judge_run)]
        self.fields["pairings"].choices = pairings  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["pairings"].initial = [p for p, _ in pairings]
        self.fields["second"].choices = [("", "nobody"), *pairings]  # type: ignore[attr-defined]  # as above
        self.fields["seed"].initial = secrets.randbelow(10**9)
        for stratum, quota in QUOTAS.items():
            self.fields[quota_field(str(stratum))] = forms.IntegerField(
                min_value=0, max_value=MOST, initial=quota, label=str(stratum), required=True
            )

    @property
    def quotas(self) -> list[forms.BoundField]:
        """The quota fields, in the protocol's order."""
        return [self[quota_field(str(s))] for s in QUOTAS]

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if not self.errors and not any(values[quota_field(str(s))] for s in QUOTAS):
            raise forms.ValidationError("Every quota is 0. Enter at least one quota above 0.")
        if values.get("second") and values["second"] not in values.get("pairings", []):
            self.add_error("second", "Choose one of the pairings to draw.")
        return values

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `draw_packet` that a valid form has."""
        named = ("label", "seed", "reveal", "lease_minutes", "due_on")
        return {"design": self.design()} | {name: self.cleaned_data[name] for name in named}

    def design(self) -> Design:
        """Return the design that a valid form asks for."""
        values = self.cleaned_data
        return Design(
            pairings=tuple(values["pairings"]),
            quotas={str(s): values[quota_field(str(s))] for s in QUOTAS},
            cases=values["cases"],
            redistribute=values["redistribute"],
            own_per_item={values["second"]: 2} if values["second"] else {},
        )


class PersonSelect(forms.Select):
    """A choice of people; those who are not eligible cannot be chosen."""

    disabled_values: Collection[str] = ()

    def create_option(self, name: str, value: Any, *args: Any, **options: Any) -> dict[str, Any]:
        """Return the option, disabled and with the reason in short."""
        option: dict[str, Any] = super().create_option(name, value, *args, **options)
        if str(value) in self.disabled_values:
            option["attrs"]["disabled"] = True
            option["label"] = f"{option['label']} (not eligible)"
        return option


class AssignForm(forms.Form):
    """A member of the study, their role in the packet, and their pairings."""

    person = forms.ModelChoiceField(
        User.objects.none(),
        to_field_name="public_id",
        empty_label="choose a person",
        widget=PersonSelect,
    )
    role = forms.ChoiceField(
        choices=[
            (Assignment.Role.REVIEWER, "Reviewer"),
            (Assignment.Role.ADJUDICATOR, "Adjudicator (third person)"),
        ]
    )
    pairing = forms.ChoiceField(required=False, label="Items")

    def __init__(
        self, *args: Any, packet: Packet, candidates: Sequence[Candidate] = (), **options: Any
    ) -> None:
        super().__init__(*args, **{"label_suffix": "", **options})
        self.fields["person"].queryset = find_reviewers(packet.study).exclude(  # type: ignore[attr-defined]  # a ModelChoiceField
            review_assignments__in=packet.assignments.filter(withdrawn_at__isnull=True)
        )
        self.fields["person"].widget.disabled_values = {
            line.person.public_id for line in candidates if line.reasons
        }
        pairings = packet.items.order_by("pairing").values_list("pairing", flat=True).distinct()
        self.fields["pairing"].choices = [("", "all items"), *((p, p) for p in pairings)]  # type: ignore[attr-defined]  # a ChoiceField

    @property
    def has_people(self) -> bool:
        """Whether any person is left to be assigned."""
        return bool(self.fields["person"].queryset.exists())  # type: ignore[attr-defined]  # as above


class SearchForm(forms.Form):
    """A reviewer of the packet, and a judged pair of timelines of its cases."""

    assignment = forms.ChoiceField(label="Person")
    game = forms.ChoiceField(label="Case and pairing")

    def __init__(self, *args: Any, packet: Packet, **options: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **options})
        people = packet.assignments.filter(
            role=Assignment.Role.REVIEWER, withdrawn_at__isnull=True
        ).select_related("person")
        names = [(a.public_id, a.person.get_username()) for a in people]
        self.fields["assignment"].choices = names  # type: ignore[attr-defined]  # a ChoiceField
        self.fields["game"].choices = [  # type: ignore[attr-defined]  # as above
            (
                game.public_id,
                f"{game.comparison.encounter.case_id} · {find_pairing(game, packet.judge_run)}",
            )
            for game in find_searchable_games(packet)
        ]


def find_reviewers(study: Study) -> Any:
    """Return active members of the study who may review."""
    people = User.objects.filter(memberships__study=study, is_active=True).distinct()
    return people.order_by("username").filter(
        memberships__role__in=[Role.REVIEWER, Role.CLINICIAN, Role.ADMIN]
    )
