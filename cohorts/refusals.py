"""Responses of the API to exceptions of this app."""

from __future__ import annotations

from collections.abc import Mapping

from accounts.api_access.errors import Build, build_refused
from cohorts.asof.jobs import AsOfRefused
from cohorts.attention.actions import DismissalRefused
from cohorts.concepts.values import ConceptRefused
from cohorts.engine.values import WindowError
from cohorts.trajectories.actions import SavingRefused
from cohorts.windows.values import WindowRefused

REFUSALS: Mapping[type[Exception], Build] = {
    AsOfRefused: build_refused,
    ConceptRefused: build_refused,
    DismissalRefused: build_refused,
    SavingRefused: build_refused,
    WindowError: build_refused,
    WindowRefused: build_refused,
}
