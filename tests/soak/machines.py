"""Machines of a soak, each with a network, a name and a folder.

With the rights to it, a machine is a network namespace on a bridge, so that its cable can be pulled
and its connections die with it. Otherwise it is a process group that speaks TCP like the others.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from config.services.processes import wait_until
from tests.paths import ROOT
from tests.soak.worker import MACHINE

NETWORK = "10.77.0"
SERVER = f"{NETWORK}.1"
BRIDGE = "lan"
#: Isolates a whole soak: nothing of it is left when its first process ends.
ISOLATED = ("unshare", "--net", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")
#: Gives a machine its address once its cable is there, then becomes its worker.
_BOOT = 'read go; ip link set lo up; ip addr add "$0/24" dev eth0; ip link set eth0 up; exec "$@"'


def can_isolate() -> bool:
    """Return whether this process may make networks of its own."""
    if not (shutil.which("ip") and shutil.which("unshare")):
        return False
    probe = [*ISOLATED, "ip", "link", "add", BRIDGE, "type", "bridge"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


def run_ip(*words: str) -> None:
    """Configure the network of this process."""
    subprocess.run(["ip", *words], check=True)


def make_bridge() -> None:
    """Make the network that connects the machines; this process is its server."""
    run_ip("link", "set", "lo", "up")
    run_ip("link", "add", BRIDGE, "type", "bridge")
    run_ip("addr", "add", f"{SERVER}/24", "dev", BRIDGE)
    run_ip("link", "set", BRIDGE, "up")


class Machine:
    """One machine with one worker."""

    def __init__(
        self, number: int, folder: Path, environment: Mapping[str, str], *, isolated: bool
    ) -> None:
        self.number, self.isolated = number, isolated
        self.folder = folder / f"machine-{number}"
        self.folder.mkdir()
        self.starts = 0
        self.environment = {
            **environment,
            "OCCURRENT_VAR": str(self.folder / "var"),
            "PYTHONPATH": str(ROOT),
        }
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def name(self) -> str:
        """Return its name in the network."""
        return f"machine-{self.number}" if self.isolated else socket.gethostname()

    @property
    def worker(self) -> str:
        """Return how jobs name its worker: up to the thread."""
        assert self.process is not None
        return f"{self.name}:{self.process.pid}:"

    @property
    def is_on(self) -> bool:
        """Return whether its worker runs."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Boot it."""
        self.starts += 1
        command = [sys.executable, "-m", "tests.soak.worker"]
        environment = self.environment
        if self.isolated:
            address = f"{NETWORK}.{10 + self.number}"
            command = ["unshare", "--net", "--uts", "sh", "-c", _BOOT, address, *command]
            environment = {**environment, MACHINE: self.name}
        with (self.folder / "worker.log").open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if self.isolated:
            self._plug_in()

    def _plug_in(self) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        own, theirs = Path("/proc/self/ns/net"), Path(f"/proc/{self.process.pid}/ns/net")
        assert wait_until(lambda: theirs.readlink() != own.readlink(), seconds=30)
        ends = ("type", "veth", "peer", "name", "eth0", "netns", str(self.process.pid))
        run_ip("link", "add", self._cable, *ends)
        run_ip("link", "set", self._cable, "master", BRIDGE, "up")
        self.process.stdin.write(b"go\n")
        self.process.stdin.close()

    @property
    def _cable(self) -> str:
        return f"cable-{self.number}-{self.starts}"

    def kill(self) -> None:
        """Cut its power."""
        self.send(signal.SIGKILL)
        assert self.process is not None
        self.process.wait()

    def send(self, number: int) -> None:
        """Send a signal to all its processes."""
        assert self.process is not None
        os.killpg(self.process.pid, number)

    def cut(self) -> None:
        """Pull its cable: it goes on, unheard."""
        run_ip("link", "set", self._cable, "down")

    def join(self) -> None:
        """Plug the cable in again."""
        run_ip("link", "set", self._cable, "up")

    def count_lost_leases(self) -> int:
        """Return how often its workers noticed that another had their job."""
        log = (self.folder / "worker.log").read_text(errors="replace")
        return log.count("lost the lease of")
