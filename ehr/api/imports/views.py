"""Imports in the API: bring files, check, import and follow that.

Guards and audit trail are those of the pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from django.http import Http404
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api_access.access import (
    ADMINS,
    STUDY,
    ApiView,
    find_requested_studies,
    find_study,
    read_body,
    require_person,
    require_studies,
)
from accounts.api_access.operations import operation
from accounts.api_access.paging import LIMIT, OFFSET, load_page
from accounts.api_access.parsing import CheckedFilesParser, CheckedJSONParser
from accounts.models import Study
from ehr.api.imports import bodies
from ehr.api.imports.lines import describe_import, describe_imports
from ehr.formats.base import FormatError
from ehr.ingest.cases import Replacing
from ehr.models import Upload
from ehr.uploads import actions
from ehr.uploads.finding import (
    find_latest_job,
    find_upload,
    find_uploads,
    read_paths,
    record_upload,
    send_reasons,
)
from ehr.uploads.names import UploadRefused
from ehr.uploads.receiving import drop_arrival, take_files

import_operation = partial(operation, "imports")
JSON, FORM = "application/json", "multipart/form-data"


class Imports(ApiView):
    parser_classes = (CheckedJSONParser, CheckedFilesParser)

    def initial(self, request: Request, *args: Any, **options: Any) -> None:
        """Find the study first: files are received while the body is read.

        They are received for a study that was found alone. Raises NotAllowed, Http404.
        """
        super().initial(request, *args, **options)
        if request.method == "POST":
            study = find_study(request, request.query_params.get("study", ""))
            request._request.upload_study = study  # type: ignore[attr-defined]  # `ehr.uploads.receiving`

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **options: Any
    ) -> Response:
        """Remove received files that nobody took."""
        drop_arrival(getattr(request, "_request", request))
        return super().finalize_response(request, response, *args, **options)

    @import_operation("import_list", bodies.ImportPage, parameters=[STUDY, LIMIT, OFFSET])
    def get(self, request: Request) -> dict[str, Any]:
        """Return what was brought to your studies, newest first.

        For study admins.
        """
        studies = find_requested_studies(request, ADMINS)
        uploads = find_uploads(require_person(request)).filter(study__in=studies)
        return load_page(request, uploads, describe_imports)

    @import_operation(
        "import_bring",
        bodies.ImportDetail,
        refuses=(422,),
        takes={JSON: bodies.ImportFolder, FORM: bodies.ImportFiles},
        status=HTTPStatus.CREATED,
        parameters=[STUDY],
        starts=True,
    )
    def post(self, request: Request) -> dict[str, Any]:
        """Bring files or a folder of the server; check them at once.

        For study admins. Files need a token: they are not taken from a session.
        """
        upload = _bring(request, request._request.upload_study)  # type: ignore[attr-defined]
        if upload.format:
            _check_at_once(request, upload)
        return describe_import(upload)


class ImportOne(ApiView):
    @import_operation("import", bodies.ImportDetail)
    def get(self, request: Request, import_id: str) -> dict[str, Any]:
        """Return one import: its format, preview, progress, counts and faults."""
        upload = _find(request, import_id)
        record_upload(upload, "import.preview", require_person(request))
        return describe_import(upload)


class ImportCheck(ApiView):
    @import_operation(
        "import_check",
        bodies.ImportDetail,
        refuses=(422,),
        takes=bodies.ImportSettings,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, import_id: str) -> dict[str, Any]:
        """Check the files without an import. For study admins."""
        upload = _find(request, import_id)
        values = read_body(bodies.ImportSettings, request)
        actions.start_check(upload=upload, by=require_person(request), **_choose(upload, values))
        return describe_import(_find(request, import_id))


class ImportStart(ApiView):
    @import_operation(
        "import_start",
        bodies.ImportDetail,
        refuses=(422,),
        takes=bodies.ImportStart,
        status=HTTPStatus.CREATED,
        starts=True,
    )
    def post(self, request: Request, import_id: str) -> dict[str, Any]:
        """Import the files into the dataset of a name. For study admins."""
        upload = _find(request, import_id)
        values = read_body(bodies.ImportStart, request)
        actions.start_import(
            upload=upload,
            name=values["name"],
            replacing=Replacing(values["replace"], values["delete_authored"]),
            by=require_person(request),
            **_choose(upload, values),
        )
        return describe_import(_find(request, import_id))


class ImportAction(ApiView):
    @import_operation(
        "import_action",
        bodies.ImportDetail,
        refuses=(409, 422),
        parameters=[
            OpenApiParameter("action", str, OpenApiParameter.PATH, enum=[*actions.STEPS, "remove"])
        ],
    )
    def post(self, request: Request, import_id: str, action: str) -> dict[str, Any]:
        """Pause, resume, cancel or retry the latest job, or remove the files.

        For study admins.
        """
        upload, person = _find(request, import_id), require_person(request)
        job = find_latest_job(upload)
        if action == "remove":
            actions.remove_files(upload=upload, by=person)
        elif (act := actions.STEPS.get(action)) is None or job is None:
            raise Http404
        else:
            act(job=job, by=person)
        return describe_import(_find(request, import_id))


class ImportFaults(ApiView):
    @import_operation("import_faults", {(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, import_id: str) -> HttpResponseBase:
        """Return all faults of the latest job as a CSV.

        Columns: file, line, field, case_id, reason.
        """
        return send_reasons(_find(request, import_id), require_person(request))


def _find(request: Request, import_id: str) -> Upload:
    """Return an upload of this admin. Raises Http404, NotAllowed."""
    require_studies(request, ADMINS)
    return find_upload(require_person(request), import_id)


def _bring(request: Request, study: Study) -> Upload:
    """Store what the request brings. Raises UploadRefused, ValidationError."""
    person = require_person(request)
    if (request.content_type or "").partition(";")[0].strip().lower() != FORM:
        folder = read_body(bodies.ImportFolder, request)["folder"]
        return actions.choose_folder(study=study, key=folder, by=person)
    # The files are received here.
    assert request.data is not None
    paths = read_paths(request._request.POST.get("paths", ""))
    return actions.store_upload(study=study, files=take_files(request._request, paths), by=person)


def _check_at_once(request: Request, upload: Upload) -> None:
    """Queue the check, unless it is refused.

    It is refused with its reason when it is asked for.
    """
    try:
        actions.start_check(
            upload=upload, format=upload.format, mapping={}, by=require_person(request)
        )
    except (FormatError, UploadRefused):
        return


def _choose(upload: Upload, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the format and its mapping; another format begins without one.

    Raises ValidationError.
    """
    format = values.get("format") or upload.format
    if "saved" in values:
        if "mapping" in values:
            raise ValidationError({"saved": ["Send `saved` or `mapping`, not both."]})
        found = upload.study.mappings.filter(format=format, name=values["saved"]).first()
        if found is None:
            raise ValidationError({"saved": ["The study has no such mapping for this format."]})
        return {"format": format, "mapping": found.values}
    kept = upload.mapping if format == upload.format else {}
    return {"format": format, "mapping": values.get("mapping", kept)}
