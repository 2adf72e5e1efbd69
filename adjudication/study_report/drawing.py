"""Draw a report's figures, without a browser. No Django.

matplotlib comes with lifelines; it is imported only here, when a figure is drawn.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from adjudication.study_report.values import Figure

INK, SOFT = "#18222a", "#5b6a75"
#: Tones that differ for readers without colour vision; curves differ in their dashes, too.
TONES = ("#0b6e69", "#9a5b13", "#6741a8", "#1f6fb2", "#a83254", "#4b5a63")
DASHES = ("-", "--", "-.", ":")
#: Form → what makes its bytes the same each time, and the dots of an inch.
KNOWN: Mapping[str, Mapping[str, Any]] = {
    "svg": {"metadata": {"Date": None}},
    "pdf": {"metadata": {"CreationDate": None}},
    "png": {"dpi": 180},
}
#: Inches.
WIDTH, LINE = 7.0, 0.32


def draw_svg(figure: Figure) -> bytes:
    """Return the figure as SVG; the same figure gives the same bytes."""
    return _draw(figure, "svg")


def draw_png(figure: Figure) -> bytes:
    """Return the figure as PNG for the PDF."""
    return _draw(figure, "png")


def draw_pdf(figure: Figure) -> bytes:
    """Return the figure as PDF for LaTeX, which reads no SVG."""
    return _draw(figure, "pdf")


def _draw(figure: Figure, form: str) -> bytes:
    matplotlib: Any = import_module("matplotlib")
    canvas_of: Any = import_module("matplotlib.figure")
    # Text stays text, ids do not change from run to run.
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": figure.name,
        "pdf.fonttype": 42,
        "font.size": 9,
    }
    with matplotlib.rc_context(settings):
        height = max(2.4, 1.0 + LINE * len(figure.dots)) if figure.dots else 3.6
        drawn = canvas_of.Figure(figsize=(WIDTH, height), layout="constrained")
        axes = drawn.subplots()
        (_draw_dots if figure.dots else _draw_lines)(axes, figure)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        out = io.BytesIO()
        drawn.savefig(out, format=form, **KNOWN[form])
    return out.getvalue()


def _draw_dots(axes: Any, figure: Figure) -> None:
    places = range(len(figure.dots) - 1, -1, -1)
    for place, dot in zip(places, figure.dots, strict=True):
        tone = SOFT if dot.published else TONES[0]
        if dot.low is not None and dot.high is not None:
            axes.plot([dot.low, dot.high], [place, place], color=tone, linewidth=1.5)
        fill = "white" if dot.published else tone
        axes.plot([dot.value], [place], "o", color=tone, markerfacecolor=fill, markersize=6)
    axes.set_yticks(list(places), [_plain(dot.label) for dot in figure.dots])
    axes.set_xlabel(figure.axis)
    axes.grid(axis="x", color="#dfe5e9", linewidth=0.6)
    axes.set_ylim(-0.7, len(figure.dots) - 0.3)


def _draw_lines(axes: Any, figure: Figure) -> None:
    for at, (name, points) in enumerate(figure.lines.items()):
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            DASHES[at // len(TONES) % len(DASHES)],
            color=TONES[at % len(TONES)],
            label=_plain(name),
        )
    axes.set_xlabel(figure.setting)
    axes.set_ylabel(figure.axis)
    axes.grid(color="#dfe5e9", linewidth=0.6)
    if figure.lines:
        axes.legend(frameon=False, fontsize=8)


def _plain(words: str) -> str:
    """Keep matplotlib from reading `$` as mathematics."""
    words = words.replace("$", r"\$")
    # A name that begins with _ would be missing from a legend.
    return f"\u200b{words}" if words.startswith("_") else words
