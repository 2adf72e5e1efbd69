"""A report as PDF. No Django; ReportLab is imported only when one is written."""

from __future__ import annotations

import io
from collections.abc import Iterator
from html import escape
from importlib import import_module
from typing import Any

from adjudication.study_report.drawing import draw_png
from adjudication.study_report.values import Section, StudyReport
from timelines.evaluation.tables import Table, format_words
from timelines.formats.report.drawing import FONTS

PLAIN, STRONG = "Inter-Regular", "Inter-SemiBold"
#: Points.
MARGIN = 42.0


class _Writer:
    """ReportLab's parts, loaded once a document."""

    def __init__(self) -> None:
        self.flow: Any = import_module("reportlab.platypus")
        self.colors: Any = import_module("reportlab.lib.colors")
        pages: Any = import_module("reportlab.lib.pagesizes")
        self.page = pages.landscape(pages.A4)
        self.width = self.page[0] - 2 * MARGIN
        styles: Any = import_module("reportlab.lib.styles")
        _register_fonts()
        base = {"fontName": PLAIN, "fontSize": 9, "leading": 12, "spaceAfter": 4}
        self.text = styles.ParagraphStyle("text", **base)
        self.small = styles.ParagraphStyle("small", **{**base, "fontSize": 7, "leading": 8.5})
        head = {**base, "fontName": STRONG, "spaceBefore": 10, "keepWithNext": 1}
        self.title = styles.ParagraphStyle("title", **{**head, "fontSize": 18, "leading": 22})
        self.head = styles.ParagraphStyle("head", **{**head, "fontSize": 13, "leading": 16})
        self.name = styles.ParagraphStyle("name", **{**head, "fontSize": 9.5})


def write_pdf(report: StudyReport) -> bytes:
    """Return the report as PDF; the same report gives the same bytes."""
    out, use = io.BytesIO(), _Writer()
    made = use.flow.SimpleDocTemplate(
        out,
        pagesize=use.page,
        leftMargin=MARGIN,
        rightMargin=MARGIN,
        topMargin=MARGIN,
        bottomMargin=MARGIN,
        title=report.title,
        author="Occurrent",
        invariant=1,
    )
    made.build(list(_story(report, use)))
    return out.getvalue()


def _story(report: StudyReport, use: _Writer) -> Iterator[Any]:
    yield _say(use, report.title, use.title)
    if report.about:
        yield _say(use, report.about)
    yield _say(use, "What was found", use.head)
    yield from (_say(use, sentence) for sentence in report.found)
    for section in report.sections:
        yield from _section(section, use)
    yield _say(use, "What differs from the published design", use.head)
    yield from (_say(use, sentence) for sentence in report.differences)
    yield _say(use, "To repeat this study", use.head)
    for name, pairs in report.settings.items():
        table = Table("settings", name, ("Setting", "Value"), tuple(pairs))
        yield from _table(table, use)


def _section(section: Section, use: _Writer) -> Iterator[Any]:
    yield _say(use, section.title, use.head)
    if section.missing:
        yield _say(use, section.missing)
    yield from (_say(use, sentence) for sentence in section.found)
    for figure in section.figures:
        yield _say(use, figure.title, use.name)
        image = use.flow.Image(io.BytesIO(draw_png(figure)))
        scale = min(1.0, 0.75 * use.width / image.imageWidth, 330 / image.imageHeight)
        image.drawWidth, image.drawHeight = image.imageWidth * scale, image.imageHeight * scale
        image.hAlign = "LEFT"
        yield image
    for table in section.tables:
        yield from _table(table, use)


def _table(table: Table, use: _Writer) -> Iterator[Any]:
    """Yield a table; its columns are as wide as their longest words ask, in proportion."""
    yield _say(use, table.title, use.name)
    words = [list(table.heads), *([format_words(c) for c in row] for row in table.rows)]
    longest = [min(60, max(4, *(len(row[at]) for row in words))) for at in range(len(table.heads))]
    widths = [use.width * n / sum(longest) for n in longest]
    if sum(longest) * 4.2 < use.width:
        widths = [n * 4.2 + 8 for n in longest]
    cells = [[_say(use, cell, use.small) for cell in row] for row in words]
    drawn = use.flow.Table(cells, colWidths=widths, repeatRows=1, hAlign="LEFT")
    grey = use.colors.HexColor("#82909a")
    drawn.setStyle(
        [
            ("LINEBELOW", (0, 0), (-1, 0), 0.8, grey),
            ("LINEBELOW", (0, 1), (-1, -1), 0.25, use.colors.HexColor("#dfe5e9")),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("LEFTPADDING", (0, 0), (-1, -1), 2),
            ("RIGHTPADDING", (0, 0), (-1, -1), 4),
            ("TOPPADDING", (0, 0), (-1, -1), 1.5),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 1.5),
        ]
    )
    yield drawn


def _say(use: _Writer, words: str, style: Any = None) -> Any:
    return use.flow.Paragraph(escape(words).replace("\n", "<br/>"), style or use.text)


def _register_fonts() -> None:
    metrics: Any = import_module("reportlab.pdfbase.pdfmetrics")
    fonts: Any = import_module("reportlab.pdfbase.ttfonts")
    for name in (PLAIN, STRONG):
        if name not in metrics.getRegisteredFontNames():
            metrics.registerFont(fonts.TTFont(name, str(FONTS / f"{name}.ttf")))
