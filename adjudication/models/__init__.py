"""Comparisons, games and findings; packets, slots and decisions.

The database enforces the protocol's rules too.
"""

from adjudication.models.findings import CHOICES_OF_TYPE, CHOICES_OF_VERDICT, Finding, FindingCount
from adjudication.models.judge_runs import (
    Comparison,
    Game,
    JudgeCount,
    JudgePreparation,
    JudgeRun,
    RunFigures,
)
from adjudication.models.packets import Assignment, GuessTest, Packet, PacketItem
from adjudication.models.recipes import (
    PlantedRecall,
    Recipe,
    RecipeLaunch,
    RecipeStep,
    RecipeVersion,
    StudyReport,
)
from adjudication.models.review import Decision, ItemMark, PracticeAnswer, Slot
from adjudication.models.searches import ItemNote, PairSearch

__all__ = [
    "CHOICES_OF_TYPE",
    "CHOICES_OF_VERDICT",
    "Assignment",
    "Comparison",
    "Decision",
    "Finding",
    "FindingCount",
    "Game",
    "GuessTest",
    "ItemMark",
    "ItemNote",
    "JudgeCount",
    "JudgePreparation",
    "JudgeRun",
    "Packet",
    "PacketItem",
    "PairSearch",
    "PlantedRecall",
    "PracticeAnswer",
    "Recipe",
    "RecipeLaunch",
    "RecipeStep",
    "RecipeVersion",
    "RunFigures",
    "Slot",
    "StudyReport",
]
