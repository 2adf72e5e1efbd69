"""Imports: bring files, check them, import them, and follow that."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.models import Role
from accounts.requests.guard import find_odd_text, refuse
from accounts.scoping import StudyRequest, study_role_required
from ehr.formats.base import FormatError
from ehr.formats.recognition import find_root
from ehr.ingest.cases import Replacing
from ehr.ingest.sources import FORMAT_WORDS, list_expected
from ehr.models import Dataset, ImportJob, Upload
from ehr.uploads import actions
from ehr.uploads.finding import (
    find_good_check,
    find_latest_job,
    find_latest_jobs,
    find_upload,
    read_paths,
    record_upload,
    send_reasons,
)
from ehr.uploads.forms import FolderForm, SettingsForm
from ehr.uploads.names import UploadRefused
from ehr.uploads.progress import describe_job
from ehr.uploads.receiving import drop_arrival, take_files
from ehr.uploads.samples import list_columns
from ehr.uploads.storage import find_files
from jobs.states import InvalidTransition

PER_PAGE = 30


@require_GET
@study_role_required(Role.ADMIN)
def imports(request: StudyRequest) -> HttpResponse:
    """List the datasets of the study, and what was brought."""
    datasets = Dataset.objects.filter(study=request.study).order_by("name")
    found = Upload.objects.filter(study=request.study).select_related("created_by")
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    jobs = find_latest_jobs(page.object_list)
    lines = [_describe(upload, jobs.get(upload.pk)) for upload in page.object_list]
    context = {
        "datasets": datasets.annotate(cases=Count("encounters")),
        "page": page,
        "lines": lines,
    }
    return render(request, "ehr/imports/list.html", context)


@require_http_methods(["GET", "POST"])
@study_role_required(Role.ADMIN)
def import_new(request: StudyRequest) -> HttpResponse:
    """Take files or a folder of the server, and check them at once."""
    if request.method == "POST":
        try:
            if sentence := find_odd_text(request.POST):
                return refuse(request, sentence)
            upload = _bring(request)
        except UploadRefused as error:
            status = 422 if request.headers.get("X-Upload") else 200
            context = {"form": FolderForm(), "refusal": str(error)}
            return render(request, "ehr/imports/new.html", context, status=status)
        finally:
            drop_arrival(request)
        if upload.format:
            _check_at_once(request, upload)
        return redirect("ehr:upload", upload.public_id)
    return render(request, "ehr/imports/new.html", {"form": FolderForm()})


def _bring(request: StudyRequest) -> Upload:
    """Store what the form brings. Raises UploadRefused."""
    if folder := request.POST.get("folder", ""):
        return actions.choose_folder(study=request.study, key=folder, by=request.user)
    files = take_files(request, read_paths(request.POST.get("paths", "")))
    return actions.store_upload(study=request.study, files=files, by=request.user)


def _check_at_once(request: StudyRequest, upload: Upload) -> None:
    try:
        actions.start_check(upload=upload, format=upload.format, mapping={}, by=request.user)
    except (FormatError, UploadRefused) as error:
        messages.warning(request, str(error))


@require_GET
@study_role_required(Role.ADMIN)
def upload(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show what was brought: its state, preview and faults.

    htmx gets the state alone, and once the job has ended the whole page.
    """
    found = find_upload(request.user, public_id)
    if request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        context = _describe(found, find_latest_job(found))
        response = render(request, "ehr/imports/_live.html", context)
        if context["line"] is None or not context["line"].active:
            response["HX-Refresh"] = "true"
    else:
        response = _page(request, found, _form(request, found, None))
        record_upload(found, "import.preview", request.user)
    response["Vary"] = "HX-Request"
    return response


@require_POST
@study_role_required(Role.ADMIN)
def settings(request: StudyRequest, public_id: str) -> HttpResponse:
    """Check again or import, with the format and mapping of the form."""
    found = find_upload(request.user, public_id)
    form = _form(request, found, request.POST)
    if form.is_valid():
        try:
            _start(request, found, form)
        except (FormatError, UploadRefused) as error:
            form.add_error(None, str(error))
        else:
            return redirect("ehr:upload", found.public_id)
    return _page(request, found, form)


@require_POST
@study_role_required(Role.ADMIN)
def upload_action(request: StudyRequest, public_id: str, action: str) -> HttpResponse:
    """Pause, resume, cancel or retry the latest job, or remove the files."""
    found = find_upload(request.user, public_id)
    job = find_latest_job(found)
    try:
        if action == "remove":
            actions.remove_files(upload=found, by=request.user)
        elif (act := actions.STEPS.get(action)) is None or job is None:
            raise Http404
        else:
            act(job=job, by=request.user)
    except InvalidTransition:
        messages.warning(request, "It has ended already, or goes on.")
    except UploadRefused as error:
        messages.warning(request, str(error))
    return redirect("ehr:upload", found.public_id)


@require_GET
@study_role_required(Role.ADMIN)
def reasons(request: StudyRequest, public_id: str) -> HttpResponseBase:
    """Download the reasons of the latest job as a CSV."""
    return send_reasons(find_upload(request.user, public_id), request.user)


def _start(request: StudyRequest, upload: Upload, form: SettingsForm) -> None:
    """Save the mapping if asked, and start. Raises FormatError, UploadRefused."""
    data = form.cleaned_data
    chosen: dict[str, Any] = {"format": data["format"], "mapping": data["mapping"]}
    if data.get("save_as") and data["mapping"]:
        actions.save_mapping(study=upload.study, name=data["save_as"], by=request.user, **chosen)
    if form.importing:
        name, replacing = data["name"], Replacing(data["replace"], data["delete_authored"])
        actions.start_import(
            upload=upload, name=name, replacing=replacing, by=request.user, **chosen
        )
    else:
        actions.start_check(upload=upload, by=request.user, **chosen)


def _page(request: StudyRequest, upload: Upload, form: SettingsForm) -> HttpResponse:
    check = find_good_check(upload)
    context = _describe(upload, find_latest_job(upload)) | {"form": form, "check": check}
    return render(request, "ehr/imports/upload.html", context)


def _describe(upload: Upload, job: ImportJob | None) -> dict[str, Any]:
    line = describe_job(job) if job else None
    return {
        "upload": upload,
        "job": job,
        "line": line,
        "importing": job is not None and job.kind == ImportJob.Kind.IMPORT,
        "format_words": FORMAT_WORDS.get(upload.format, ""),
        "expected": [] if upload.format else list_expected(),
    }


def _form(request: StudyRequest, upload: Upload, data: Any) -> SettingsForm:
    there = upload.removed_at is None and upload.format == "csv"
    columns = list_columns(find_root(find_files(upload), "csv")) if there else []
    return SettingsForm(data, upload=upload, study=upload.study, columns=columns)
