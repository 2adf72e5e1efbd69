"""A small part of systemd, which starts our units in a test.

It reads units with their drop-ins, builds a service's environment from nothing, and starts and
stops services by the rules that the units rely on. It neither isolates nor changes the user.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from config.services.processes import is_alive, wait_until

READY_SECONDS = 180
SECTION = re.compile(r"\[(\w+)\]")


def read_settings(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield section, name and value of each line of a unit."""
    section = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith(("#", ";")):
            continue
        if heading := SECTION.fullmatch(line.strip()):
            section = heading[1]
            continue
        name, equals, value = line.partition("=")
        if not (section and equals):
            raise ValueError(f"{path.name}: neither a section nor NAME=VALUE: {line}")
        yield section, name, value


class Unit:
    """One unit of a folder of units, with the drop-ins that apply to it."""

    def __init__(self, folder: Path, name: str, state: Path) -> None:
        self.name = name if re.search(r"\.(service|timer)$", name) else f"{name}.service"
        stem, self.kind = self.name.rsplit(".", 1)
        prefix, at, self.instance = stem.partition("@")
        file = folder / f"{prefix}{at}.{self.kind}"
        # systemd shortens a name at its dashes: occurrent-.service.d applies to occurrent-*.service
        drop_ins = sorted(folder.glob(f"{prefix.split('-')[0]}-.{self.kind}.d/*.conf"))
        self.settings = [line for source in (file, *drop_ins) for line in read_settings(source)]
        self.state = state
        self.log = state / f"{stem}.log"
        self.pid_file = state / f"{stem}.pid"
        self.credentials = state / f"{stem}.credentials"

    def values(self, name: str) -> list[str]:
        """Return every value of a setting, with its specifiers replaced."""
        return [self._expand(value) for _, key, value in self.settings if key == name]

    def value(self, name: str, default: str = "") -> str:
        return (self.values(name) or [default])[-1]

    def environment(self) -> dict[str, str]:
        """Return the service's whole environment, none of the caller's."""
        found = {"PATH": os.defpath, "LANG": "C.UTF-8"}
        for value in self.values("Environment"):
            found |= dict(word.split("=", 1) for word in shlex.split(value))
        for value in self.values("EnvironmentFile"):
            file = Path(value.removeprefix("-"))
            if file.exists() or not value.startswith("-"):
                found |= dict(_read_environment(file))
        return found

    def commands(self, name: str = "ExecStart") -> list[list[str]]:
        """Return the command lines, with the environment's variables put in."""
        environment = self.environment()
        return [list(_words(value, environment)) for value in self.values(name)]

    def start(self) -> None:
        """Start the service, or run it to its end if it is a oneshot."""
        for credential in self.values("LoadCredential"):
            self.credentials.mkdir(mode=0o700, exist_ok=True)
            label, _, source = credential.partition(":")
            (self.credentials / label).write_bytes(Path(source).read_bytes())
        before = [*self.commands("ExecStartPre")]
        if self.value("Type") == "oneshot":
            before += self.commands()
        for command in before:
            self._run(command)
        if self.value("Type") != "oneshot":
            self._launch(*self.commands())

    def stop(self) -> None:
        """End the service by its leader's signal, within the unit's time."""
        leader = psutil.Process(int(self.pid_file.read_text()))
        members = [leader, *leader.children(recursive=True)]
        leader.send_signal(signal.SIGTERM)
        seconds = float(self.value("TimeoutStopSec"))
        ended = wait_until(lambda: not is_alive(leader), seconds=seconds)
        for process in members:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.pid_file.unlink()
        assert ended, f"{self.name} did not end within {seconds} s"

    def _run(self, command: list[str]) -> None:
        with self.log.open("ab") as output:
            ended = subprocess.run(command, **self._arguments(output), check=False)
        assert ended.returncode == 0, f"{self.name}: {self.log.read_text()[-3000:]}"

    def _launch(self, command: list[str]) -> None:
        """Start the command; wait for its word if the unit is of Type=notify."""
        arguments = self._arguments(self.log.open("ab"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            address = self.state / f"{self.pid_file.stem}.ready"
            address.unlink(missing_ok=True)
            ready.bind(str(address))
            if self.value("Type") == "notify":
                arguments["env"]["NOTIFY_SOCKET"] = str(address)
            process = subprocess.Popen(command, **arguments, start_new_session=True)
            self.pid_file.write_text(str(process.pid))
            if self.value("Type") == "notify":
                ready.settimeout(READY_SECONDS)
                assert b"READY=1" in ready.recv(4096), self.log.read_text()[-3000:]

    def _arguments(self, output):
        return {
            "cwd": self.value("WorkingDirectory"),
            "env": self.environment(),
            "stdin": subprocess.DEVNULL,
            "stdout": output,
            "stderr": output,
        }

    def _expand(self, value: str) -> str:
        known = {
            "%%": "%",
            "%i": self.instance,
            "%d": str(self.credentials),
            "%N": self.name.removesuffix(f".{self.kind}"),
        }
        return re.sub("%.", lambda found: known[found[0]], value)


def _read_environment(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the variables of an EnvironmentFile without quotes."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, equals, value = line.partition("=")
            assert equals, f"{file}: {line}"
            yield name, value


def _words(command: str, environment: dict[str, str]) -> Iterator[str]:
    """Split as systemd does: $NAME alone becomes words, ${NAME} stays one."""
    for word in shlex.split(command):
        if re.fullmatch(r"\$\w+", word):
            yield from environment.get(word[1:], "").split()
        else:
            yield re.sub(r"\$\{(\w+)\}", lambda found: environment.get(found[1], ""), word)
