"""The list of cases: filter, sort and page over thousands of stays.

Each has the state of its shown reconstruction: the study timeline's run, or the latest run of a
case without it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery

from accounts.models import Study
from ehr.models import Encounter
from jobs.models import JobState
from timelines.access.closed import exclude_closed
from timelines.case_state import CaseState, case_state
from timelines.domain import TimelineKind
from timelines.models import CaseRun, StageRun, Timeline
from timelines.runs.study_timeline.selection import current, is_study_run

#: What the list sorts by, up or (with "-") down; equal cases are in the order of their import.
SORT_FIELDS: Mapping[str, str] = {"case": "case_id", "admitted": "admitted_at", "rows": "row_count"}
SORTS = frozenset(sign + name for name in SORT_FIELDS for sign in ("", "-"))
DEFAULT_SORT = "case"


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """The filter and order that the reader asked for.

    `text` matches case id and title and is sent only in a request's body.
    """

    text: str = ""
    dataset: str = ""
    state: str = ""
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
            sort=sort if sort in SORTS else DEFAULT_SORT,
        )


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One line of the list.

    `occurrences` is the size of the shown run's inventory, None before there is one. For a case
    that is closed to the reader, `state` and `occurrences` are None and `kinds` is empty.
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
    kinds: tuple[str, ...] = field(default=())
    other_run: bool = False

    @property
    def kinds_words(self) -> str:
        return ", ".join(_KIND_WORDS[k] for k in self.kinds) or "–"


_KIND_WORDS = {
    TimelineKind.TEXT_ONLY.value: "text-only",
    TimelineKind.REVISED.value: "revised",
    TimelineKind.REFERENCE.value: "reference",
}


def find_cases(
    study: Study, wanted: CaseFilter, closed: Collection[int] = ()
) -> QuerySet[Encounter]:
    """Return the encounters of a study that match, in the requested order.

    A `closed` encounter matches no state.
    """
    cases = Encounter.objects.filter(dataset__study=study).select_related("dataset")
    if wanted.text:
        cases = cases.filter(Q(case_id__icontains=wanted.text) | Q(title__icontains=wanted.text))
    if wanted.dataset:
        cases = cases.filter(dataset__public_id=wanted.dataset)
    if wanted.state:
        cases = exclude_closed(_filter_by_state(cases, CaseState(wanted.state)), closed, "pk")
    down = "-" if wanted.sort.startswith("-") else ""
    cases = cases.annotate(sort_key=F(SORT_FIELDS[wanted.sort.removeprefix("-")]))
    return cases.order_by(f"{down}sort_key", f"{down}id")


def _filter_by_state(cases: QuerySet[Encounter], state: CaseState) -> QuerySet[Encounter]:
    """The same rules as `case_state`, in SQL."""
    shown = _shown_first(CaseRun.objects.filter(encounter=OuterRef("pk"))).values("id")[:1]
    cases = cases.annotate(shown_run=Subquery(shown))
    if state is CaseState.NONE:
        return cases.filter(shown_run__isnull=True)

    def some(*states: str) -> Exists:
        return Exists(StageRun.objects.filter(case_run=OuterRef("shown_run"), state__in=states))

    cases = cases.filter(shown_run__isnull=False)
    failed, cancelled, running = (
        some(JobState.FAILED),
        some(JobState.CANCELLED),
        some(JobState.RUNNING),
    )
    waiting = some(JobState.QUEUED, JobState.BLOCKED)
    match state:
        case CaseState.FAILED:
            return cases.filter(failed)
        case CaseState.CANCELLED:
            return cases.filter(~failed, cancelled)
        case CaseState.RUNNING:
            return cases.filter(~failed, ~cancelled, running)
        case CaseState.WAITING:
            return cases.filter(~failed, ~cancelled, ~running, waiting)
        case _:
            return cases.filter(~failed, ~cancelled, ~running, ~waiting)


def case_rows(encounters: Sequence[Encounter], *, closed: Collection[int] = ()) -> list[CaseRow]:
    """Return the lines of one page, in a fixed number of queries.

    Lines of `closed` cases show nothing of their timelines.
    """
    ids = [e.pk for e in encounters if e.pk not in closed]
    shown = shown_case_runs(ids)
    states = load_states(run.pk for run in shown.values())
    kinds = _kinds(ids)
    rows = []
    for e in encounters:
        run = shown.get(e.pk)
        rows.append(
            CaseRow(
                public_id=e.public_id,
                case_id=e.case_id,
                title=e.title,
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
                kinds=kinds[e.pk],
                other_run=getattr(run, "other_run", False),
            )
        )
    return rows


def _stay_words(encounter: Encounter) -> str:
    if encounter.discharged_at is None:
        return "–"
    return f"{(encounter.discharged_at - encounter.admitted_at).total_seconds() / 86400:.1f} d"


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


def _kinds(encounter_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    found: dict[int, set[str]] = defaultdict(set)
    for encounter, kind in (
        Timeline.objects.filter(encounter_id__in=encounter_ids)
        .values_list("encounter_id", "kind")
        .distinct()
    ):
        found[encounter].add(kind)
    return defaultdict(
        tuple,
        {e: tuple(k.value for k in TimelineKind if k.value in kinds) for e, kinds in found.items()},
    )
