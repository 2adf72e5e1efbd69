"""The checks before a release name each thing that does not agree."""

import json
import shutil
import subprocess
import sys
from io import StringIO

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from drf_spectacular.generators import SchemaGenerator

from config.env import BASE_DIR
from config.management.commands import release_check
from config.releases import checks
from config.releases.changelog import find_faults, find_released, read_changelog
from config.releases.locks import find_lock_faults
from config.releases.version import read_version

GOOD = """# Changelog

## [Unreleased]

## [0.2.0] - 2026-02-01

### Added

- One thing.

## [0.1.0] - 2026-01-01

- Another.
"""


def write_project(folder, version, changelog=GOOD):
    (folder / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
    (folder / "CHANGELOG.md").write_text(changelog)
    return folder


def test_the_version_has_one_place(tmp_path):
    assert read_version(write_project(tmp_path, "3.4.5")) == "3.4.5"
    assert read_version() == settings.VERSION
    command = [sys.executable, "manage.py", "version"]
    said = subprocess.run(command, cwd=BASE_DIR, check=False, capture_output=True, text=True)
    assert said.stdout == f"Occurrent {settings.VERSION}\n", said.stderr


def test_this_changelog_has_this_version():
    sections = read_changelog((BASE_DIR / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert find_released(sections)[0].name == read_version()
    assert all(section.entries for section in find_released(sections))


def test_a_good_changelog_has_no_fault():
    sections = read_changelog(GOOD)
    assert [(s.name, s.date, len(s.entries)) for s in sections] == [
        ("Unreleased", "", 0),
        ("0.2.0", "2026-02-01", 1),
        ("0.1.0", "2026-01-01", 1),
    ]
    assert find_faults(sections, "0.2.0") == []


@pytest.mark.parametrize(
    ("text", "version", "fault"),
    [
        (GOOD, "0.3.0", "CHANGELOG.md begins with 0.2.0, but pyproject.toml says 0.3.0."),
        (GOOD, "0.1.0", "CHANGELOG.md begins with 0.2.0, but pyproject.toml says 0.1.0."),
        ("# Changelog\n", "0.1.0", "CHANGELOG.md begins with no version"),
        (
            GOOD.replace("## [0.2.0]", "- Later.\n\n## [0.2.0]"),
            "0.2.0",
            "CHANGELOG.md lists changes under Unreleased. Move them under a version newer than 0.2.0",
        ),
        (GOOD.replace("- One thing.\n", ""), "0.2.0", "CHANGELOG.md lists no change of 0.2.0."),
        (
            GOOD.replace("0.1.0", "0.10.0"),
            "0.2.0",
            "CHANGELOG.md has 0.10.0 after 0.2.0. Newer versions come first.",
        ),
    ],
)
def test_each_fault_of_a_changelog_is_named(text, version, fault):
    [found] = find_faults(read_changelog(text), version)
    assert found.startswith(fault)


@pytest.mark.parametrize("heading", ["## 0.2.0", "## [0.2.0]", "## [0.2] - 2026-01-01", "## [x]"])
def test_a_heading_of_another_form_is_named_with_its_line(tmp_path, heading):
    with pytest.raises(ValueError, match=r"CHANGELOG\.md, line 2: write a heading as"):
        read_changelog(f"# Changelog\n{heading}\n")
    folder = write_project(tmp_path, "0.2.0", f"# Changelog\n{heading}\n")
    [fault] = checks.check_changelog(folder, "0.2.0")
    assert fault.startswith("CHANGELOG.md, line 2")


def test_a_version_that_is_tagged_is_not_released_again(tmp_path):
    def git(*arguments):
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True)

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "x")
    git("tag", "v0.2.0")
    git("tag", "various")
    assert checks.check_tags(tmp_path, "0.2.1") == []
    for version in ("0.2.0", "0.1.9"):
        [fault] = checks.check_tags(tmp_path, version)
        assert fault.startswith("the version v0.2.0 is tagged already")


def test_locks_are_compared_with_what_is_wanted(tmp_path):
    assert find_lock_faults(BASE_DIR / "requirements") == []
    shutil.copytree(BASE_DIR / "requirements", tmp_path / "requirements")
    wanted = tmp_path / "requirements" / "web.in"
    wanted.write_text(wanted.read_text().replace("polars<2 ", "polars<1 ") + "left-pad  # pads\n")
    assert find_lock_faults(tmp_path / "requirements") == [
        "requirements/web.txt does not lock polars<1. Run: make lock",
        "requirements/web.txt does not lock left-pad. Run: make lock",
    ]


def test_an_old_list_of_operations_is_named(tmp_path):
    assert checks.check_client(BASE_DIR) == []
    shutil.copytree(BASE_DIR / "client", tmp_path / "client")
    operations = tmp_path / "client" / "occurrent_client" / "operations.json"
    operations.write_text(json.dumps({}))
    [fault] = checks.check_client(tmp_path)
    assert fault.startswith("client/occurrent_client/operations.json is old")


def test_the_page_about_upgrades_names_the_version(tmp_path):
    assert checks.check_documentation(BASE_DIR, read_version()) == []
    [fault] = checks.check_documentation(BASE_DIR, "9.9.9")
    assert fault.startswith("docs/upgrades.md does not say how to upgrade to 9.9.9")


def test_the_database_of_the_release_before_is_there(tmp_path):
    assert checks.check_previous(BASE_DIR, read_version()) == []
    folder = write_project(
        tmp_path, "0.9.0", GOOD.replace("0.2.0", "0.9.0").replace("0.1.0", "0.8.0")
    )
    [fault] = checks.check_previous(folder, "0.9.0")
    assert fault.startswith("0.8.0.sql.xz is missing in tests/data/upgrades")


def test_the_command_prints_each_check_and_fails_with_the_number_of_faults(monkeypatch):
    faults = {"changelog": [], "locks": ["web.txt is old. Run: make lock"]}
    monkeypatch.setattr(release_check, "run_checks", lambda: faults)
    out = StringIO()
    with pytest.raises(CommandError, match=r"^1 fault$"):
        call_command("release_check", stdout=out)
    assert out.getvalue().splitlines() == [
        f"Occurrent {settings.VERSION}",
        "changelog: ok",
        "locks: FAULTY",
        "  web.txt is old. Run: make lock",
    ]
    monkeypatch.setattr(release_check, "run_checks", lambda: {"changelog": []})
    call_command("release_check", stdout=out)


def test_every_check_is_made_for_this_checkout():
    """Between releases only the changelog may keep the version from one."""
    faults = checks.run_checks()
    assert len(faults) == 7
    assert {name for name, found in faults.items() if found} <= {"changelog", "tags"}


def test_the_description_of_the_api_names_the_version():
    schema = SchemaGenerator().get_schema(request=None, public=True)
    assert schema["info"]["x-release"] == settings.VERSION


def test_the_models_need_no_migration():
    assert checks.check_migrations() == []
