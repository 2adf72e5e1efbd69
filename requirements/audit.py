"""Audit the locked packages: vulnerabilities, licences; list them.

    python requirements/audit.py licences          against licences.toml; needs no network
    python requirements/audit.py vulnerabilities   against the registry's list of known ones
    python requirements/audit.py sbom FOLDER       a CycloneDX bill of materials for each lock

Without the registry's list, the check of vulnerabilities says so and passes, unless the
environment has AUDIT=required. Run it with the Python of the project's environment.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
#: What an installation runs, and what tests and checks run.
LOCKS = ("web", "models", "dev", "bench", "verification")
#: An old version with known vulnerabilities: a list that does not name it is none.
CANARY = "jinja2==2.11.2"
NOT_MADE = (
    "audit: the check for known vulnerabilities could not be made: no list of them can be read"
    " here. Run it where the package registry can be reached; AUDIT=required fails without it."
)


def main(arguments: list[str] | None = None) -> int:
    """Run one of the audits; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("audit", choices=("licences", "vulnerabilities", "sbom"))
    parser.add_argument("folder", nargs="?", type=Path, default=Path("build/sbom"))
    options = parser.parse_args(arguments)
    if options.audit == "sbom":
        write_bills(options.folder)
        return 0
    if options.audit == "licences":
        return report("licence", check_licences(read_licences(), read_policy()))
    if not is_list_reachable():
        print(NOT_MADE, file=sys.stderr)
        return int(os.environ.get("AUDIT") == "required")
    return report("vulnerability", find_vulnerabilities(LOCKS))


def report(what: str, faults: Iterable[str]) -> int:
    """Print the faults; returns 1 if there are any."""
    lines = [f"audit: {what}: {fault}" for fault in faults]
    print("\n".join(lines), end="\n" if lines else "", file=sys.stderr)
    return int(bool(lines))


# Licences.


def read_licences() -> dict[str, str]:
    """Return the licence of each installed package, by its name."""
    found = json.loads(run("pip-licenses", "--format=json", "--from=mixed", "--with-system"))
    return {package["Name"].lower(): package["License"] for package in found}


def read_policy() -> dict[str, Any]:
    """Return what licences.toml allows."""
    return tomllib.loads((HERE / "licences.toml").read_text(encoding="utf-8"))


def check_licences(packages: Mapping[str, str], policy: Mapping[str, Any]) -> list[str]:
    """Return the packages whose licence is not allowed, with it."""
    allowed, reviewed = set(policy["allowed"]), policy["reviewed"]
    return [
        f"{name}: {licence}. Allow it in requirements/licences.toml, with a reason, or remove it."
        for name, licence in sorted(packages.items())
        if name not in reviewed and not is_allowed(licence, allowed)
    ]


def is_allowed(licence: str, allowed: set[str]) -> bool:
    """Return True if it is allowed: all of several, or one of a choice.

    Classifiers are joined by semicolons, expressions of SPDX by AND and OR.
    """
    if licence in allowed:
        return True
    if "; " in licence:
        return all(part in allowed for part in licence.split("; "))
    parts = re.split(r" AND | OR ", re.sub(r"[()]", "", licence))
    choice = " OR " in licence and " AND " not in licence
    return (any if choice else all)(part in allowed for part in parts)


# Vulnerabilities.


def is_list_reachable() -> bool:
    """Return True if the registry names the vulnerabilities of the canary."""
    with tempfile.TemporaryDirectory() as folder:
        canary = Path(folder) / "canary.txt"
        canary.write_text(f"{CANARY}\n")
        return any(package.get("vulns") for package in audit_file(canary))


def find_vulnerabilities(locks: Iterable[str]) -> list[str]:
    """Return known vulnerabilities, and packages that are not in the list."""
    found = set()
    for lock in locks:
        for package in audit_file(HERE / f"{lock}.txt"):
            name = f"{package['name']} {package.get('version', '')}".strip()
            if reason := package.get("skip_reason"):
                found.add(f"{name}: not audited: {reason}")
            for fault in package.get("vulns", []):
                mended = ", ".join(fault["fix_versions"]) or "none yet"
                found.add(f"{name}: {fault['id']}, mended in {mended}")
    return sorted(found)


def audit_file(file: Path) -> list[dict[str, Any]]:
    """Return what pip-audit says of each package; nothing if it says nothing."""
    options = ["--disable-pip", "--no-deps", "--format", "json", "--progress-spinner", "off"]
    written = run("pip-audit", "--requirement", str(file), *options, check=False)
    try:
        found: list[dict[str, Any]] = json.loads(written)["dependencies"]
    except ValueError:
        return []
    return found


# The bill of materials.


def write_bills(folder: Path) -> None:
    """Write one file for each lock; the same locks give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for lock in LOCKS:
        place = folder / f"{lock}.cdx.json"
        options = ["--output-reproducible", "--output-format", "JSON", "--spec-version", "1.6"]
        options.append("--no-validate")  # a test does; here it would take a minute
        run("cyclonedx-py", "requirements", *options, "-o", str(place), str(HERE / f"{lock}.txt"))
        print(place)


def run(tool: str, *arguments: str, check: bool = True) -> str:
    """Return what a tool of the environment prints."""
    ended = subprocess.run(
        [str(BIN / tool), *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    if check and ended.returncode != 0:
        raise SystemExit(f"audit: {tool} failed with status {ended.returncode}. Run it by hand.")
    return ended.stdout


if __name__ == "__main__":
    sys.exit(main())
