"""The locks are complete, name no index, and separate model libraries."""

import re

import pytest

from config.env import BASE_DIR

FOLDER = BASE_DIR / "requirements"
NAMES = ["web", "models", "dev", "bench"]
#: In an environment of its own, whose versions need not agree with the others'.
ALL = [*NAMES, "verification"]
PINNED = re.compile(r"^([a-z0-9][a-z0-9._-]*)(?:\[[a-z,]+\])?==", re.MULTILINE)


def find_pinned(name):
    return set(PINNED.findall((FOLDER / f"{name}.txt").read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ALL)
def test_every_dependency_says_why_it_is_there(name):
    lines = (FOLDER / f"{name}.in").read_text(encoding="utf-8").splitlines()
    dependencies = [line for line in lines if line and not line.startswith(("#", "-c "))]
    assert dependencies
    assert [line for line in dependencies if not re.search(r"\s# \w.{10,}", line)] == []


@pytest.mark.parametrize("name", ALL)
def test_every_direct_dependency_is_locked(name):
    lines = (FOLDER / f"{name}.in").read_text(encoding="utf-8").splitlines()
    wanted = {
        re.split(r"[\[~=<> ]", line)[0].lower()
        for line in lines
        if line and not line.startswith(("#", "-c "))
    }
    assert wanted - find_pinned(name) == set()


@pytest.mark.parametrize("name", ALL)
def test_every_lock_line_has_a_hash_and_no_address(name):
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    entries = [entry for entry in re.split(r"\n(?=[a-z0-9])", text) if PINNED.match(entry)]
    assert entries
    assert [entry.splitlines()[0] for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text


@pytest.mark.parametrize("name", ALL)
def test_no_lock_holds_torch_or_cuda(name):
    assert [
        package
        for package in find_pinned(name)
        if package in {"torch", "triton"} or package.startswith(("nvidia-", "cuda-"))
    ] == []


def test_the_web_process_has_nothing_that_loads_a_model():
    assert find_pinned("web").isdisjoint(
        {"transformers", "spacy", "thinc", "onnxruntime", "vllm", "tokenizers"}
    )


def test_a_worker_does_not_install_duckdb():
    assert (find_pinned("web") | find_pinned("models")).isdisjoint({"duckdb", "pyduck-janitor"})


def test_a_package_has_one_version_in_all_locks():
    versions = {}
    for name in NAMES:
        for line in (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            if match := re.match(r"^([a-z0-9._-]+)(?:\[[a-z,]+\])?==(\S+)( ;.*?)?( \\)?$", line):
                versions.setdefault((match[1], match[3]), set()).add(match[2])
    assert [package for package, found in versions.items() if len(found) > 1] == []
