"""A vLLM server in its own environment and process group.

It is started, asked and killed whole.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.paths import ROOT

INSTALLER = ROOT / "requirements" / "verification.py"
#: Seconds a server may take to be ready; 25 to 90 are usual, on a machine that others use as well
#: it was seen to take minutes.
READY = 900.0
#: White space between JSON tokens only costs time, most of all with a model that may choose it for
#: ever.
COMPACT = json.dumps({"backend": "xgrammar", "disable_any_whitespace": True})
GENERATE = (
    "--max-model-len",
    "4096",
    "--max-num-seqs",
    "8",
    "--enable-prompt-tokens-details",
    "--structured-outputs-config",
    COMPACT,
)
#: With as much context as SmolLM2 was trained on, which a judge's prompt needs; given twice, an
#: option's last value applies.
GENERATE_LONG = (*GENERATE, "--max-model-len", "8192", "--max-num-seqs", "2")
POOLING = ("--runner", "pooling", "--max-num-seqs", "8")


class NotInstalled(RuntimeError):
    """The environment cannot be built here; the message gives the last error."""


def environment() -> Path:
    """Return the folder of vLLM's environment; build it if necessary.

    Raises NotInstalled.
    """
    done = subprocess.run(
        [sys.executable, str(INSTALLER)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotInstalled((done.stderr.strip() or "no reason given").splitlines()[-1])
    done = subprocess.run(
        [sys.executable, str(INSTALLER), "--path"], capture_output=True, text=True, check=True
    )
    return Path(done.stdout.strip())


def language_model(folder: Path) -> Path:
    """The converted SmolLM2-135M-Instruct of that environment."""
    return folder / "models" / "SmolLM2-135M-Instruct"


class Server:
    """One model on a free port of this machine.

    Floats have 32 bits, so that the same question gets the same answer.
    """

    def __init__(
        self, folder: Path, model: Path, name: str, options: Sequence[str], log: Path
    ) -> None:
        self._folder, self._model, self._options, self._log = folder, model, tuple(options), log
        self.name = name
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Start it and wait until it answers.

        Raises RuntimeError with the end of its log if it does not.
        """
        python = str(self._folder / "bin" / "python")
        command = [
            python,
            "-m",
            "vllm.entrypoints.openai.api_server",
            "--model",
            str(self._model),
            "--served-model-name",
            self.name,
        ]
        command += [
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--dtype",
            "float32",
            "--enforce-eager",
            *self._options,
        ]
        own = {
            "HF_HUB_OFFLINE": "1",
            "VLLM_CPU_KVCACHE_SPACE": "2",
            "VLLM_NO_USAGE_STATS": "1",
            "VLLM_CACHE_ROOT": str(self._log.parent),
        }
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env={**os.environ, **own},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + READY
        while not self._healthy():
            if self._process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise RuntimeError(
                    "vLLM did not start:\n"
                    + self._log.read_text(encoding="utf-8", errors="replace")[-3000:]
                )
            time.sleep(0.5)

    def stop(self) -> None:
        """Kill the whole group: without its API process the engine would live on."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def kill_api(self) -> None:
        """Kill the API process alone with kill -9.

        An operator or the kernel would do the same. Its engine remains until `stop`.
        """
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def metric(self, name: str) -> float:
        """Return the sum of a metric over its labels, 0 if never set."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=30) as page:
            text = page.read().decode("utf-8")
        return sum(
            float(value)
            for value in re.findall(
                rf"^{re.escape(name)}(?:\{{[^}}]*\}})? (\S+)$", text, re.MULTILINE
            )
        )

    def _healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as page:
                return bool(page.status == 200)
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
