"""A report as one archive: PDF, tables, figures, settings. No Django."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator

from adjudication.study_report.drawing import draw_pdf, draw_svg
from adjudication.study_report.latex import write_latex
from adjudication.study_report.pdf import write_pdf
from adjudication.study_report.values import StudyReport, name_table_file, to_plain

#: The time of every file of the archive, so that equal reports give equal bytes.
_TIME = (1980, 1, 1, 0, 0, 0)


def pack(report: StudyReport, recipe: str, pdf: bytes | None = None) -> bytes:
    """Return the archive; `recipe` is the text that was launched."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _files(report, recipe, pdf):
            archive.writestr(zipfile.ZipInfo(name, _TIME), content)
    return out.getvalue()


def _files(report: StudyReport, recipe: str, pdf: bytes | None) -> Iterator[tuple[str, bytes]]:
    yield "report.pdf", write_pdf(report) if pdf is None else pdf
    yield "report.tex", write_latex(report).encode()
    yield "report.json", json.dumps(to_plain(report), ensure_ascii=False, indent=1).encode()
    yield "recipe.yaml", recipe.encode()
    for section in report.sections:
        for number, table in enumerate(section.tables, 1):
            name = name_table_file(section, number)
            yield f"{name}.csv", table.to_csv().encode()
            yield f"{name}.tex", table.to_latex().encode()
        for figure in section.figures:
            name = f"figures/{section.name}-{figure.name}"
            yield f"{name}.svg", draw_svg(figure)
            yield f"{name}.pdf", draw_pdf(figure)
