"""The folders that tests read."""

from __future__ import annotations

from pathlib import Path

#: The root of the repository.
ROOT = Path(__file__).resolve().parents[1]
#: Files that belong to the tests.
DATA = ROOT / "tests" / "data"
#: The demo that is shipped.
DEMO = ROOT / "demo"
