"""Start and write the report of a launch."""

from __future__ import annotations

from django.db import transaction

from accounts.audit.trail import record
from accounts.models import User
from adjudication.models import RecipeLaunch, StudyReport
from adjudication.recipes.report.gathering import gather_report
from adjudication.recipes.results import load_results
from adjudication.study_report.files import pack
from adjudication.study_report.pdf import write_pdf
from adjudication.study_report.values import to_plain
from jobs.hints import send_hints
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work


@transaction.atomic
def start_report(*, launch: RecipeLaunch, by: User | None) -> StudyReport:
    """Queue a report of what the launch has made so far.

    One that waits is returned.

    The caller checks that the person manages the study.
    """
    waiting = launch.reports.filter(state__in=(JobState.QUEUED, JobState.RUNNING)).first()
    if waiting is not None:
        return waiting
    report = StudyReport.objects.create(launch=launch, created_by=by)
    record(
        actor=by,
        study=launch.study,
        action="recipe.report",
        object_type="adjudication.recipe",
        object_id=launch.public_id,
    )
    send_hints(StudyReport, [report.pk])
    return report


def execute_report(report_id: int) -> JobState | None:
    """Write the report if it waits; return its new state.

    None if there was nothing to do.
    """
    return work(StudyReport, report_id, _write)


def _write(report: StudyReport, hold: Hold) -> None:
    results = load_results(report.launch)
    made = gather_report(results)
    hold.check()
    pdf = write_pdf(made)
    hold.check()
    archive = pack(made, report.launch.version.text, pdf)
    with write_guard(hold):
        StudyReport.objects.filter(pk=report.pk).update(
            content=to_plain(made), pdf=pdf, archive=archive
        )
