"""What a page's own scripts and styles weigh."""

from __future__ import annotations

import gzip

from tests.paths import ROOT

#: Compressed bytes of all scripts and styles together; Plotly and the typeface are extra.
MOST_BYTES = 250_000


def test_scripts_and_styles_are_light():
    files = [*(ROOT / "static/js").rglob("*.js"), *(ROOT / "static/css").glob("*.css")]
    assert len(files) > 50
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) < MOST_BYTES
