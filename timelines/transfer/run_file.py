"""The timelines of a run, one JSON object per line, made while sent.

A file of all formats that can be resumed is a job (`timelines.transfer`); this one is for programs
that read along.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from django.db.models import QuerySet
from django.http import StreamingHttpResponse

from accounts.audit.trail import record, record_each
from accounts.models import User
from ehr.models import Encounter
from timelines.access.asking import ask_first
from timelines.access.closed import closed_encounters, exclude_closed
from timelines.case_state import CaseState
from timelines.formats.lines import line_values
from timelines.models import CaseRun, Run
from timelines.transfer.lines import Selection, export_cases

CONTENT_TYPE = "application/jsonl"
CHUNK = 100


def stream_run(run: Run, user: User, *, with_note_text: bool) -> StreamingHttpResponse:
    """Return the finished timelines of a run, a line for each occurrence.

    Closed cases are left out. The trail records every other case as seen before anything is sent.
    Raises AskFirst.
    """
    done = CaseRun.objects.filter(run=run, state=CaseState.DONE)
    done = exclude_closed(done, closed_encounters(user))
    cases = Encounter.objects.filter(pk__in=done.values("encounter")).order_by("case_id")
    ids = list(cases.values_list("public_id", flat=True))
    ask_first(user, ids)
    detail = {"format": "jsonl", "run": run.public_id, "text": with_note_text}
    record_each(
        actor=user,
        study=run.study,
        action="case.export",
        object_type="ehr.encounter",
        object_ids=ids,
        detail=detail,
    )
    record(
        actor=user,
        study=run.study,
        action="timelines.export",
        object_type="timelines.run",
        object_id=run.public_id,
        detail={**detail, "cases": len(ids)},
    )
    response = StreamingHttpResponse(
        _lines(run, cases, with_note_text), content_type=f"{CONTENT_TYPE}; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="timelines-{run.public_id}.jsonl"'
    return response


def _lines(run: Run, cases: QuerySet[Encounter], with_note_text: bool) -> Iterator[bytes]:
    wanted = Selection(run=run.public_id)
    for case in export_cases(cases.iterator(chunk_size=CHUNK), wanted):
        for line in case.lines:
            values = line_values(line, with_note_text=with_note_text)
            yield (json.dumps(values, ensure_ascii=False) + "\n").encode()
