"""Start and work on as-of reports and leakage checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from accounts.audit.trail import record
from accounts.models import Study, User
from accounts.permissions import check_user_can_open_cases
from cohorts.asof.checking import Finding, check_features
from cohorts.asof.counting import Question, count_states, find_asked_timelines
from cohorts.asof.documenting import store_documented
from cohorts.asof.features import Feature
from cohorts.asof.states import State
from cohorts.facts.choosing import find_timelines
from cohorts.models import AsOfReport, ConceptVersion, LeakageCheck
from cohorts.values import Source
from ehr.models import Dataset
from jobs.errors import PermanentFailure
from jobs.hints import send_hints
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work


class AsOfRefused(ValueError):
    """A report or check that cannot be started; the message says what to do."""

    log_safe = True


NO_TIMELINES = "The dataset has no such timeline. Choose a study timeline, or a source."


class NoTimelines(PermanentFailure):
    """The source has no timeline in this dataset."""


@transaction.atomic
def start_report(
    *, question: Question, concepts: Sequence[ConceptVersion] = (), label: str = "", by: User
) -> AsOfReport:
    """Queue a report. Raises AsOfRefused."""
    study = question.dataset.study
    _check(question, study, concepts, by)
    report = AsOfReport.objects.create(
        study=study,
        dataset=question.dataset,
        label=label,
        source=question.source.value,
        hours=question.hours,
        after=question.after,
        created_by=by,
    )
    report.concepts.set(concepts)
    _audit("asof.report", "cohorts.asofreport", report.public_id, study, by)
    send_hints(AsOfReport, [report.pk])
    return report


@transaction.atomic
def start_check(
    *,
    dataset: Dataset,
    source: Source,
    features: Sequence[Feature] = (),
    hours: float | None = None,
    after: ConceptVersion | None = None,
    label: str = "",
    by: User,
) -> LeakageCheck:
    """Queue a check of features, or of a rule (`hours`, `after`).

    Raises AsOfRefused.
    """
    if bool(features) == (hours is not None):
        raise AsOfRefused("Bring features, or enter the hours of a rule, not both.")
    _check(Question(dataset, source, hours or 0.0, after), dataset.study, (), by)
    check = LeakageCheck.objects.create(
        study=dataset.study,
        dataset=dataset,
        label=label,
        source=source.value,
        features=[[one.line, one.case, one.name, one.hours] for one in features],
        hours=hours,
        after=after,
        created_by=by,
    )
    _audit("asof.check", "cohorts.leakagecheck", check.public_id, dataset.study, by)
    send_hints(LeakageCheck, [check.pk])
    return check


def question_of(job: AsOfReport | LeakageCheck) -> Question:
    """Return what a report, or the rule of a check, asks."""
    return Question(job.dataset, Source(job.source), job.hours or 0.0, job.after)


def execute_report(report_id: int) -> JobState | None:
    """Count if the job waits; return its new state, or None."""
    return work(AsOfReport, report_id, _report)


def execute_check(check_id: int) -> JobState | None:
    """Check if the job waits; return its new state, or None."""
    return work(LeakageCheck, check_id, _work_on_check)


def _report(report: AsOfReport, hold: Hold) -> None:
    found = _count(report, list(report.concepts.all()), hold)
    with write_guard(hold):
        AsOfReport.objects.filter(pk=report.pk).update(report=found)


def _work_on_check(check: LeakageCheck, hold: Hold) -> None:
    found = _check_file(check, hold) if check.features else _count(check, [], hold)
    with write_guard(hold):
        LeakageCheck.objects.filter(pk=check.pk).update(report=found)


def _count(
    job: AsOfReport | LeakageCheck, concepts: Sequence[ConceptVersion], hold: Hold
) -> dict[str, Any]:
    question = question_of(job)
    timelines = find_asked_timelines(question)
    if not timelines:
        raise NoTimelines(NO_TIMELINES)
    store_documented(timelines, hold)
    hold.check()
    return count_states(question, timelines, concepts)


def _check_file(check: LeakageCheck, hold: Hold) -> dict[str, Any]:
    """Return how many features have each state, and those that leak."""
    if not find_timelines(check.dataset, Source(check.source)).exists():
        raise NoTimelines(NO_TIMELINES)
    features = [Feature(*values) for values in check.features]
    counts: Counter[str] = Counter()
    leaks: list[dict[str, Any]] = []
    for number, found in enumerate(
        check_features(check.dataset, Source(check.source), features), start=1
    ):
        counts[found.state.value if found.state else "unmatched"] += 1
        if found.state is not State.KNOWN:
            leaks.append(to_plain(found))
        if number % 1000 == 0:
            hold.report(done=number, total=len(features), words="checking the features")
    leaks.sort(key=lambda one: one["line"])
    return {"counts": dict(counts), "leaks": leaks}


def to_plain(found: Finding) -> dict[str, Any]:
    """Return a finding as a check stores it."""
    return {
        "line": found.feature.line,
        "stay": found.encounter,
        "name": found.feature.name,
        "hours": found.feature.hours,
        "state": found.state.value if found.state else "",
        "used": [[one.entry, one.state.value] for one in found.used],
    }


def _check(question: Question, study: Study, concepts: Sequence[ConceptVersion], by: User) -> None:
    check_user_can_open_cases(by, study)
    if question.source is Source.ROWS:
        raise AsOfRefused("Rows are not occurrences. Choose the note, the record or a reference.")
    versions = [*concepts, *([question.after] if question.after else [])]
    if any(version.concept.study_id != study.pk for version in versions):
        raise AsOfRefused("A concept of another study cannot be used here.")
    if question.after is not None and not any(
        member["kind"] == "mention" for member in question.after.members
    ):
        raise AsOfRefused("The concept of hour 0 has no mention. Accept mentions first.")


def _audit(action: str, kind: str, public_id: str, study: Study, by: User) -> None:
    record(actor=by, study=study, action=action, object_type=kind, object_id=public_id)
