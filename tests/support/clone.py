"""`git` of a test: it copies the files of this checkout.

Other commands than `clone` do nothing. `clone.py GIT CHECKOUT clone --branch RELEASE REPOSITORY FOLDER`. What is copied is the working
tree, so that a test sees the change it tests.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path


def main(git: str, checkout: Path, arguments: list[str]) -> int:
    """Copy what git knows or would add; returns the exit status."""
    if arguments[0] != "clone":
        return 0
    target = Path(arguments[-1])
    listed = subprocess.run(
        [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=checkout,
        capture_output=True,
        check=True,
    )
    for name in listed.stdout.decode().rstrip("\0").split("\0"):
        if (checkout / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, target / name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:]))
