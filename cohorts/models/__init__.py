"""Concepts, windows, as-of reports and trajectories over stored timelines."""

from cohorts.models.asof import AsOfReport, Documented, Documenting, LeakageCheck
from cohorts.models.attention import AttentionItem, AttentionMark, AttentionRanking, RowDismissal
from cohorts.models.concepts import (
    Concept,
    ConceptDecision,
    ConceptMember,
    ConceptProposing,
    ConceptRule,
    ConceptSample,
    ConceptSampleItem,
    ConceptVersion,
)
from cohorts.models.trajectories import Trajectory
from cohorts.models.windows import (
    MemberDecision,
    Window,
    WindowMember,
    WindowResult,
    WindowVersion,
)

__all__ = [
    "AsOfReport",
    "AttentionItem",
    "AttentionMark",
    "AttentionRanking",
    "Concept",
    "ConceptDecision",
    "ConceptMember",
    "ConceptProposing",
    "ConceptRule",
    "ConceptSample",
    "ConceptSampleItem",
    "ConceptVersion",
    "Documented",
    "Documenting",
    "LeakageCheck",
    "MemberDecision",
    "RowDismissal",
    "Trajectory",
    "Window",
    "WindowMember",
    "WindowResult",
    "WindowVersion",
]
