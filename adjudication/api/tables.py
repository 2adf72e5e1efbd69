"""Tables of reports, in bodies and as files."""

from __future__ import annotations

from collections.abc import Iterable

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.serializers import CharField, JSONField, ListField

from adjudication.api.operations import Body
from adjudication.ratings.card.page import FORMATS


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


#: Tables as files, with the names of the report's own `tables`.
TABLE_FORM = OpenApiParameter("form", str, OpenApiParameter.PATH, enum=list(FORMATS))
TABLE_FILE = {
    (200, kind): Table if form == "json" else OpenApiTypes.STR
    for form, (kind, _) in FORMATS.items()
}
