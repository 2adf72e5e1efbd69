"""Tables of an evaluation as files, for pages and the API alike."""

from __future__ import annotations

from django.http import Http404, HttpResponse

from accounts.ids import parse_place
from accounts.scoping import StudyRequest
from timelines.evaluation import tables
from timelines.evaluation.plain import report_from_plain
from timelines.evaluation.values import Basis, Report
from timelines.evaluations.opening import chosen_basis, open_evaluation

#: Form → (content type, ending).
FORMATS = {
    "csv": ("text/csv", "csv"),
    "latex": ("application/x-tex", "tex"),
    "json": ("application/json", "json"),
}


def table_file(table: tables.Table, format: str, stem: str) -> HttpResponse:
    """Return a table in one of the `FORMATS`; raise Http404 for another."""
    if format not in FORMATS:
        raise Http404
    kind, ending = FORMATS[format]
    text = {"csv": table.to_csv, "latex": table.to_latex, "json": table.to_json}[format]()
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{stem}.{ending}"'
    return response


def export_table(request: StudyRequest, public_id: str, name: str, format: str) -> HttpResponse:
    """Return one table of an evaluation as a file.

    `basis` chooses the pairing. Raises Http404 for an unknown table or format, NotAllowed.
    """
    found = open_evaluation(request, public_id)
    if found.report is None:
        raise Http404
    report = report_from_plain(found.report)
    basis = chosen_basis(request, report)
    table = _select(report, basis, name, with_published=request.GET.get("published") == "1")
    return table_file(table, format, f"{name}-{basis.value}-{found.public_id}")


def _select(report: Report, basis: Basis, name: str, *, with_published: bool) -> tables.Table:
    if name == "main":
        return tables.main(report, basis, published=with_published)
    if name.startswith("ablation-"):
        sources = tables.backbones(report)
        place = parse_place(name.removeprefix("ablation-"), len(sources))
        if place is None:
            raise Http404
        return tables.ablation(report, basis, sources[place], published=with_published)
    if name not in tables.TABLES:
        raise Http404
    return tables.TABLES[name](report, basis)
