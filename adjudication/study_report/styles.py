"""Fonts and styles of a report's PDF.

ReportLab is imported only when one is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from html import escape
from importlib import import_module
from typing import Any

from timelines.formats.report.drawing import PLAIN, STRONG, register_fonts

#: Points.
MARGIN, SMALL = 42.0, 7.0
#: Points that a heading of a table asks for with the first rows below it; a section's asks for more.
ROOM, SECTION_ROOM = 70.0, 120.0


class Styles:
    """ReportLab's parts and the styles, loaded once a document."""

    def __init__(self) -> None:
        self.flow: Any = import_module("reportlab.platypus")
        self.colors: Any = import_module("reportlab.lib.colors")
        self.metrics, _ = register_fonts()
        pages: Any = import_module("reportlab.lib.pagesizes")
        self.page: tuple[float, float] = pages.landscape(pages.A4)
        self.width = self.page[0] - 2 * MARGIN
        self._make_styles()

    def _make_styles(self) -> None:
        styles: Any = import_module("reportlab.lib.styles")
        base = {"fontName": PLAIN, "fontSize": 9, "leading": 12, "spaceAfter": 4}
        small = {**base, "fontSize": SMALL, "leading": 8.5, "spaceAfter": 0}
        head = {**base, "fontName": STRONG, "spaceBefore": 10}
        self.text = styles.ParagraphStyle("text", **base)
        self.small = styles.ParagraphStyle("small", **small)
        self.number = styles.ParagraphStyle("number", **small, alignment=2)
        self.title = styles.ParagraphStyle("title", **{**head, "fontSize": 18, "leading": 22})
        self.head = styles.ParagraphStyle("head", **{**head, "fontSize": 13, "leading": 16})
        self.name = styles.ParagraphStyle("name", **{**head, "fontSize": 9.5})

    @cached_property
    def _glyphs(self) -> Any:
        return self.metrics.getFont(PLAIN).face.charToGlyph

    def printable(self, words: str) -> str:
        """Return text with `?` for signs that the font lacks; lines stay lines."""
        lines = (" ".join(line.split()) for line in words.splitlines())
        text = "\n".join(lines)
        return "".join(c if c == "\n" or ord(c) in self._glyphs else "?" for c in text)

    def say(self, words: str, style: Any = None) -> Any:
        """Return a paragraph; text is text, never markup."""
        text = escape(self.printable(words)).replace("\n", "<br/>")
        return self.flow.Paragraph(text, style or self.text)

    def begin(self, words: str, style: Any) -> Iterator[Any]:
        """Yield a heading, on a new page if this one has no room for what follows.

        `keepWithNext` would move long tables to a page of their own.
        """
        yield self.flow.CondPageBreak(SECTION_ROOM if style is self.head else ROOM)
        yield self.say(words, style)

    def fits(self, words: str, room: float) -> bool:
        """Whether text fits a line of that many points in the small size."""
        return bool(self.metrics.stringWidth(words, PLAIN, SMALL) <= room)
