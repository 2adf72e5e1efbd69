"""The colours of the stylesheet: contrast, and colour blindness.

Contrast is that of WCAG 2.2. Deuteranopia is simulated after Machado et al. (2009); distances are
those of OKLab, in which 0.02 is just visible between neighbours.
"""

from __future__ import annotations

import itertools
import re

import pytest

from tests import paths

DECLARED = re.compile(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
STYLESHEET = (paths.ROOT / "static/css/occurrent.css").read_text()
TOKENS = {name: (light, dark) for name, light, dark in DECLARED.findall(STYLESHEET)}
THEMES = ("light", "dark")
BACKGROUNDS = ("surface", "ground", "raised", "accent-wash")
PLACES = ("place-emergency", "place-icu", "place-theatre", "place-ward")
STATUSES = ("explicit", "inferred", "moved", "unplaced", "corrected", "conflict")
WORDS = ("ink", "ink-soft", "accent", "danger", "side-a", "side-b", *STATUSES)
PAIRS = [
    *itertools.product(WORDS, BACKGROUNDS),
    *(("ink", f"{name}-wash") for name in ("danger", "warning", "moved", "corrected", "conflict")),
    *((name, f"{name}-wash") for name in ("danger", "moved", "corrected", "conflict")),
    ("ink-soft", "warning-wash"),
    *(("ink", place) for place in PLACES),
    ("accent-ink", "accent"),
]
DEUTERANOPIA = (
    (0.367322, 0.860646, -0.227968),
    (0.280085, 0.672501, 0.047413),
    (-0.011820, 0.042940, 0.968881),
)
Colour = tuple[float, float, float]


def linear(colour: str) -> Colour:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return decode(red), decode(green), decode(blue)


def decode(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    weights = (0.2126, 0.7152, 0.0722)
    dark, light = sorted(
        sum(w * v for w, v in zip(weights, linear(c), strict=True)) for c in (one, other)
    )
    return (light + 0.05) / (dark + 0.05)


def without_green(colour: str) -> Colour:
    seen = (sum(w * v for w, v in zip(row, linear(colour), strict=True)) for row in DEUTERANOPIA)
    red, green, blue = (min(1.0, max(0.0, value)) for value in seen)
    return red, green, blue


def oklab(colour: Colour) -> Colour:
    red, green, blue = colour
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def distance(one: str, other: str) -> float:
    a, b = (oklab(without_green(colour)) for colour in (one, other))
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5


def test_known_values():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert oklab(linear("#ffffff")) == pytest.approx((1, 0, 0), abs=1e-3)
    assert distance("#777777", "#777777") == 0


@pytest.mark.parametrize("theme", THEMES)
def test_words_are_readable_on_every_background(theme):
    at = THEMES.index(theme)
    weak = {
        pair: round(value, 2)
        for pair in PAIRS
        if (value := contrast(TOKENS[pair[0]][at], TOKENS[pair[1]][at])) < 4.5
    }
    assert not weak


@pytest.mark.parametrize("theme", THEMES)
def test_borders_of_controls_and_the_focus_ring_can_be_seen(theme):
    at = THEMES.index(theme)
    for line, background in itertools.product(("line-strong", "accent"), ("surface", "ground")):
        assert contrast(TOKENS[line][at], TOKENS[background][at]) >= 3, (line, background)


@pytest.mark.parametrize("theme", THEMES)
def test_colours_of_one_meaning_each_are_told_apart_without_green(theme):
    at = THEMES.index(theme)
    close = {
        pair: round(value, 3)
        for pair in [*itertools.combinations(STATUSES, 2), ("side-a", "side-b")]
        if (value := distance(TOKENS[pair[0]][at], TOKENS[pair[1]][at])) < 0.05
    }
    assert not close


@pytest.mark.parametrize("theme", THEMES)
def test_neighbouring_places_are_told_apart_without_green(theme):
    at = THEMES.index(theme)
    close = {
        pair: round(value, 3)
        for pair in itertools.combinations(PLACES, 2)
        if (value := distance(TOKENS[pair[0]][at], TOKENS[pair[1]][at])) < 0.02
    }
    assert not close


def test_places_have_one_palette():
    """Ribbon and lanes take their colours from the same properties."""
    rules = "\n".join(
        line
        for name in ("case", "lanes")
        for line in (paths.ROOT / f"static/css/{name}.css").read_text().splitlines()
        if re.match(r"\.places?[ -]", line)
    )
    assert rules.count("var(--place)") == 2
    assert "light-dark" not in rules
    assert set(re.findall(r"var\(--(place-[a-z]+)\)", rules)) == set(PLACES)


def test_every_status_has_a_mark_besides_its_colour():
    """Each status has its own line or sign, so that colour alone says nothing."""
    marks = {}
    for status in (*STATUSES, "unspecified"):
        rules = "".join(re.findall(rf"\.status-{status}(?:::before)? {{(.*?)}}", STYLESHEET))
        found = re.search(r'decoration-style: (\w+)|content: "(.)', rules)
        assert found, status
        marks[status] = found[1] or found[2]
    assert len(set(marks.values())) == len(marks), marks
