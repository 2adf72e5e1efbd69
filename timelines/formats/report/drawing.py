"""Draw the one-page report of a stay as a PDF.

The same report gives the same bytes. Status has a shape, not a colour: the page prints in black
and white. Text is Inter. ReportLab reads neither WOFF2 nor variable fonts, so `fonts/` has two weights
as TrueType, with the Latin and Greek letters and the signs; pages use `static/vendor/inter`.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from timelines.formats.report.values import Milestone, Report, ReportRow

FONTS = Path(__file__).resolve().parent / "fonts"
PLAIN, STRONG = "Inter-Regular", "Inter-SemiBold"

_MM = 72 / 25.4
WIDTH, HEIGHT = 210 * _MM, 297 * _MM
_SIDE, _TOP, _BOTTOM = 14 * _MM, 14 * _MM, 16 * _MM
_BLACK, _GREY, _DAY_LINE, _HAIR = 0.0, 0.38, 0.3, 0.8
_SIZE, _LEADING, _PAD = 7.6, 9.4, 2.6
_STORY_SIZE, _STORY_LEADING = 8.2, 10.8
#: Left edges of the columns: mark, time, hours (its right edge), event, source.
_MARK, _WHEN, _BESIDE, _EVENT, _SOURCE = 0.0, 4 * _MM, 47 * _MM, 51 * _MM, 112 * _MM
_STORY_WORDS, _STORY_COLUMN = 25 * _MM, 92 * _MM
_MOST_LINES = 2


def draw_report(report: Report) -> bytes:
    """Return the report as a PDF of one page."""
    return _Sheet(report).draw()


@cache
def register_fonts() -> tuple[Any, dict[str, Any]]:
    """Register the fonts once; return ReportLab's metrics and the fonts."""
    metrics = import_module("reportlab.pdfbase.pdfmetrics")
    fonts = import_module("reportlab.pdfbase.ttfonts")
    loaded = {name: fonts.TTFont(name, str(FONTS / f"{name}.ttf")) for name in (PLAIN, STRONG)}
    for font in loaded.values():
        metrics.registerFont(font)
    return metrics, loaded


class _Sheet:
    """One page that is filled from the top."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.metrics, self.fonts = register_fonts()
        self.file = io.BytesIO()
        canvas = import_module("reportlab.pdfgen.canvas")
        self.canvas: Any = canvas.Canvas(
            self.file, pagesize=(WIDTH, HEIGHT), invariant=1, pageCompression=1, lang="en"
        )
        self.y = HEIGHT - _TOP

    def draw(self) -> bytes:
        """Return the finished page."""
        self.canvas.setTitle(self.printable(self.report.title))
        self.canvas.setAuthor("Occurrent")
        self._head()
        self._story(self.report.story)
        self._table(self.report.rows)
        self._foot()
        self.canvas.showPage()
        self.canvas.save()
        return self.file.getvalue()

    def _head(self) -> None:
        for line in self.wrap(self.report.title, STRONG, 15, WIDTH - 2 * _SIDE, 2):
            self.y -= 15
            self.text(0, line, STRONG, 15)
            self.y -= 3
        for line in self.wrap(self.report.facts, PLAIN, 8.6, WIDTH - 2 * _SIDE, 2):
            self.y -= 11
            self.text(0, line, PLAIN, 8.6, _GREY)
        self.y -= 8

    def _story(self, story: Sequence[Milestone]) -> None:
        if not story:
            return
        self.heading("Story")
        top, lowest = self.y, self.y
        half = (len(story) + 1) // 2
        for left, steps in ((0.0, story[:half]), (_STORY_COLUMN, story[half:])):
            self.y = top
            for step in steps:
                self._step(step, left)
            lowest = min(lowest, self.y)
        self.y = lowest - 8

    def _step(self, step: Milestone, left: float) -> None:
        """Draw a milestone in the column that begins at `left`."""
        room = _STORY_COLUMN - _STORY_WORDS - 4 * _MM
        lines = self.wrap(step.words, PLAIN, _STORY_SIZE, room, _MOST_LINES)
        self.y -= _STORY_LEADING
        self.text(left, self.printable(step.when), STRONG, _STORY_SIZE)
        for number, line in enumerate(lines):
            self.y -= _STORY_LEADING * (number > 0)
            self.text(left + _STORY_WORDS, line, PLAIN, _STORY_SIZE)

    def _table(self, rows: Sequence[ReportRow]) -> None:
        """Draw the rows that have room, the most important ones first."""
        self.heading("Events")
        self.text(WIDTH - 2 * _SIDE, self.report.legend, PLAIN, 7.2, _GREY, right=True)
        self.y -= 4
        laid = [(row, *self._lay(row)) for row in rows]
        room = self.y - _BOTTOM - (_LEADING + _PAD)
        chosen: set[int] = set()
        for number in sorted(range(len(rows)), key=lambda n: (rows[n].rank, n)):
            height = self._height(laid[number])
            if height > room:
                break
            room -= height
            chosen.add(number)
        day = ""
        for number in sorted(chosen):
            # Before and after the stay there are no hospital days.
            words, _, inside = rows[number].when.partition(" · ")
            before, day = day, words if inside else ""
            self._draw_row(*laid[number], new_day=day != before)
        if len(chosen) < len(rows):
            self.y -= _LEADING + 1
            left = len(rows) - len(chosen)
            words = f"{left} more {'event is' if left == 1 else 'events are'} in the CSV export"
            self.text(_EVENT, f"{len(chosen)} of {len(rows)} events. {words}.", PLAIN, _SIZE, _GREY)

    def _lay(self, row: ReportRow) -> tuple[list[str], list[str]]:
        room = WIDTH - 2 * _SIDE - _SOURCE
        event = self.wrap(row.event, PLAIN, _SIZE, _SOURCE - _EVENT - 3 * _MM, _MOST_LINES)
        return event, self.wrap(row.source, PLAIN, _SIZE, room, _MOST_LINES)

    def _height(self, laid: tuple[ReportRow, list[str], list[str]]) -> float:
        _, event, source = laid
        return max(len(event), len(source), 1) * _LEADING + _PAD

    def _draw_row(
        self, row: ReportRow, event: list[str], source: list[str], *, new_day: bool
    ) -> None:
        self.rule(self.y, _DAY_LINE if new_day else _HAIR)
        top, self.y = self.y, self.y - _LEADING
        self.text(_MARK, row.mark, PLAIN, _SIZE)
        self.text(_WHEN, self.printable(row.when), STRONG, _SIZE)
        self.text(_BESIDE, row.beside, PLAIN, _SIZE, _GREY, right=True)
        for x, lines in ((_EVENT, event), (_SOURCE, source)):
            self.y = top - _LEADING
            for line in lines:
                self.text(x, line, PLAIN, _SIZE, _BLACK if x == _EVENT else _GREY)
                self.y -= _LEADING
        self.y = top - self._height((row, event, source))

    def _foot(self) -> None:
        self.rule(_BOTTOM - 6, _HAIR)
        self.y = _BOTTOM - 16
        for line in self.wrap(self.report.footer, PLAIN, 7.2, WIDTH - 2 * _SIDE, 2):
            self.text(0, line, PLAIN, 7.2, _GREY)
            self.y -= 9

    def heading(self, words: str) -> None:
        """Draw the heading of a section."""
        self.y -= 12
        self.text(0, words, STRONG, 10)
        self.y -= 3

    def text(
        self,
        x: float,
        words: str,
        font: str,
        size: float,
        grey: float = 0.0,
        *,
        right: bool = False,
    ) -> None:
        """Draw text at the current height; `right`: it ends at `x`."""
        self.canvas.setFont(font, size)
        self.canvas.setFillGray(grey)
        draw = self.canvas.drawRightString if right else self.canvas.drawString
        draw(_SIDE + x, self.y, words)

    def rule(self, y: float, grey: float) -> None:
        """Draw a hairline across the page."""
        self.canvas.setLineWidth(0.4)
        self.canvas.setStrokeGray(grey)
        self.canvas.line(_SIDE, y, WIDTH - _SIDE, y)

    def wrap(self, words: str, font: str, size: float, room: float, most: int) -> list[str]:
        """Return at most `most` lines; the last one is cut if words are left."""
        lines: list[str] = []
        left = self.printable(words).split()
        while left and len(lines) < most:
            count = self._count_fitting(left, font, size, room)
            if len(lines) + 1 == most and count < len(left):
                return [*lines, self._cut(" ".join(left), font, size, room)]
            if not count:
                return [*lines, self._cut(left[0], font, size, room)]
            lines.append(" ".join(left[:count]))
            left = left[count:]
        return lines

    def printable(self, words: str) -> str:
        """Return text on one line, with `?` for signs that the font lacks."""
        glyphs = self.fonts[PLAIN].face.charToGlyph
        return "".join(c if ord(c) in glyphs else "?" for c in " ".join(words.split()))

    def _count_fitting(self, words: list[str], font: str, size: float, room: float) -> int:
        count = 0
        while count < len(words) and self._measure(words[: count + 1], font, size) <= room:
            count += 1
        return count

    def _cut(self, words: str, font: str, size: float, room: float) -> str:
        while words and self._measure([f"{words}…"], font, size) > room:
            words = words[:-1]
        return f"{words.rstrip()}…"

    def _measure(self, words: list[str], font: str, size: float) -> float:
        found: float = self.metrics.stringWidth(" ".join(words), font, size)
        return found
