"""The memory of an import of FHIR does not grow with its files.

Each import is a process of its own, which says how much memory it had at most.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from accounts.models import Study
from benchmarks import fhir
from config.env import BASE_DIR
from ehr.models import SourceRow

pytestmark = pytest.mark.deep
#: In place of the maximum of getrusage, which a child has from its parent.
PEAK = """
from pathlib import Path
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""
IMPORT = f"""
import sys
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
{PEAK}"""
SCAN = f"""
import sys
from pathlib import Path
from ehr.formats.fhir.reader import Fhir
print(len(Fhir(Path(sys.argv[1])).encounters().encounters))
{PEAK}"""
#: More memory for four times as many resources, as much as two runs of one import differ by.
TOLERANCE_MB = 25
#: As docs/data.md has it, rounded up.
STAY_BYTES = 2_000


def measure(code: str, *arguments: object, environment: Mapping[str, str] | None = None) -> float:
    """Return the largest memory of a Python process, in MB."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command, cwd=BASE_DIR, env=environment, check=True, capture_output=True, text=True
    )
    return int(done.stdout.split()[-1]) / 1024


@pytest.mark.timeout(1800)
def test_four_times_as_many_resources_take_no_more_memory(tmp_path, process_environment):
    Study.objects.create(name="memory")
    peaks = []
    for count in (60_000, 240_000):
        root = fhir.write_export(tmp_path / str(count), count)
        options = {"format": "fhir", "path": root, "name": str(count), "study": "memory"}
        given = (f"--{name}={value}" for name, value in options.items())
        peaks.append(measure(IMPORT, "import_dataset", *given, environment=process_environment))
        rows = SourceRow.objects.filter(dataset__name=str(count)).count()
        assert rows > count
    print(f"largest memory: {peaks} MB")
    assert peaks[1] - peaks[0] < TOLERANCE_MB, peaks


def test_a_stay_takes_as_much_memory_as_is_documented(tmp_path: Path, monkeypatch):
    peaks = []
    for count in (10_000, 50_000):
        monkeypatch.setattr(fhir, "STAYS", count)
        peaks.append(measure(SCAN, fhir.write_export(tmp_path / str(count), 1)))
    grown = (peaks[1] - peaks[0]) * 2**20 / 40_000
    print(f"{grown:.0f} bytes for each stay")
    assert grown < STAY_BYTES
