"""A report as PDF. No Django.

ReportLab is imported only when one is written.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import count
from typing import Any

from adjudication.study_report.drawing import draw_png
from adjudication.study_report.pdf_tables import lay_table
from adjudication.study_report.styles import MARGIN, PLAIN, SMALL, Styles
from adjudication.study_report.values import Figure, Section, StudyReport, name_table_file
from timelines.evaluation.tables import Table

#: Points.
MOST_HEIGHT, BETWEEN = 240.0, 14.0
#: Figures beside each other.
IN_A_ROW = 2
#: Longer tables, such as sweeps, are read in their figures; the archive has their rows.
MOST_ROWS = 60


def write_pdf(report: StudyReport) -> bytes:
    """Return the report as PDF; the same report gives the same bytes."""
    out, use = io.BytesIO(), Styles()
    made = use.flow.SimpleDocTemplate(
        out,
        pagesize=use.page,
        leftMargin=MARGIN,
        rightMargin=MARGIN,
        topMargin=MARGIN,
        bottomMargin=MARGIN,
        title=use.printable(report.title),
        author="Occurrent",
        lang="en",
        invariant=1,
    )
    keys = count(1)
    made.afterFlowable = lambda flowable: _list_heading(made, flowable, use, keys)
    made.build(list(_story(report, use)), onFirstPage=_number, onLaterPages=_number)
    return out.getvalue()


def _number(canvas: Any, document: Any) -> None:
    """Write the number of the page at its foot."""
    canvas.setFont(PLAIN, SMALL)
    canvas.drawRightString(document.pagesize[0] - MARGIN, MARGIN / 2, f"Page {document.page}")


def _list_heading(document: Any, flowable: Any, use: Styles, keys: Iterator[int]) -> None:
    """Add a section's heading to the outline that readers show."""
    if getattr(flowable, "style", None) is use.head:
        key = f"section-{next(keys)}"
        document.canv.bookmarkPage(key)
        document.canv.addOutlineEntry(flowable.getPlainText(), key)


def _story(report: StudyReport, use: Styles) -> Iterator[Any]:
    yield use.say(report.title, use.title)
    if report.about:
        yield use.say(report.about)
    yield from use.begin("What was found", use.head)
    yield from (use.say(sentence) for sentence in report.found)
    for section in report.sections:
        yield from _section(section, use)
    yield from use.begin("What differs from the published design", use.head)
    yield from (use.say(sentence) for sentence in report.differences)
    yield from use.begin("To repeat this study", use.head)
    for name, pairs in report.settings.items():
        yield from lay_table(Table("settings", name, ("Setting", "Value"), tuple(pairs)), use)


def _section(section: Section, use: Styles) -> Iterator[Any]:
    yield from use.begin(section.title, use.head)
    if section.missing:
        yield use.say(section.missing)
    yield from (use.say(sentence) for sentence in section.found)
    for at in range(0, len(section.figures), IN_A_ROW):
        beside = section.figures[at : at + IN_A_ROW]
        cells = [[use.say(one.title, use.name), _draw_figure(one, use)] for one in beside]
        yield use.flow.Table([cells], colWidths=use.width / IN_A_ROW, hAlign="LEFT")
    for number, table in enumerate(section.tables, 1):
        if len(table.rows) <= MOST_ROWS:
            yield from lay_table(table, use)
        else:
            yield from use.begin(table.title, use.name)
            yield use.say(
                f"{len(table.rows)} rows, too many for this file. The archive has them:"
                f" {name_table_file(section, number)}.csv"
            )


def _draw_figure(figure: Figure, use: Styles) -> Any:
    image = use.flow.Image(io.BytesIO(draw_png(figure)))
    room = use.width / IN_A_ROW - BETWEEN
    scale = min(1.0, room / image.imageWidth, MOST_HEIGHT / image.imageHeight)
    image.drawWidth, image.drawHeight = image.imageWidth * scale, image.imageHeight * scale
    image.hAlign = "LEFT"
    return image
