"""Files of a judge run's findings and games, recorded in the audit trail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.db.models import QuerySet
from django.http import Http404, StreamingHttpResponse

from accounts.audit.trail import record
from accounts.scoping import StudyRequest
from adjudication.access.closed import check_judge_run_is_open, find_closed_objects
from adjudication.access.exposure import record_exposure
from adjudication.export_files import FORMATS, Column, write_blocks, write_dictionary
from adjudication.findings import export as findings_export
from adjudication.findings import games_export
from adjudication.models import Finding, Game, JudgeRun
from ehr.models import Encounter

DICTIONARY = "dictionary"


def findings_file(request: StudyRequest, run: JudgeRun, format: str) -> StreamingHttpResponse:
    """Stream the findings as a file and record it in the audit trail.

    The file unblinds its cases for its reader. Raises Http404 for another format.
    """
    with_text, closed = request.GET.get("text") == "1", find_closed_objects(request.user)
    check_judge_run_is_open(run, closed)
    columns = findings_export.columns(with_text=with_text)
    if format == DICTIONARY:
        return _dictionary(columns, f"data-dictionary-{run.public_id}.csv")
    _check_format(format)
    found = findings_export.find_exportable_findings(run, closed)
    detail = {"format": format, "text": with_text, "findings": found.count()}
    _record_export(request, run, found, "game__comparison__encounter", "findings", detail)
    stem = f"findings-{run.public_id}"
    if format == "parquet":
        content = write_blocks(findings_export.blocks(run, found), columns)
        return _attachment(content, FORMATS[format][0], f"{stem}.{format}")
    return _file(findings_export.lines(run, found), columns, format, stem)


def games_file(request: StudyRequest, run: JudgeRun, format: str) -> StreamingHttpResponse:
    """Stream the games as a file, as `findings_file`: it unblinds equally."""
    closed = find_closed_objects(request.user)
    check_judge_run_is_open(run, closed)
    if format == DICTIONARY:
        return _dictionary(games_export.COLUMNS, f"data-dictionary-games-{run.public_id}.csv")
    _check_format(format)
    found = games_export.find_exportable_games(run, closed)
    _record_export(
        request,
        run,
        found,
        "comparison__encounter",
        "games",
        {"format": format, "games": found.count()},
    )
    return _file(
        games_export.lines(run, found), games_export.COLUMNS, format, f"games-{run.public_id}"
    )


def _check_format(format: str) -> None:
    if format not in FORMATS:
        raise Http404


def _record_export(
    request: StudyRequest,
    run: JudgeRun,
    found: QuerySet[Finding] | QuerySet[Game],
    case: str,
    what: str,
    detail: dict[str, object],
) -> None:
    """Record in the trail whose cases the person has seen, and what file."""
    cases = Encounter.objects.filter(pk__in=found.order_by().values(case).distinct())
    record_exposure(
        user=request.user, encounters=cases.select_related("dataset__study"), page=f"{what} file"
    )
    record(
        actor=request.user,
        study=run.study,
        action=f"{what}.export",
        object_type="adjudication.judge_run",
        object_id=run.public_id,
        detail=detail,
    )


def _dictionary(columns: Sequence[Column], name: str) -> StreamingHttpResponse:
    return _attachment(write_dictionary(columns), "text/csv; charset=utf-8", name)


def _file(
    lines: Iterator[dict[str, object]], columns: Sequence[Column], format: str, stem: str
) -> StreamingHttpResponse:
    kind, ending, write = FORMATS[format]
    return _attachment(write(lines, columns), kind, f"{stem}.{ending}")


def _attachment(content: Iterator[bytes], kind: str, name: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(content, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
