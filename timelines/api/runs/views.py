"""Runs in the API: launch, follow and steer them.

The guards are those of the pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from django.db import transaction
from django.http import Http404, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from accounts.api_access.access import (
    ADMINS,
    STUDY,
    ApiView,
    check_form,
    find_requested_studies,
    find_study,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.errors import Refusal
from accounts.api_access.etags import check_match, make_etag
from accounts.api_access.operations import operation
from accounts.api_access.paging import (
    AFTER,
    LIMIT,
    OFFSET,
    load_next_page,
    load_page,
    read_choice,
)
from accounts.models import Role
from accounts.permissions import CASE_READERS
from ehr.models import Dataset
from timelines.access.authoring import check_user_may_see_timelines
from timelines.access.closed import check_run_is_open, closed_encounters, open_runs
from timelines.api.runs import bodies
from timelines.api.runs.lines import describe_run, describe_runs
from timelines.case_state import CaseState
from timelines.models import CaseRun, Run
from timelines.pipeline.config import Preset, Variant
from timelines.pipeline.setting_words import SETTING_WORDS
from timelines.runs import actions, tools
from timelines.runs.page.finding import find_case_run, find_case_runs, find_run
from timelines.runs.page.form import ADVANCED, BACKBONES, NONE, BaseField, LaunchForm
from timelines.runs.page.grid import CaseLine, case_lines
from timelines.runs.study_timeline.actions import choose_study_timeline
from timelines.transfer.run_file import CONTENT_TYPE, stream_run

run_operation = partial(operation, "runs")
_STATES = [str(state) for state in CaseState]


def make_run_etag(line: dict[str, Any]) -> str:
    """Return the ETag of what can be edited of a run."""
    return make_etag("run", line["run"].label)


class Runs(ApiView):
    @run_operation("run_list", bodies.RunPage, parameters=[STUDY, LIMIT, OFFSET])
    def get(self, request: Request) -> dict[str, Any]:
        """Return the runs of your studies, newest first."""
        closed = closed_encounters(require_person(request))
        runs = open_runs(Run.objects.filter(study__in=find_requested_studies(request)), closed)
        related = runs.select_related("study", "dataset", "created_by")
        return load_page(
            request,
            related.order_by("-created_at", "-pk"),
            lambda found: describe_runs(found, closed),
        )

    @run_operation(
        "run_start",
        bodies.RunDetail,
        refuses=(422,),
        takes=bodies.RunStart,
        status=HTTPStatus.CREATED,
        etag=make_run_etag,
        starts=True,
    )
    def post(self, request: Request) -> dict[str, Any]:
        """Reconstruct the cases of a dataset. For study admins."""
        studies = require_studies(request, ADMINS)
        values = read_body(bodies.RunStart, request)
        dataset = get_object_or_404(Dataset, study__in=studies, public_id=values["dataset"])
        settings = _read_settings(values["settings"])
        form = LaunchForm(
            {
                **values,
                **settings,
                "variant": [values["variant"]],
                "cases": "\n".join(values["cases"]),
            },
            study=dataset.study,
            closed=closed_encounters(require_person(request)),
        )
        check_form(form, whole="settings")
        (arguments,) = form.launch_arguments()
        run = actions.start_run(by=require_person(request), **arguments)
        return _describe(request, run)


class RunChoices(ApiView):
    @run_operation("run_choices", bodies.RunChoices, parameters=[STUDY])
    def get(self, request: Request) -> dict[str, Any]:
        """Return what a run can be started with. For admins of the study."""
        study = find_study(request, request.query_params.get("study", ""))
        form = LaunchForm(study=study, closed=closed_encounters(require_person(request)))
        bases = form.fields["based_on"]
        assert isinstance(bases, BaseField)
        found: Any = bases.queryset
        for base in found:
            base.name = bases.label_from_instance(base)
        return {
            "study": study.public_id,
            "datasets": Dataset.objects.filter(study=study).order_by("name"),
            "backbones": [name for name, _ in BACKBONES],
            "variants": [v.value for v in Variant],
            "presets": [p.value for p in Preset],
            "models": sorted(tools.roles().endpoints),
            "bases": found,
            "settings": [{"name": name, "words": words} for name, words in SETTING_WORDS.items()],
        }


class RunOne(ApiView):
    @run_operation("run", bodies.RunDetail, etag=make_run_etag)
    def get(self, request: Request, run_id: str) -> dict[str, Any]:
        """Return one run: its progress and all its settings."""
        return _describe(request, _find_open(request, run_id))

    @run_operation(
        "run_edit",
        bodies.RunDetail,
        refuses=(422,),
        takes=bodies.RunEdit,
        etag=make_run_etag,
        edits=True,
    )
    def patch(self, request: Request, run_id: str) -> dict[str, Any]:
        """Change the label. For study admins."""
        run = _find(request, run_id, ADMINS)
        label = read_body(bodies.RunEdit, request)["label"]
        with transaction.atomic():
            Run.objects.select_for_update(of=("self",)).get(pk=run.pk)
            run.refresh_from_db(fields=["label"])
            check_match(request, make_run_etag({"run": run}))
            actions.rename_run(run=run, label=label, by=require_person(request))
        return _describe(request, run)


class RunAction(ApiView):
    @run_operation(
        "run_action",
        bodies.RunDetail,
        parameters=[
            OpenApiParameter("action", str, OpenApiParameter.PATH, enum=list(actions.STEPS))
        ],
    )
    def post(self, request: Request, run_id: str, action: str) -> dict[str, Any]:
        """Pause, resume, cancel or retry what failed or was cancelled.

        For study admins. Repeating a request does no harm.
        """
        run = _find(request, run_id, ADMINS)
        if (act := actions.STEPS.get(action)) is None:
            raise Http404
        act(run=run, by=require_person(request))
        return _describe(request, _find(request, run_id, ADMINS))


class RunCases(ApiView):
    @run_operation(
        "run_case_list",
        bodies.RunCasePage,
        parameters=[
            OpenApiParameter("state", str, enum=_STATES, description="Only these."),
            LIMIT,
            AFTER,
        ],
    )
    def get(self, request: Request, run_id: str) -> dict[str, Any]:
        """Return the cases of a run with their stages, and why any failed.

        Cases that are closed to you are left out.
        """
        run, closed = _find_open(request, run_id), closed_encounters(require_person(request))
        found = find_case_runs(run, read_choice(request, "state", _STATES), closed)
        page, following = load_next_page(found.select_related("encounter"), request)
        return {"next": following, "results": list(map(_describe_case, case_lines(page)))}


class RunCaseRetry(ApiView):
    @run_operation("run_case_retry", None, refuses=(409,))
    def post(self, request: Request, run_id: str, case_run_id: str) -> None:
        """Retry one failed or cancelled case. For study admins."""
        case_run: CaseRun = find_case_run(_find(request, run_id, ADMINS), case_run_id)
        check_user_may_see_timelines(require_person(request), case_run.encounter)
        if not actions.retry_case(case_run=case_run, by=require_person(request)):
            raise Refusal(HTTPStatus.CONFLICT, "not_now", actions.NOT_RETRIED)


class RunChosen(ApiView):
    @run_operation("run_choose", bodies.RunDetail, refuses=(422,), takes=bodies.RunChoice)
    def post(self, request: Request, run_id: str) -> dict[str, Any]:
        """Make the run the study timeline of its cohort. For study admins."""
        run = _find(request, run_id, ADMINS)
        reason = read_body(bodies.RunChoice, request)["reason"]
        choose_study_timeline(run=run, reason=reason, by=require_person(request))
        return _describe(request, run)


class RunTimelines(ApiView):
    @run_operation(
        "run_timelines",
        {(200, CONTENT_TYPE): OpenApiTypes.STR},
        parameters=[
            OpenApiParameter("text", str, enum=["1"], description="Add the note's own words.")
        ],
    )
    def get(self, request: Request, run_id: str) -> StreamingHttpResponse:
        """Return all finished timelines of a run, a JSON object per line.

        Columns are those of exported timelines. Cases that are closed to you are left out.
        """
        run, person = _find_open(request, run_id), require_person(request)
        return stream_run(run, person, with_note_text=read_choice(request, "text", ["1"]) == "1")


def _find(request: Request, run_id: str, roles: frozenset[Role] = CASE_READERS) -> Run:
    """Return a run of this person. Raises Http404, NotAllowed."""
    require_studies(request, roles)
    return find_run(require_person(request), run_id, roles=roles)


def _find_open(request: Request, run_id: str) -> Run:
    """Return such a run; raise NotAllowed if all of it is closed."""
    run = _find(request, run_id)
    check_run_is_open(run, closed_encounters(require_person(request)))
    return run


def _read_settings(values: Mapping[str, object]) -> dict[str, str]:
    """Return the settings as the launch form reads them.

    Raises ValidationError for an unknown name, or a value that is no number or text.
    """
    if unknown := sorted(set(values) - set(SETTING_WORDS)):
        raise ValidationError({"settings": [f"Unknown: {', '.join(unknown)[:200]}."]})
    words: Mapping[object, str] = {True: "yes", False: "no", None: NONE}
    written = {}
    for name, value in values.items():
        if not isinstance(value, bool | int | float | str | None):
            raise ValidationError({"settings": [f"{name}: a number, a text, true, false or null."]})
        plain = value if isinstance(value, int | float) and not isinstance(value, bool) else None
        written[f"{ADVANCED}{name}"] = (
            str(plain) if plain is not None else words.get(value, str(value))
        )
    return written


def _describe(request: Request, run: Run) -> dict[str, Any]:
    return describe_run(run, closed_encounters(require_person(request)))


def _describe_case(line: CaseLine) -> dict[str, Any]:
    troubles = [
        {
            "label": t.label,
            "failed": t.failed,
            "attempts": t.attempts,
            "reasons": [*t.earlier, t.latest],
        }
        for t in line.troubles
    ]
    return {"line": line, "troubles": troubles}
