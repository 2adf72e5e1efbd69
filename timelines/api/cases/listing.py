"""The list of cases in the API: the filters and the order of its page."""

from __future__ import annotations

from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from accounts.api_access.access import (
    STUDY,
    ApiView,
    find_study,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import AFTER, LIMIT, read_choice, read_limit
from accounts.models import Study
from accounts.permissions import CASE_READERS
from timelines.access.closed import closed_encounters
from timelines.api.cases import bodies
from timelines.case_state import CaseState
from timelines.cases.listing import DEFAULT_SORT, SORTS, CaseFilter, case_rows
from timelines.cases.paging import load_case_page
from timelines.registry import case_questions

case_operation = partial(operation, "cases")
_STATES = [str(state) for state in CaseState]
_FILTERS = [
    OpenApiParameter("dataset", str, description="Public id of a dataset."),
    OpenApiParameter("state", str, enum=_STATES, description="Of the run that is shown first."),
    *(
        OpenApiParameter(q.name, str, enum=list(bodies.ANSWERS), description=f"{q.yes} / {q.no}")
        for q in case_questions().values()
    ),
    OpenApiParameter("sort", str, enum=sorted(SORTS), description="`-`: the other way round."),
]


class Cases(ApiView):
    @case_operation(
        "case_list",
        bodies.CasePage,
        parameters=[STUDY, *_FILTERS, LIMIT, AFTER],
    )
    def get(self, request: Request) -> dict[str, Any]:
        """Return the cases of a study that match."""
        study = find_study(request, request.query_params.get("study", ""), CASE_READERS)
        answers = {name: read_choice(request, name, bodies.ANSWERS) for name in case_questions()}
        wanted = CaseFilter(
            dataset=request.query_params.get("dataset", ""),
            state=read_choice(request, "state", _STATES),
            answers=_read_answers(answers),
            sort=read_choice(request, "sort", sorted(SORTS)) or DEFAULT_SORT,
        )
        after = request.query_params.get("after", "")
        return _load(request, study, wanted, after, read_limit(request))


class CaseSearch(ApiView):
    @case_operation("case_search", bodies.CasePage, takes=bodies.CaseSearch)
    def post(self, request: Request) -> dict[str, Any]:
        """Return the cases whose id or title has the text.

        It is in the body because addresses never have it."""
        require_studies(request)
        values = read_body(bodies.CaseSearch, request)
        study = find_study(request, values["study"], CASE_READERS)
        if unknown := sorted(set(values["answers"]) - set(case_questions())):
            raise ValidationError({"answers": [f"Unknown: {', '.join(unknown)[:200]}."]})
        wanted = CaseFilter(
            text=values["text"].strip(),
            dataset=values["dataset"],
            state=values["state"],
            answers=_read_answers(values["answers"]),
            sort=values["sort"],
        )
        return _load(request, study, wanted, values["after"], values["limit"])


def _read_answers(answers: dict[str, str]) -> tuple[tuple[str, bool], ...]:
    return tuple((name, answer == "yes") for name, answer in answers.items() if answer)


def _load(
    request: Request, study: Study, wanted: CaseFilter, after: str, limit: int
) -> dict[str, Any]:
    closed = closed_encounters(require_person(request))
    cases, following = load_case_page(study, wanted, closed, after, limit)
    rows = zip(cases, case_rows(cases, closed=closed), strict=True)
    return {"next": following, "results": [{"encounter": e, "row": row} for e, row in rows]}
