"""A judge run and a game as lists and the API show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adjudication.access.closed import ClosedObjects
from adjudication.judge_runs.calls import find_side_labels, source_names
from adjudication.judge_runs.progress import (
    GameStatus,
    GameTotals,
    RunState,
    count_games,
    derive_state,
    derive_status,
    waiting_warning,
)
from adjudication.judging.config import JudgeConfig
from adjudication.models import Game, JudgeRun
from timelines.evaluation.values import SourceKey


@dataclass(frozen=True, slots=True)
class RunLine:
    """A judge run and its counts, without games closed to the person."""

    run: JudgeRun
    totals: GameTotals

    @property
    def state(self) -> RunState:
        return derive_state(self.run, self.totals)

    @property
    def warning(self) -> str:
        return waiting_warning(self.run, self.totals)

    @property
    def sources(self) -> list[SourceKey]:
        return [SourceKey(*source) for source in self.run.sources]

    @property
    def datasets(self) -> list[str]:
        """Public ids."""
        return [dataset.public_id for dataset in self.run.datasets.all()]

    @property
    def preset(self) -> str:
        return JudgeConfig.from_dict(self.run.config).preset

    @property
    def swap(self) -> bool:
        return bool(self.run.config.get("swap"))


def run_lines(runs: Sequence[JudgeRun], closed: ClosedObjects) -> list[RunLine]:
    """Return a line for each run; all of them together take four queries."""
    totals = count_games(runs, closed)
    return [RunLine(run, totals[run.pk]) for run in runs]


@dataclass(frozen=True, slots=True)
class GameLine:
    """A game and its number of findings; related rows are already loaded.

    These are its run, comparison and timelines.
    """

    game: Game
    findings: int

    @property
    def status(self) -> GameStatus:
        return derive_status(self.game)

    @property
    def first(self) -> str:
        return source_names(self.game.comparison)[0]

    @property
    def second(self) -> str:
        return source_names(self.game.comparison)[1]

    @property
    def a(self) -> str | None:
        """The source labelled A; None if the game is not yet judged."""
        sides = find_side_labels(self.game)
        return sides[0] if sides else None

    @property
    def unjudged_reasons(self) -> list[str]:
        return self.game.unjudged_reasons if self.status is GameStatus.UNJUDGED else []

    @property
    def failures(self) -> list[str]:
        return self.game.reasons if self.status is GameStatus.FAILED else []

    @property
    def reasons(self) -> list[str]:
        """Why there is no result."""
        return self.unjudged_reasons or self.failures
