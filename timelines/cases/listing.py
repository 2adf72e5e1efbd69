"""The list of cases: filter, sort and page over thousands of stays.

Each has the state of its shown reconstruction: the study timeline's run, or the latest run of a
case without it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import (
    Count,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce, Lower, NullIf

from accounts.models import Study
from ehr.models import Encounter
from ehr.presentation.wording import span_words
from timelines.access.closed import exclude_closed
from timelines.case_state import CaseState, case_state
from timelines.models import CaseRun, StageRun
from timelines.registry import case_questions
from timelines.runs.study_timeline.selection import current, find_study_runs, is_study_run

#: What a line is called, as `title_line`; lists sort by it.
TITLE = Coalesce(NullIf(F("headline"), Value("")), NullIf(F("title"), Value("")), F("case_id"))
_LENGTH = ExpressionWrapper(F("discharged_at") - F("admitted_at"), DurationField())
#: What the list sorts by, up or (with "-") down; equal cases are in the order of their import.
SORT_KEYS: Mapping[str, Any] = {
    "case": F("case_id"),
    "title": Lower(TITLE),
    "cohort": F("dataset__name"),
    "admitted": F("admitted_at"),
    "stay": Coalesce(_LENGTH, Value(timedelta(0))),
    "rows": F("row_count"),
}
SORTS = frozenset(sign + name for name in SORT_KEYS for sign in ("", "-"))
DEFAULT_SORT = "case"


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """The filter and order that the reader asked for.

    `text` matches case id, headline and title and is sent only in a request's body. `answers` are those to
    the registered questions (`timelines.registry`), as pairs.
    """

    text: str = ""
    dataset: str = ""
    state: str = ""
    answers: tuple[tuple[str, bool], ...] = ()
    sort: str = DEFAULT_SORT

    @classmethod
    def parse(cls, parameters: Mapping[str, str], text: str = "") -> CaseFilter:
        """Read a query string; an unknown state or sort falls back to none."""
        state = parameters.get("state", "")
        sort = parameters.get("sort", "")
        return cls(
            text=text.strip(),
            dataset=parameters.get("dataset", ""),
            state=state if state in set(CaseState) else "",
            answers=tuple(
                (name, answer == "yes")
                for name in case_questions()
                if (answer := parameters.get(name)) in ("yes", "no")
            ),
            sort=sort if sort in SORTS else DEFAULT_SORT,
        )

    @property
    def parameters(self) -> dict[str, str]:
        """Return what an address has: all but the text and what is default."""
        answers = {name: "yes" if answer else "no" for name, answer in self.answers}
        sort = self.sort if self.sort != DEFAULT_SORT else ""
        given = {"dataset": self.dataset, "state": self.state, **answers, "sort": sort}
        return {name: value for name, value in given.items() if value}

    @property
    def narrows(self) -> bool:
        """Return whether cases may be left out."""
        return bool(self.text or self.dataset or self.state or self.answers)

    def direction(self, name: str) -> str:
        """Return how the list sorts by that head: as `aria-sort` says it."""
        if self.sort.removeprefix("-") != name:
            return ""
        return "descending" if self.sort.startswith("-") else "ascending"

    def next_sort(self, name: str) -> str:
        """Return the order that a click on that head gives."""
        return f"-{name}" if self.sort == name else name


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One line of the list.

    `occurrences` is the size of the shown run's inventory, None before there is one. For a case
    that is closed to the reader, `state` and `occurrences` are None.
    `other_run`: the cohort has a study timeline and this case's state is of another run.
    """

    public_id: str
    case_id: str
    title: str
    dataset: str
    admitted_at: datetime
    stay: str
    rows: int
    state: CaseState | None
    occurrences: int | None
    other_run: bool = False


def title_line(encounter: Encounter) -> str:
    """Return what leads the line of a case: who, what, how long and where."""
    return encounter.headline or encounter.title or f"Case {encounter.case_id}"


def has_words(text: str) -> Q:
    """Return the condition that a line has the text."""
    return Q(case_id__icontains=text) | Q(headline__icontains=text) | Q(title__icontains=text)


def find_cases(
    study: Study, wanted: CaseFilter, closed: Collection[int] = ()
) -> QuerySet[Encounter]:
    """Return the encounters of a study that match, in the requested order.

    A `closed` encounter matches no state and no answer. Each has `sort_key`.
    """
    cases = Encounter.objects.filter(dataset__study=study).select_related("dataset")
    if wanted.text:
        cases = cases.filter(has_words(wanted.text))
    if wanted.dataset:
        cases = cases.filter(dataset__public_id=wanted.dataset)
    if wanted.state:
        cases = exclude_closed(_filter_by_state(cases, study, wanted.state), closed, "pk")
    for name, answer in wanted.answers:
        condition = case_questions()[name].condition()
        cases = exclude_closed(cases.filter(condition if answer else ~condition), closed, "pk")
    down = "-" if wanted.sort.startswith("-") else ""
    cases = cases.annotate(sort_key=SORT_KEYS[wanted.sort.removeprefix("-")])
    return cases.order_by(f"{down}sort_key", f"{down}id")


def _filter_by_state(cases: QuerySet[Encounter], study: Study, state: str) -> QuerySet[Encounter]:
    """Filter by the state of the shown run, without a look at its stages."""
    of_study = CaseRun.objects.filter(run__in=find_study_runs(study))
    latest = CaseRun.objects.filter(encounter=OuterRef("pk")).order_by("-id").values("state")[:1]
    shown = Q(pk__in=of_study.filter(state=state).values("encounter"))
    others = cases.annotate(latest=Coalesce(Subquery(latest), Value(CaseState.NONE.value)))
    return others.filter(shown | (~Q(pk__in=of_study.values("encounter")) & Q(latest=state)))


def case_rows(encounters: Sequence[Encounter], *, closed: Collection[int] = ()) -> list[CaseRow]:
    """Return the lines of one page, in a fixed number of queries.

    Lines of `closed` cases show nothing of their timelines.
    """
    ids = [e.pk for e in encounters if e.pk not in closed]
    shown = shown_case_runs(ids)
    states = load_states(run.pk for run in shown.values())
    rows = []
    for e in encounters:
        run = shown.get(e.pk)
        rows.append(
            CaseRow(
                public_id=e.public_id,
                case_id=e.case_id,
                title=title_line(e),
                dataset=e.dataset.name,
                admitted_at=e.admitted_at,
                stay=_stay_words(e),
                rows=e.row_count,
                state=None
                if e.pk in closed
                else case_state(states[run.pk])
                if run
                else CaseState.NONE,
                occurrences=getattr(run, "size", None) if run and run.inventory_id else None,
                other_run=getattr(run, "other_run", False),
            )
        )
    return rows


def _stay_words(encounter: Encounter) -> str:
    if encounter.discharged_at is None:
        return "–"
    return span_words((encounter.discharged_at - encounter.admitted_at).total_seconds() / 3600)


def _shown_first(case_runs: QuerySet[CaseRun], *by: str) -> QuerySet[CaseRun]:
    """Order case runs: the study timeline's first, then the latest.

    `by` sorts before that.
    """
    return case_runs.annotate(of_study=is_study_run("run")).order_by(*by, "-of_study", "-id")


def shown_case_runs(encounter_ids: Sequence[int]) -> dict[int, CaseRun]:
    """Return the case run that lists show, by encounter id.

    Each has `size`, the occurrences of its inventory, and `other_run`: whether it is not of the
    cohort's study timeline.
    """
    found = _shown_first(CaseRun.objects.filter(encounter_id__in=encounter_ids), "encounter_id")
    runs = found.distinct("encounter_id").values_list("id", flat=True)
    other_run = Exists(current().filter(dataset=OuterRef("encounter__dataset"))) & ~is_study_run(
        "run"
    )
    counted = CaseRun.objects.filter(id__in=list(runs)).annotate(
        size=Count("inventory__occurrences"), other_run=other_run
    )
    return {run.encounter_id: run for run in counted}


def load_states(case_run_ids: Iterable[int]) -> dict[int, list[str]]:
    """Case run id → the states of its stages."""
    found: dict[int, list[str]] = defaultdict(list)
    for case_run, state in StageRun.objects.filter(case_run_id__in=list(case_run_ids)).values_list(
        "case_run_id", "state"
    ):
        found[case_run].append(state)
    return found
