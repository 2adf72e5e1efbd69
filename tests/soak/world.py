"""A small cohort, runs over it, and what they stored."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from ehr.models import Dataset
from jobs.states import FINAL
from tests.soak.backbone import NAME
from timelines.models import Candidate, Entry, Evidence, Query, Run, StageBatch, StageRun
from timelines.runs.actions import start_run

ADMITTED = datetime(2150, 1, 1, 8)
WORDS = ("haemorrhage", "andexanet", "creatinine", "troponin level", "transfusion", "discharged")
ROWS = 24


def import_cohort(folder: Path, count: int) -> Dataset:
    """Import that many short stays."""
    from accounts.actions import create_study
    from ehr.actions import import_dataset

    for number in range(count):
        write_case(folder / f"case-{number:04}", number)
    study = create_study(name="soak", by=None)
    report = import_dataset(path=folder, format="cases", name="cohort", study=study, by=None)
    assert report.clean, report.lines()
    return Dataset.objects.get(study=study)


def write_case(folder: Path, number: int) -> None:
    """Write a stay with a note of a few words and rows about them."""
    folder.mkdir(parents=True)
    stay = {
        "case_id": folder.name,
        "admitted_at": ADMITTED.isoformat(),
        "discharged_at": (ADMITTED + timedelta(days=3)).isoformat(),
        "anchor": "admission",
        "title": "A stay of the soak",
    }
    (folder / "encounter.json").write_text(json.dumps(stay))
    (folder / "note.txt").write_text(f"Stay {number}: {', '.join(WORDS)} on day {number % 3}.")
    lines = ["t,event,value,unit,source,time_kind"]
    for n in range(ROWS):
        at = (ADMITTED + timedelta(hours=n + number % 5)).isoformat()
        lines.append(f"{at},lab:{WORDS[n % len(WORDS)]}:blood,{n},,labevents,collection")
    (folder / "rows.csv").write_text("\n".join([*lines, ""]))


def start(dataset: Dataset, cases: int | None = None, backbone: str = NAME) -> Run:
    """Start a run over the cohort, or over its first cases."""
    names = None
    if cases is not None:
        names = list(dataset.encounters.order_by("case_id").values_list("case_id", flat=True))
        names = names[:cases]
    return start_run(dataset=dataset, backbone=backbone, cases=names, by=None)


def count_active(run: Run) -> int:
    """Return how many stages have not ended."""
    return StageRun.objects.filter(case_run__run=run).exclude(state__in=FINAL).count()


def read_results(run: Run) -> dict[str, Any]:
    """Return what the run stored: counts, and a digest without keys."""
    found = {
        "entries": list(_read(Entry.objects.filter(timeline__case_run__run=run), _ENTRY)),
        "queries": list(_read(Query.objects.filter(case_run__run=run), _QUERY)),
        "candidates": list(_read(Candidate.objects.filter(query__case_run__run=run), _CANDIDATE)),
        "evidence": list(_read(Evidence.objects.filter(case_run__run=run), _EVIDENCE)),
        "batches": list(_read(StageBatch.objects.filter(stage_run__case_run__run=run), _BATCH)),
    }
    text = json.dumps(found, default=str, sort_keys=True)
    counts = {name: len(rows) for name, rows in found.items()}
    return {**counts, "sha256": hashlib.sha256(text.encode()).hexdigest()}


_CASE = "case_run__encounter__case_id"
_ENTRY = (
    f"timeline__{_CASE}", "timeline__kind", "timeline__alternative", "occurrence__ordinal",
    "occurrence__uid4", "occurrence__mention", "time", "lower", "upper", "known", "context",
    "decided_by", "reason", "adopted_rows",
)  # fmt: skip
_QUERY = (_CASE, "occurrence__ordinal", "ordinal", "text")
_CANDIDATE = (
    f"query__{_CASE}", "query__occurrence__ordinal", "query__ordinal", "dense_rank",
    "series__event", "kept", "fate",
)  # fmt: skip
_EVIDENCE = (
    _CASE, "candidate__query__occurrence__ordinal", "candidate__query__ordinal",
    "candidate__dense_rank", "row_index", "event", "value",
)  # fmt: skip
_BATCH = (f"stage_run__{_CASE}", "stage_run__stage", "ordinal")


def _read(rows: Any, columns: tuple[str, ...]) -> Any:
    """Return these columns in an order of their own, not that of storing."""
    return rows.order_by(*columns).values_list(*columns)
