"""Runs, inventories, timelines and the chain of provenance.

The database enforces the protocol's invariants, too.
"""

from timelines.models.authoring import AnchorSuggestion, Authoring, AuthoringEdit, DraftEntry
from timelines.models.changes import UnexplainedChange
from timelines.models.consensus import Consensus, ConsensusDecision
from timelines.models.curation import Comment, Correction, CuratedTimeline, Flag, Mention
from timelines.models.evaluations import Evaluation, EvaluationCase
from timelines.models.evidence import Candidate, Evidence, Query
from timelines.models.exports import Export, ExportPart
from timelines.models.inventories import Inventory, Occurrence
from timelines.models.links import OccurrenceLink, OwnTime, Unlinking
from timelines.models.runs import (
    STAGE_ORDER,
    CaseRun,
    Run,
    RunCount,
    RunPreparation,
    Stage,
    StageBatch,
    StageRun,
    StudyTimeline,
)
from timelines.models.search import MeaningSearch, MentionIndexing, MentionVector
from timelines.models.story import StoryPin
from timelines.models.timelines import Entry, Timeline

__all__ = [
    "STAGE_ORDER",
    "AnchorSuggestion",
    "Authoring",
    "AuthoringEdit",
    "Candidate",
    "CaseRun",
    "Comment",
    "Consensus",
    "ConsensusDecision",
    "Correction",
    "CuratedTimeline",
    "DraftEntry",
    "Entry",
    "Evaluation",
    "EvaluationCase",
    "Evidence",
    "Export",
    "ExportPart",
    "Flag",
    "Inventory",
    "MeaningSearch",
    "Mention",
    "MentionIndexing",
    "MentionVector",
    "Occurrence",
    "OccurrenceLink",
    "OwnTime",
    "Query",
    "Run",
    "RunCount",
    "RunPreparation",
    "Stage",
    "StageBatch",
    "StageRun",
    "StoryPin",
    "StudyTimeline",
    "Timeline",
    "UnexplainedChange",
    "Unlinking",
]
