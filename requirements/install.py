"""Build the project's virtual environment outside the checkout.

    python3 requirements/install.py --path      print the environment's folder
    python3 requirements/install.py             build it, or finish an interrupted build
    python3 requirements/install.py --bench     add the benchmarks' peers to it

The folder's name has a hash of the lock files and of the Python version: another lock is another
environment, and a finished one never changes again. A stamp written last marks a finished build.
Standard library only: nothing is installed yet when this runs.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Outside the hash-locked files: its CPU and CUDA builds differ in hash, and pip chooses the build
# that this machine is set up for.
TORCH = "torch==2.13.0"
LOCKS = ("web.txt", "models.txt", "dev.txt")
BENCH_LOCK = "bench.txt"
OLDEST_PYTHON = (3, 11)


def main() -> int:
    """Build or locate the environment; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--path", action="store_true", help="print the environment's folder and build nothing"
    )
    parser.add_argument("--bench", action="store_true", help="add the benchmarks' peers")
    options = parser.parse_args()
    if sys.version_info < OLDEST_PYTHON:
        print(
            f"Python {sys.version.split()[0]} is too old; 3.11 or newer is needed: make setup"
            " PYTHON=python3.11",
            file=sys.stderr,
        )
        return 1
    folder = environment_folder()
    if options.path:
        print(folder)
        return 0
    with locked(folder):
        _build(folder)
        if options.bench:
            stamped(folder, BENCH_LOCK, lambda: _install(folder, [BENCH_LOCK]))
    return 0


def environment_folder() -> Path:
    """The folder for these lock files and this Python."""
    parts = [
        TORCH.encode(),
        sys.version.split()[0].encode(),
        *((HERE / lock).read_bytes() for lock in LOCKS),
    ]
    return cache_folder("venv", parts)


def cache_folder(kind: str, parts: list[bytes]) -> Path:
    """Return a folder in the user's cache, named by kind and a digest.

    The digest covers `parts`, everything that the contents depend on.
    """
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "occurrent" / f"{kind}-{digest}"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One builder of the folder at a time; another one waits."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(folder: Path) -> None:
    """Create the environment.

    Every step can be repeated, so an interrupted build is simply run again.
    """

    def steps() -> None:
        print(f"Building the environment in {folder}", flush=True)
        venv.create(folder, with_pip=True, symlinks=True)
        run(
            [
                python(folder),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                TORCH,
                pin("uv"),
            ]
        )
        _install(folder, list(LOCKS))

    stamped(folder, "setup", steps)


def _install(folder: Path, locks: list[str]) -> None:
    """Install exactly what the locks list.

    Dependencies are not followed: the locks are complete, and torch must not change.
    """
    files = [word for lock in locks for word in ("--requirement", str(HERE / lock))]
    command = [
        python(folder),
        "-m",
        "uv",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--require-hashes",
        *files,
    ]
    run(command, VIRTUAL_ENV=str(folder))


def pin(package: str) -> str:
    """The version of `package` that the development lock names."""
    lines = (HERE / "dev.txt").read_text(encoding="utf-8").splitlines()
    return next(line.split()[0] for line in lines if line.startswith(f"{package}=="))


def stamped(folder: Path, name: str, work: Callable[[], None]) -> None:
    """Do the work unless it is known to be done."""
    stamp = folder / f".{name}.done"
    if not stamp.exists():
        work()
        stamp.touch()


def python(folder: Path) -> str:
    """The environment's interpreter."""
    return str(folder / "bin" / "python")


def run(command: list[str], **environment: str) -> None:
    """Run a command with additions to the environment.

    Raises CalledProcessError.
    """
    subprocess.run(command, env={**os.environ, **environment}, check=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(
            f"Setting up stopped at: {' '.join(map(str, error.cmd))}\nRun `make setup` again to"
            " continue from there."
        )
