"""Unit tests of the pages' scripts, by file.

`tests/javascript` runs in the packaged JavaScript runtime. A failing file prints each of its
failing tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

FILES = sorted((settings.BASE_DIR / "tests" / "javascript").glob("*_test.js"))


def run(file: Path, cache: Path) -> subprocess.CompletedProcess[str]:
    """Run the tests of one file, without network or files. Nothing is fetched."""
    command = [sys.executable, "-m", "deno", "test", "--no-remote", "--no-npm", "--no-lock"]
    environment = {
        **os.environ,
        "DENO_DIR": str(cache),
        "DENO_NO_UPDATE_CHECK": "1",
        "NO_COLOR": "1",
    }
    return subprocess.run(
        [*command, str(file)],
        env=environment,
        cwd=settings.BASE_DIR,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_scripts(file, tmp_path):
    result = run(file, tmp_path)
    assert result.returncode == 0, result.stdout


def test_a_failing_script_test_is_named(tmp_path):
    file = tmp_path / "wrong_test.js"
    file.write_text('Deno.test("two is one", () => {\n  throw new Error("it is not");\n});\n')
    result = run(file, tmp_path / "cache")
    assert result.returncode != 0
    assert "two is one" in result.stdout


SCRIPT = re.compile(r"<script (?P<attributes>[^>]*)src=\"{% static 'js/(?P<name>[^']+)' %}\"")


def test_a_template_loads_one_module_and_no_other_script_of_ours():
    """Modules import what they need, so that templates know no order.

    The theme is set before the first paint, by the one script that is no module.
    """
    pages = 0
    for template in sorted((settings.BASE_DIR / "templates").rglob("*.html")):
        tags = [match.groupdict() for match in SCRIPT.finditer(template.read_text())]
        modules = [tag for tag in tags if tag["name"] != "theme.js"]
        assert len(modules) <= 1, template
        for tag in modules:
            assert tag["attributes"].strip() == 'type="module"', template
            assert (settings.BASE_DIR / "static" / "js" / tag["name"]).is_file(), template
            pages += 1
    assert pages > 8


def test_scripts_set_no_globals():
    for script in (settings.BASE_DIR / "static" / "js").rglob("*.js"):
        found = re.findall(r"\b(?:window|globalThis|self)\.\w+\s*=[^=]", script.read_text())
        assert found == [], script
