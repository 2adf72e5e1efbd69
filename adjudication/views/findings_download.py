"""All findings of a judge run as a file, and what its columns mean."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import Http404, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from accounts.audit import record
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required
from adjudication import findings_export
from adjudication.exposure import record_exposure
from adjudication.models import JudgeRun
from adjudication.readers import closed_to
from adjudication.views.judge_runs import judge_run_of
from ehr.models import Encounter

DICTIONARY = "dictionary"


@require_GET
@study_role_required(*CASE_READERS)
def findings_download(request: StudyRequest, public_id: str, format: str) -> HttpResponseBase:
    """Every finding that is open to the person; `text=1` adds words of note, timelines, record and judge. "dictionary": the columns."""
    return findings_file(request, judge_run_of(request, public_id), format)


def findings_file(request: StudyRequest, run: JudgeRun, format: str) -> StreamingHttpResponse:
    """The file, told of in the trail: whoever has a file of findings has seen their cases unblinded. Raises Http404 for another format."""
    with_text = request.GET.get("text") == "1"
    if format == DICTIONARY:
        return _file(
            findings_export.write_dictionary(with_text=with_text), "text/csv; charset=utf-8", f"data-dictionary-{run.public_id}.csv"
        )
    if format not in findings_export.FORMATS:
        raise Http404
    kind, ending, write = findings_export.FORMATS[format]
    found = findings_export.exported(run, closed_to(request.user))
    cases = Encounter.objects.filter(pk__in=found.order_by().values("game__comparison__encounter").distinct())
    record_exposure(user=request.user, encounters=cases.select_related("dataset__study"), page="findings file")
    record(
        actor=request.user,
        study=run.study,
        action="findings.export",
        object_type="adjudication.judge_run",
        object_id=run.public_id,
        detail={"format": format, "text": with_text, "findings": found.count()},
    )
    return _file(write(findings_export.lines(run, found), with_text=with_text), kind, f"findings-{run.public_id}.{ending}")


def _file(content: Iterator[bytes], kind: str, name: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(content, content_type=kind)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
