"""Tables of reports, in bodies and as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.serializers import CharField, JSONField, ListField

from accounts.api_access.operations import Body, Files


class Table(Body):
    """A table.

    A cell is a text, a count, or a figure as {value, low, high, why}. A figure has its interval if
    there is one; if `value` is null, `why` says why.
    """

    name = CharField()
    title = CharField()
    heads = ListField(child=CharField())
    rows = ListField(child=ListField(child=JSONField()))


def build_form_parameter(formats: Iterable[str]) -> OpenApiParameter:
    """Describe the part of an address that names the form of a file."""
    words = "`dictionary`: the columns."
    return OpenApiParameter(
        "form", str, OpenApiParameter.PATH, enum=list(formats), description=words
    )


def describe_table_files(formats: Mapping[str, tuple[str, str]]) -> tuple[OpenApiParameter, Files]:
    """Describe the forms of a table as a file: the parameter and the files."""
    form = OpenApiParameter("form", str, OpenApiParameter.PATH, enum=list(formats))
    files = {
        (200, kind): Table if name == "json" else OpenApiTypes.STR
        for name, (kind, _) in formats.items()
    }
    return form, files
