"""Build the environment of the verification tests outside the checkout.

It has vLLM for the CPU and a small real model.

    python3 requirements/verification.py --path      print the folder
    python3 requirements/verification.py             build it, or finish an interrupted build

vLLM's own pins clash with the application's, so it has its own environment and is only used over
HTTP. Standard library only.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
import sys
import venv
from pathlib import Path

import install

LOCK = "verification.txt"
CONVERTER = "smollm2.py"
#: Parts of the PyTorch family that vLLM lists and that do not fit a CPU build of PyTorch.
UNWANTED = ("torchvision", "torchaudio", "torchcodec", "triton")


def main() -> int:
    """Build or locate the environment; returns the exit status."""
    folder = environment_folder()
    if "--path" in sys.argv[1:]:
        print(folder)
        return 0
    if reason := unfit():
        print(f"vLLM's build for CPUs does not run here: {reason}", file=sys.stderr)
        return 1
    with install.locked(folder):
        install.stamped(folder, "setup", lambda: _server(folder))
        install.stamped(folder, f"model-{_digest(CONVERTER)}", lambda: _model(folder))
    return 0


def environment_folder() -> Path:
    """The folder for this lock and this Python."""
    lock = (install.HERE / LOCK).read_bytes()
    return install.cache_folder(
        "vllm", [install.TORCH.encode(), sys.version.split()[0].encode(), lock]
    )


def model_folder(folder: Path) -> Path:
    """Return the converted model's folder in the environment's folder."""
    return folder / "models" / "SmolLM2-135M-Instruct"


def unfit() -> str:
    """Return why this machine cannot run the server, "" if it can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"it is built for Linux on x86-64, not for {sys.platform} on {platform.machine()}"
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return "" if "avx2" in flags else "the processor has no AVX2"


def _server(folder: Path) -> None:
    print(f"Building vLLM's environment in {folder} (2.5 GB)", flush=True)
    venv.create(folder, with_pip=True, symlinks=True)
    pip = [install.python(folder), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    install.run([*pip, "install", install.TORCH, install.pin("uv")])
    uv = [install.python(folder), "-m", "uv", "pip"]
    lock = str(install.HERE / LOCK)
    install.run(
        [*uv, "install", "--quiet", "--no-deps", "--require-hashes", "--requirement", lock],
        VIRTUAL_ENV=str(folder),
    )
    install.run([*uv, "uninstall", "--quiet", *UNWANTED], VIRTUAL_ENV=str(folder))


def _digest(name: str) -> str:
    return hashlib.sha256((install.HERE / name).read_bytes()).hexdigest()[:12]


def _model(folder: Path) -> None:
    command = [install.python(folder), str(install.HERE / CONVERTER), str(model_folder(folder))]
    install.run(command, HF_HUB_OFFLINE="1", TQDM_DISABLE="1")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(
            f"Setting up stopped at: {' '.join(map(str, error.cmd))}\nRun it again to continue from"
            " there."
        )
