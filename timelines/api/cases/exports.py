"""A timeline of a case as a file, in the API.

Guards and exposure work as on the case page.
"""

from __future__ import annotations

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api_access.access import ApiView, build_page_request, require_studies
from accounts.api_access.operations import operation
from timelines.cases.exporting.formats import FORMATS
from timelines.cases.exporting.serving import case_file

_FILE = {
    (200, kind.content_type.partition(";")[0]): (
        OpenApiTypes.BINARY if name == "pdf" else OpenApiTypes.STR
    )
    for name, kind in FORMATS.items()
}


class CaseExport(ApiView):
    @operation(
        "cases",
        "case_export",
        _FILE,
        refuses=(409,),
        parameters=[
            OpenApiParameter("form", str, OpenApiParameter.PATH, enum=list(FORMATS)),
            OpenApiParameter(
                "t",
                str,
                description="Public id of a timeline of the case; by default the one that opens first.",
            ),
            OpenApiParameter("text", str, enum=["1"], description="Add the note's own words."),
        ],
    )
    def get(self, request: Request, case_id: str, form: str) -> HttpResponse:
        """Return one timeline of a case as a file.

        CSV and JSONL have the columns of exported timelines, JSONL also the chain of each time. FHIR
        is an R4 Bundle. The PDF is a one-page report.
        """
        require_studies(request)
        return case_file(build_page_request(request), case_id, form)
