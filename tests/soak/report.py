"""Run a soak in a process of its own, and check what it found."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from tests.paths import ROOT
from tests.soak.machines import ISOLATED, can_isolate

Report = Mapping[str, Any]
STAGES_OF_CASE = 7
OWN = ("DATABASE_URL", "DATABASE_OWNER_URL", "BROKER_URL", "DJANGO_SETTINGS_MODULE")


def run_soak(out: Path, *options: str, limit: float) -> Report:
    """Run the soak, on machines with networks of their own if possible."""
    command = [sys.executable, "-m", "tests.soak.director", "--out", str(out), *options]
    if can_isolate():
        command = [*ISOLATED, *command, "--isolated"]
    environment = {name: value for name, value in os.environ.items() if name not in OWN}
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        timeout=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-20000:]
    found: Report = json.loads(out.read_text())
    return found


def check_nothing_lost(found: Report) -> None:
    """Check that every run stored once what an undisturbed one did."""
    expected = found["expected"]
    assert set(found["states"]) == {"succeeded"}, found["states"]
    cases = found["states"]["succeeded"] // STAGES_OF_CASE
    assert cases % len(found["runs"]) == 0
    assert found["runs"], "no run was struck"
    for results in found["runs"]:
        assert results == expected
    assert all(results == found["rules"][0] for results in found["rules"])
    assert expected["entries"] > 0
    assert expected["evidence"] > 0


def find_slowest_move(found: Report) -> float:
    """Return the most seconds until another worker had a dead one's stage."""
    return max((seconds for _, seconds in found["moved"]), default=0.0)


def describe(found: Report) -> str:
    """Return the figures in one line."""
    moved = [seconds for _, seconds in found["moved"]]
    share = found["rate_of_all"] / (found["workers"] * found["rate_of_one"])
    words = f"{share:.2f} of the sum of {found['workers']} workers; {found['faults']}"
    if moved:
        words += f"; {len(moved)} stages moved in {median(moved):.1f} s, at most {max(moved):.1f} s"
    return f"{words}; {found['lost_leases']} leases lost; attempts {found['attempts']}"
