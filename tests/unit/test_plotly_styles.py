"""The file of Plotly's styles has the rules that its script would write."""

import re

from tests.paths import ROOT

FOLDER = ROOT / "static" / "vendor" / "plotly"
#: The table in the script: "selector": "declarations", with X and Y for its two roots.
RULE = re.compile(r"""(?:"([^"]*)"|(\w+)):(?:"([^"]*)"|'([^']*)')(?:,|$)""")


def read_script():
    """Return the rules of the script, in the order in which they apply."""
    script = (FOLDER / "plotly-basic.min.js").read_text()
    start = script.index('{"X,X div":') + 1
    table = script[start : script.index("};for(", start)]
    assert RULE.sub("", table) == ""
    rules = []
    for quoted, bare, double, single in RULE.findall(table):
        selector = (quoted or bare).replace("X", ".js-plotly-plot .plotly")
        rules.append(f"{selector.replace('Y', '.plotly-notifier')}{{{double or single}}}")
    # Each is inserted before the others.
    return rules[::-1]


def test_the_file_has_the_rules_of_the_script():
    lines = (FOLDER / "plotly.css").read_text().split("*/\n", 1)[1].splitlines()
    assert lines == read_script()
    assert len(lines) > 50


def test_the_script_writes_no_styles_on_our_pages():
    script = (FOLDER / "plotly-basic.min.js").read_text()
    assert '"plotly.js-style-"+' in script
    assert ".no-inline-styles" in script
    component = (ROOT / "templates" / "_components" / "plotly.html").read_text()
    assert 'id="plotly.js-style-global" class="no-inline-styles"' in component
    users = [p for p in ROOT.glob("templates/**/*.html") if "plotly-basic" in p.read_text()]
    assert [p.name for p in users] == ["plotly.html"]
