"""Choices that several bodies share; the settings name them for OpenAPI."""

from __future__ import annotations

from accounts.api_access.operations import make_choices
from timelines.case_state import CaseState
from timelines.domain import TimelineKind
from timelines.evaluation.values import Basis

CASE_STATES = make_choices(CaseState)
KINDS = make_choices(TimelineKind)
BASES = make_choices(Basis)
