"""How the API describes tables that are files."""

from __future__ import annotations

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter

from adjudication.api.judging.serializers import TableSerializer
from adjudication.ratings.card import FORMATS

#: Tables as files; their names are those of the report's own `tables`.
TABLE_FORM = OpenApiParameter("form", str, OpenApiParameter.PATH, enum=list(FORMATS))


TABLE_FILE = {
    (200, kind): TableSerializer if form == "json" else OpenApiTypes.STR
    for form, (kind, _) in FORMATS.items()
}
