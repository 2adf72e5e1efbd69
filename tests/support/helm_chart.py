"""Render and lint a chart with Helm's own code, in a process of its own.

`python -m tests.support.helm_chart CHART` reads values as JSON on standard input. It prints
`{"lint": …, "files": {name: text}}`, or `{"error": "…"}` if Helm refuses the values. Helm is Go in
a shared library, whose threads and signal handlers stay out of the tests' process this way.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.paths import ROOT


def render(chart: Path, values: dict[str, Any]) -> dict[str, Any]:
    """Return what the other process prints."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.helm_chart", str(chart)],
        cwd=ROOT,
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(ended.stdout)
    return answer


def main(chart: str) -> None:
    """Lint and render as the release `demo`."""
    import helm_python as helm

    values = json.load(sys.stdin)
    try:
        with helm.Chart.load(chart) as loaded:
            loaded.validate_schema(loaded.merge_values(values))
            files = loaded.render(values, name="demo", namespace="clinic")
    except helm.HelmError as error:
        print(json.dumps({"error": str(error)}))
        return
    print(json.dumps({"lint": helm.lint(chart, values, strict=True), "files": files}))


if __name__ == "__main__":
    main(sys.argv[1])
