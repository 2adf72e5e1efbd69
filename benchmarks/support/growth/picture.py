"""A picture of growing costs: each line is one step over all sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Study = Mapping[str, Any]
#: Steps over all stays; those over a few are left out.
STEPS = (
    "import",
    "vacuum",
    "preparation of a run",
    "evaluation",
    "preparation of a judge run",
    "report of a judge run",
    "backup",
)
PAGES = ("home", "list of cases", "search summary", "case", "run", "dashboard of a judge run")


def draw(found: Sequence[Study], file: Path) -> None:
    """Draw steps and pages beside each other, on logarithmic scales."""
    import matplotlib as mpl

    mpl.use("svg")
    # Text as text, and ids that are the same in every drawing.
    mpl.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "growth", "font.size": 9}
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    _draw_lines(left, found, STEPS, lambda study, name: _cpu(study["costs"][name]))
    least, most = found[0], found[-1]
    first = _cpu(least["costs"]["import"])
    slope = [first, first * most["stays"] / least["stays"]]
    left.plot(
        [least["stays"], most["stays"]], slope, "--", color="0.6", label="as the number of stays"
    )
    left.set(title="Steps over all stays", ylabel="seconds of processors")
    _draw_lines(right, found, PAGES, lambda study, name: 1000 * _cpu(study["pages"][name]))
    right.axhline(200, color="0.6", linestyle="--", label="limit")
    right.set(title="Pages", ylabel="milliseconds of processors")
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel="stays (3,600 rows each)")
        axes.set_xticks([study["stays"] for study in found])
        axes.set_xticklabels([f"{study['stays']:,}" for study in found])
        axes.minorticks_off()
        axes.legend(fontsize=7)
        axes.grid(alpha=0.3)
    figure.savefig(file, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def _draw_lines(
    axes: Any, found: Sequence[Study], names: Sequence[str], value: Callable[[Study, str], float]
) -> None:
    stays = [study["stays"] for study in found]
    for name in names:
        axes.plot(stays, [value(study, name) for study in found], marker="o", label=name)


def _cpu(cost: Mapping[str, float]) -> float:
    return cost["client"] + cost["server"]
