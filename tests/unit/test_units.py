"""The systemd units: directives, limits, isolation, systemd's checks.

`tests/integration/site/test_operate.py` starts each of them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config.env import Env
from config.gunicorn import graceful_timeout
from config.services.supervisor import AFTER_KILL_SECONDS, STOP_SECONDS
from config.settings import QUEUES
from tests.paths import ROOT
from tests.support.systemd import Unit, read_settings

FOLDER = ROOT / "docker" / "systemd"
FILES = sorted([*FOLDER.glob("*.service"), *FOLDER.glob("*.timer"), *FOLDER.glob("*.d/*.conf")])
SERVICES = sorted(file.name for file in FOLDER.glob("*.service"))
RUNNING = ["occurrent-web.service", "occurrent-worker@.service", "occurrent-beat.service"]
KNOWN = {
    "Unit": "Description Documentation Wants After StartLimitIntervalSec",
    "Install": "WantedBy",
    "Timer": "OnCalendar RandomizedDelaySec Persistent",
    "Service": """
        Type User Group UMask WorkingDirectory Environment EnvironmentFile LoadCredential
        StateDirectory StateDirectoryMode ReadWritePaths InaccessiblePaths SyslogIdentifier
        ExecStartPre ExecStart Restart RestartSec KillMode TimeoutStartSec TimeoutStopSec
        MemoryHigh MemoryMax TasksMax OOMPolicy Nice IOSchedulingClass
        NoNewPrivileges CapabilityBoundingSet AmbientCapabilities ProtectSystem ProtectHome
        PrivateTmp PrivateDevices ProtectProc ProtectClock ProtectHostname ProtectControlGroups
        ProtectKernelLogs ProtectKernelModules ProtectKernelTunables RestrictAddressFamilies
        RestrictNamespaces RestrictRealtime RestrictSUIDSGID LockPersonality RemoveIPC
        SystemCallArchitectures SystemCallFilter SystemCallErrorNumber
    """,
}
#: Exposure by `systemd-analyze security`, from 0 to 10: without isolation a service has 9.2 to 9.6.
MOST_EXPOSURE = 2.0

needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed here"
)


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """Return a copy of the units whose programs exist on this machine."""
    folder = tmp_path / "units"
    shutil.copytree(FOLDER, folder)
    for file in folder.glob("*.service"):
        text = file.read_text("utf-8").replace("/opt/occurrent/venv/bin/python", sys.executable)
        file.write_text(text)
    template = folder / "occurrent-worker@.service"
    shutil.copy(template, folder / "occurrent-worker@generate.service")
    return folder


def read(name: str) -> Unit:
    return Unit(FOLDER, name.replace("@.", "@generate."), Path("/run/credentials"))


def seconds(unit: Unit) -> float:
    return float(unit.value("TimeoutStopSec"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_directive_is_known(file):
    for section, name, value in read_settings(file):
        assert name in KNOWN[section].split(), (section, name)
        assert value or name in ("CapabilityBoundingSet", "AmbientCapabilities"), name


@needs_systemd
def test_systemd_finds_no_fault(units):
    names = sorted(file.name for file in units.glob("*.service"))
    names += sorted(file.name for file in units.glob("*.timer"))
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(units / name) for name in names)],
        env={"SYSTEMD_UNIT_PATH": f"{units}:", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert (checked.returncode, checked.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_isolated(units, name):
    """The drop-in of all services applies; systemd rates what is left open."""
    checked = subprocess.run(
        [
            *("systemd-analyze", "security", "--offline=true", "--no-pager"),
            *(
                f"--threshold={MOST_EXPOSURE * 10:.0f}",
                str(units / name.replace("@.", "@generate.")),
            ),
        ],
        env={"SYSTEMD_UNIT_PATH": f"{units}:", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout.splitlines()[-1]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_limited_and_not_root(name):
    unit = read(name)
    assert unit.value("User") == unit.value("Group") == "occurrent"
    assert re.fullmatch(r"\d+[MG]", unit.value("MemoryMax"))
    assert unit.value("ProtectSystem") == "strict"
    assert unit.value("NoNewPrivileges") == "yes"


@pytest.mark.parametrize("name", RUNNING)
def test_a_service_is_started_again_for_as_long_as_it_takes(name):
    unit = read(name)
    assert unit.value("Restart") == "always"
    assert unit.value("StartLimitIntervalSec") == "0"


def test_a_stopped_service_has_time_to_end():
    """The time is longer than its own waits."""
    worker, web = read("occurrent-worker@.service"), read("occurrent-web.service")
    assert seconds(worker) > STOP_SECONDS + AFTER_KILL_SECONDS
    assert seconds(web) > graceful_timeout
    # A signal to every process would end jobs and requests at work.
    assert worker.value("KillMode") == web.value("KillMode") == "mixed"


def test_only_migration_and_backup_can_connect_as_the_owner():
    for name in SERVICES:
        unit = read(name)
        owner = name in ("occurrent-migrate.service", "occurrent-backup.service")
        assert any("OWNER" in value for value in unit.values("Environment")) == owner
        assert bool(unit.values("LoadCredential")) == owner
    assert not [line for line in _settings() if "OWNER" in line]


def test_the_settings_of_the_file_are_explained_and_readable():
    """Without quotes and expansions, systemd's reader agrees with ours."""
    values = dict(line.split("=", 1) for line in _settings())
    example = (ROOT / ".env.example").read_text("utf-8")
    known = {n.removesuffix("_FILE") for n in re.findall(r"^#([A-Z_]+)=", example, re.MULTILINE)}
    assert {name.removesuffix("_FILE") for name in values} - known == set()
    assert not [value for value in values.values() if set(value) & set("\"'\\$` ")]
    assert Env(values).boolean("BEHIND_PROXY") is True


def test_the_two_workers_of_the_page_serve_every_queue():
    page = (ROOT / "docs" / "operate.md").read_text("utf-8")
    (line,) = re.findall(r"systemctl enable --now occurrent-web .*", page)
    names = re.findall(r"occurrent-worker@(\w+)", line)
    files = {name: FOLDER / f"worker-{name}.env" for name in names}
    queues = [
        re.findall(r"^WORKER_QUEUES=(.*)$", file.read_text("utf-8"), re.MULTILINE)[0]
        if file.exists()
        else name
        for name, file in files.items()
    ]
    assert sorted(",".join(queues).split(",")) == sorted(QUEUES)


def _settings() -> list[str]:
    lines = (FOLDER / "occurrent.env").read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_each_timer_starts_a_service_and_makes_up_for_missed_times():
    timers = sorted(file.name for file in FOLDER.glob("*.timer"))
    assert timers == ["occurrent-anchor.timer", "occurrent-backup.timer"]
    for name in timers:
        assert read(name.replace(".timer", ".service")).value("Type") == "oneshot"
        assert read(name).value("Persistent") == "yes"
