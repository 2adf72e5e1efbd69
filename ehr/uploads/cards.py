"""The card of datasets on the study page of admins."""

from __future__ import annotations

from django.urls import reverse

from accounts.models import Study, User
from accounts.permissions import user_can_manage_study
from accounts.registry import Card, Link


def datasets_card(user: User, study: Study) -> Card | None:
    """Return the way to imports and datasets; None for others."""
    if not user_can_manage_study(user, study):
        return None
    return Card(
        "Datasets",
        ["Import, check and delete the datasets of this study."],
        [
            Link("Import a dataset", reverse("ehr:import_new")),
            Link("Imports and datasets", reverse("ehr:imports")),
        ],
    )
