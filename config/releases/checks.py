"""What must agree before a version is released."""

from __future__ import annotations

import json
import runpy
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from django.apps import apps
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from drf_spectacular.generators import SchemaGenerator
from packaging.version import InvalidVersion, Version

from config.env import BASE_DIR
from config.releases.changelog import find_faults, find_released, read_changelog
from config.releases.locks import find_lock_faults
from config.releases.version import read_version

#: What the database of the release before looks like; tests migrate it.
FIXTURES = BASE_DIR / "tests" / "data" / "upgrades"


def run_checks(folder: Path = BASE_DIR) -> dict[str, list[str]]:
    """Return the faults of each check by its name; each fault says the fix."""
    version = read_version(folder)
    checks: Mapping[str, Callable[[], list[str]]] = {
        "changelog": lambda: check_changelog(folder, version),
        "tags": lambda: check_tags(folder, version),
        "migrations": check_migrations,
        "previous release": lambda: check_previous(folder, version),
        "locks": lambda: find_lock_faults(folder / "requirements"),
        "client": lambda: check_client(folder),
        "documentation": lambda: check_documentation(folder, version),
    }
    return {name: check() for name, check in checks.items()}


def check_changelog(folder: Path, version: str) -> list[str]:
    """The newest version of the changelog is this, and nothing is unreleased."""
    try:
        sections = read_changelog((folder / "CHANGELOG.md").read_text(encoding="utf-8"))
    except ValueError as error:
        return [str(error)]
    return find_faults(sections, version)


def check_tags(folder: Path, version: str) -> list[str]:
    """The version is newer than every tag of git (`v1.2.3`)."""
    command = ["git", "tag", "--list", "v*"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError:  # an installation without git
        return []
    return [
        f"the version {tag} is tagged already. Raise the version in pyproject.toml."
        for tag in done.stdout.split()
        if (tagged := _parse(tag)) is not None and tagged >= Version(version)
    ]


def check_migrations() -> list[str]:
    """The models need no further migration."""
    # Without a database, unlike Django's `makemigrations --check`.
    loader = MigrationLoader(None, ignore_no_migrations=True)
    detector = MigrationAutodetector(loader.project_state(), ProjectState.from_apps(apps))
    return [
        f"the models of {app} differ from its migrations. Run: manage.py makemigrations {app}"
        for app in sorted(detector.changes(graph=loader.graph))
    ]


def check_previous(folder: Path, version: str) -> list[str]:
    """The database of the release before is there for the test of the upgrade."""
    released = find_released(read_changelog((folder / "CHANGELOG.md").read_text(encoding="utf-8")))
    names = [section.name for section in released if Version(section.name) < Version(version)]
    wanted = FIXTURES / f"{names[0]}.sql.xz" if names else None
    if wanted is None or wanted.exists():
        return []
    return [f"{wanted.name} is missing in tests/data/upgrades. Make it: docs/upgrades.md"]


def check_client(folder: Path) -> list[str]:
    """The client has the operations of the API's description."""
    package = folder / "client" / "occurrent_client"
    write = runpy.run_path(str(package / "generate.py"))["write_operations"]
    schema = SchemaGenerator().get_schema(request=None, public=True)
    plain = json.loads(json.dumps(schema))
    if write(plain) == (package / "operations.json").read_text(encoding="utf-8"):
        return []
    return ["client/occurrent_client/operations.json is old. docs/reference/client.md says how"]


def check_documentation(folder: Path, version: str) -> list[str]:
    """The page about upgrades has a row for the version."""
    page = (folder / "docs" / "upgrades.md").read_text(encoding="utf-8")
    if f"| {version} |" in page:
        return []
    return [f"docs/upgrades.md does not say how to upgrade to {version}. Add a row to its table."]


def _parse(tag: str) -> Version | None:
    try:
        return Version(tag)
    except InvalidVersion:
        return None
