"""Time and cost of a run by case and stage, with mean and range."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from django.db.models import QuerySet

from ehr.presentation.wording import duration_words
from jobs.models import JobState
from llm_runtime.accounting import Spent, spent_by_owner, total
from timelines.access.closed import exclude_closed
from timelines.formats.tables.writer import safe_cell
from timelines.models import STAGE_ORDER, CaseRun, Run, Stage, StageRun
from timelines.runs.calls import find_calls

#: Measures of a stage or a case: name in files → heading on the page.
MEASURES: Mapping[str, str] = {
    "wall_seconds": "Wall time",
    "calls": "Calls",
    "tokens_in": "Tokens in",
    "tokens_cached": "of them cached",
    "tokens_out": "Tokens out",
}
COLUMNS = ("run", "case_id", "stage", "state", *MEASURES)
WHOLE_CASE = "A whole case"

Values = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class StageCost:
    """One stage of one case.

    The wall time is that of its last attempt, from its start to its end; None before the end.
    """

    case_id: str
    stage: str
    state: str
    wall_seconds: float | None
    spent: Spent

    @property
    def values(self) -> Values:
        return {
            "wall_seconds": None if self.wall_seconds is None else round(self.wall_seconds, 3),
            "calls": self.spent.calls,
            "tokens_in": self.spent.tokens_in,
            "tokens_cached": self.spent.tokens_cached,
            "tokens_out": self.spent.tokens_out,
        }

    @property
    def label(self) -> str:
        """The name of the stage, or of the whole case."""
        return dict(Stage.choices).get(self.stage, self.stage) if self.stage else WHOLE_CASE

    @property
    def state_label(self) -> str:
        """The state of the stage in words, "" for a whole case that is not done."""
        return JobState(self.state).label if self.state else ""

    @property
    def cells(self) -> list[str]:
        """Return each measure in words; "–" if nothing is known."""
        return [_say(name, value) for name, value in self.values.items()]


@dataclass(frozen=True, slots=True)
class CaseCost:
    """One case of a run with its stages; `whole` is their sum."""

    case_run: CaseRun
    stages: Sequence[StageCost]
    whole: StageCost


@dataclass(frozen=True, slots=True)
class Range:
    """Mean and range of the known values of a measure."""

    mean: float
    min: float
    max: float


@dataclass(frozen=True, slots=True)
class CostLine:
    """One stage over the cases in which it succeeded, or whole cases that did."""

    stage: str
    label: str
    cases: int
    ranges: Mapping[str, Range | None]

    @property
    def cells(self) -> list[str]:
        """Return "mean (min–max)" for each measure; "–" if nothing is known."""
        return [_words(name, self.ranges[name]) for name in MEASURES]


def load_costs(run: Run, closed: Collection[int] = ()) -> list[StageCost]:
    """Return every stage of every case, by case and in order of the stages.

    `closed` encounters are excluded.
    """
    stages = exclude_closed(
        StageRun.objects.filter(case_run__run=run), closed, "case_run__encounter"
    )
    return [cost for _, cost in _load_stages(stages)]


def load_case_costs(case_runs: Sequence[CaseRun]) -> list[CaseCost]:
    """Return the costs of these cases alone, in the order given."""
    by_case: dict[int, list[StageCost]] = {case_run.pk: [] for case_run in case_runs}
    for pk, cost in _load_stages(StageRun.objects.filter(case_run__in=case_runs)):
        by_case[pk].append(cost)
    return [
        CaseCost(case_run, by_case[case_run.pk], whole)
        for case_run in case_runs
        for whole in sum_cases(by_case[case_run.pk])
    ]


def _load_stages(stages: QuerySet[StageRun]) -> list[tuple[int, StageCost]]:
    """Return (primary key of the case run, stage), in order of both."""
    spent = spent_by_owner(find_calls(stages))
    order = {stage: n for n, stage in enumerate(STAGE_ORDER)}
    found = stages.values_list(
        "case_run_id",
        "case_run__encounter__case_id",
        "pk",
        "stage",
        "state",
        "started_at",
        "finished_at",
    )
    return [
        (
            case_run,
            StageCost(
                case_id,
                stage,
                state,
                (finished - started).total_seconds() if started and finished else None,
                spent.get(str(pk), Spent()),
            ),
        )
        for case_run, case_id, pk, stage, state, started, finished in sorted(
            found, key=lambda row: (row[0], order[row[3]])
        )
    ]


def summarise_costs(costs: Sequence[StageCost]) -> list[CostLine]:
    """Return a line for each stage, and one for whole cases.

    Stages that have not succeeded in any case are omitted.
    """
    done: dict[str, list[Values]] = {}
    for cost in costs:
        if cost.state == JobState.SUCCEEDED:
            done.setdefault(cost.stage, []).append(cost.values)
    labels = dict(Stage.choices)
    lines = [
        _line(stage, labels.get(stage, stage), done[stage])
        for stage in STAGE_ORDER
        if stage in done
    ]
    whole = [case.values for case in sum_cases(costs) if case.state == JobState.SUCCEEDED]
    return [*lines, _line("", WHOLE_CASE, whole)] if whole else lines


def sum_cases(costs: Sequence[StageCost]) -> list[StageCost]:
    """Return each case as the sum of its stages.

    A case has succeeded if all its stages have.
    """
    cases: dict[str, list[StageCost]] = {}
    for cost in costs:
        cases.setdefault(cost.case_id, []).append(cost)
    return [
        StageCost(
            case_id,
            "",
            _case_state(parts),
            _sum_known([part.wall_seconds for part in parts]),
            total(part.spent for part in parts),
        )
        for case_id, parts in cases.items()
    ]


def write_csv(run: Run, costs: Sequence[StageCost]) -> str:
    """Return one line for each case and stage, safe for spreadsheets."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for cost in costs:
        words = (run.public_id, safe_cell(cost.case_id), cost.stage, cost.state)
        table.writerow([*words, *("" if v is None else v for v in cost.values.values())])
    return out.getvalue()


def write_json(run: Run, costs: Sequence[StageCost]) -> str:
    """Return each case and stage, and mean and range by stage."""
    lines = [
        {"case_id": cost.case_id, "stage": cost.stage, "state": cost.state, **cost.values}
        for cost in costs
    ]
    summary = [
        {
            "stage": line.stage or "case",
            "cases": line.cases,
            **{
                name: None if found is None else asdict(found)
                for name, found in line.ranges.items()
            },
        }
        for line in summarise_costs(costs)
    ]
    return json.dumps({"run": run.public_id, "summary": summary, "cases": lines}, indent=1)


#: Ending of the file → its media type and writer.
COST_FILES: Mapping[str, tuple[str, Callable[[Run, Sequence[StageCost]], str]]] = {
    "csv": ("text/csv", write_csv),
    "json": ("application/json", write_json),
}


def _line(stage: str, label: str, values: Sequence[Values]) -> CostLine:
    return CostLine(
        stage, label, len(values), {name: _range([v[name] for v in values]) for name in MEASURES}
    )


def _range(values: Sequence[float | None]) -> Range | None:
    known = [value for value in values if value is not None]
    return Range(round(fmean(known), 3), min(known), max(known)) if known else None


def _case_state(parts: Sequence[StageCost]) -> str:
    states = {part.state for part in parts}
    return JobState.SUCCEEDED if states == {JobState.SUCCEEDED} else ""


def _sum_known(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _words(name: str, found: Range | None) -> str:
    if found is None:
        return "–"
    mean, least, most = (_say(name, value) for value in (found.mean, found.min, found.max))
    return mean if least == most else f"{mean} ({least}–{most})"


def _say(name: str, value: float | None) -> str:
    if value is None:
        return "–"
    return duration_words(value) if name == "wall_seconds" else _count_words(value)


def _count_words(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
