"""The audit of locked packages, and their bills of materials."""

import importlib.util
import json
import re
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from config.env import BASE_DIR

LOCKS = BASE_DIR / "requirements"


@pytest.fixture
def audit():
    """Return the script as a module."""
    spec = importlib.util.spec_from_file_location("audit", LOCKS / "audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Licences.


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("UNKNOWN", False),
        ("", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("MIT AND (BSD OR GPL-3.0-only)", False),
        ("MIT AND (BSD OR MIT)", True),
        ("MIT; BSD", True),
        ("MIT; GNU General Public License (GPL)", False),
        ("MPL (2.0)", True),
    ],
)
def test_licences(audit, licence, allowed):
    assert audit.is_allowed(licence, {"MIT", "BSD", "MPL (2.0)"}) is allowed


def test_a_licence_that_is_not_allowed_is_named_with_its_package(audit):
    policy = {"allowed": ["MIT"], "reviewed": {"odd": "MIT by its file"}}
    packages = {"good": "MIT", "odd": "UNKNOWN", "bad": "GPL-3.0-only"}
    (fault,) = audit.check_licences(packages, policy)
    assert fault.startswith("bad: GPL-3.0-only. Allow it in requirements/licences.toml")


@pytest.mark.slow
def test_the_installed_packages_have_allowed_licences(audit, capsys):
    assert audit.main(["licences"]) == 0, capsys.readouterr().err


# Vulnerabilities.


@pytest.fixture
def answers(audit, monkeypatch):
    """Return a function that says what the registry lists."""

    def answer(known, skipped=()):
        def run(tool, *arguments, check=True):
            (file,) = (a for a in arguments if a.endswith(".txt"))
            found = []
            for line in Path(file).read_text().splitlines():
                if not (match := re.match(r"([A-Za-z0-9._-]+)==([^ ;\n]+)", line)):
                    continue
                name, version = match.groups()
                package = {"name": name, "version": version, "vulns": known.get(name, [])}
                if name in skipped:
                    package = {"name": name, "skip_reason": "not found"}
                found.append(package)
            return json.dumps({"dependencies": found})

        monkeypatch.setattr(audit, "run", run)

    return answer


FAULT = [{"id": "CVE-1", "fix_versions": ["9.9"]}]


def test_known_vulnerabilities_fail(audit, answers, capsys):
    answers({"jinja2": FAULT, "django": FAULT})
    assert audit.main(["vulnerabilities"]) == 1
    assert re.search(r"django [\d.]+: CVE-1, mended in 9\.9\n", capsys.readouterr().err)


def test_a_package_that_is_not_in_the_list_is_not_clean(audit, answers, capsys):
    answers({"jinja2": FAULT}, skipped=["django"])
    monkey = audit.LOCKS
    audit.LOCKS = ("web",)
    assert audit.main(["vulnerabilities"]) == 1
    assert "django: not audited: not found" in capsys.readouterr().err
    audit.LOCKS = monkey


def test_no_list_is_said_and_fails_only_if_it_is_required(audit, answers, capsys, monkeypatch):
    """A registry without a list answers that it knows of no vulnerabilities."""
    answers({}, skipped=["jinja2"])
    monkeypatch.delenv("AUDIT", raising=False)
    assert audit.main(["vulnerabilities"]) == 0
    assert "could not be made" in capsys.readouterr().err
    monkeypatch.setenv("AUDIT", "required")
    assert audit.main(["vulnerabilities"]) == 1


def test_a_tool_that_prints_nothing_is_no_list(audit, monkeypatch):
    monkeypatch.setattr(audit, "run", lambda *arguments, check=True: "")
    assert not audit.is_list_reachable()


# Bills of materials.


@pytest.mark.slow
def test_the_bill_names_every_locked_package_and_is_valid(audit, tmp_path, monkeypatch):
    monkeypatch.setattr(audit, "LOCKS", ("web",))
    assert audit.main(["sbom", str(tmp_path)]) == 0
    written = (tmp_path / "web.cdx.json").read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(written) is None
    bill = json.loads(written)
    locked = re.findall(r"(?m)^([A-Za-z0-9._-]+)==([^ ;\\]+)", (LOCKS / "web.txt").read_text())
    listed = {(one["name"].lower(), one["version"]) for one in bill["components"]}
    assert listed == {(name.lower(), version) for name, version in locked}
    assert len(locked) > 80
    assert all(one["purl"].startswith("pkg:pypi/") for one in bill["components"])
    hashed = [one["externalReferences"][0]["hashes"] for one in bill["components"]]
    assert all(hashed)


def test_make_check_audits():
    makefile = (BASE_DIR / "Makefile").read_text()
    assert "\ncheck: setup audit " in makefile
    assert "audit.py licences" in makefile
    assert "audit.py vulnerabilities" in makefile
