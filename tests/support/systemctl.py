"""`systemctl` of a test: `python -m tests.support.systemctl ROOT start …`.

It knows the units below ROOT/etc/systemd/system, and services of the distribution by name.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.systemd import Unit

#: Services that the distribution brings; the test runs its own or needs none.
FOREIGN = frozenset({"nginx", "prometheus", "systemd-journald"})
VERBS = frozenset({"daemon-reload", "start", "enable", "restart", "stop"})


def main(root: Path, arguments: list[str]) -> int:
    """Run one command; returns the exit status."""
    folder, state = root / "etc/systemd/system", root / "run"
    verb, *names = [word for word in arguments if not word.startswith("-")]
    now = "--now" in arguments
    if verb not in VERBS:
        raise SystemExit(f"systemctl: unknown command {verb}")
    for name in names:
        if name == "nginx":
            with (state / "nginx.log").open("ab") as log:
                subprocess.run([root / "bin/nginx"], stdout=log, stderr=log, check=True)
        if name.removesuffix(".service") in FOREIGN:
            continue
        unit = Unit(folder, name, state)
        if unit.kind == "timer":
            Unit(folder, name.removesuffix(".timer"), state)  # the service that it starts
            continue
        if verb in ("restart", "stop"):
            unit.stop()
        if verb in ("start", "restart") or (verb == "enable" and now):
            unit.start()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
