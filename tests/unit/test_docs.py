"""The pages of documentation, and the first lines of docstrings.

The files, paths and modules that pages name exist; lines are short.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("demo/**/*.md")],
    key=lambda page: page.relative_to(ROOT).as_posix(),
)
APPS = ("accounts", "adjudication", "config", "ehr", "jobs", "llm_runtime", "timelines")
TOP = (
    *APPS,
    "benchmarks",
    "client",
    "demo",
    "docker",
    "docs",
    "prompts",
    "requirements",
    "static",
    "templates",
    "tests",
)
LONGEST_LINE = 120
LONGEST_SUMMARY = 72
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(TOP)})(?:/[\w.*{{}},-]*)+")
FILE = re.compile(r"(?:test_)?\w+\.(?:py|md|toml|html|js|css)")
MODULE = re.compile(rf"(?:{'|'.join(APPS)}|benchmarks)(?:\.\w+)+")


def _paths(text: str) -> Iterator[str]:
    """Yield each path in prose, in backticks or not.

    Braces are expanded and final dots removed.
    """
    for found in PATH.findall(FENCE.sub("", text)):
        yield from _alternatives(found.rstrip(".,"))


def _alternatives(path: str) -> Iterator[str]:
    """Return `a/{b,c}.d` as `a/b.d` and `a/c.d`."""
    choice = re.search(r"\{([^}]*)\}", path)
    if choice is None:
        yield path
        return
    for word in choice[1].split(","):
        yield from _alternatives(path[: choice.start()] + word + path[choice.end() :])


def _exists(path: str) -> bool:
    """Return True if the path, or a file of its pattern, is in the repository."""
    return any(ROOT.glob(path.rstrip("/"))) or any(ROOT.glob(path + "-*.md"))


def _module_exists(name: str) -> bool:
    """Return True if a dotted name is a module, or a name in a module.

    The module may define or import the name.
    """
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:length])
        source = place.with_suffix(".py")
        if not source.is_file() and place.is_dir():
            source = place / "__init__.py"
            if length == len(parts):
                return True
        if source.is_file():
            return length == len(parts) or parts[length] in _names(source)
    return False


def _names(source: Path) -> set[str]:
    """Return the names that a module defines, assigns or imports."""
    names: set[str] = set()
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def _id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _long_summaries(source: str) -> Iterator[str]:
    """Yield the first line of each docstring that is too long."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            summary = (ast.get_docstring(node) or "").partition("\n")[0]
            if len(summary) > LONGEST_SUMMARY:
                yield summary


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_each_path_exists(page: Path) -> None:
    """A path that moved is corrected on the page in the same change."""
    text = page.read_text(encoding="utf-8")
    assert [path for path in _paths(text) if not _exists(path)] == []


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_each_file_named_alone_exists(page: Path) -> None:
    """A file named in backticks without its folder exists in some folder."""
    code = CODE.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    missing = [
        name
        for name in code
        if FILE.fullmatch(name) and not any(any(ROOT.glob(f"{top}/**/{name}")) for top in TOP)
    ]
    assert [name for name in missing if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_each_module_exists(page: Path) -> None:
    """A dotted name in backticks, or after `python -m`, is a module's."""
    text = page.read_text(encoding="utf-8")
    code = CODE.findall(FENCE.sub("", text))
    names = [name for words in code for name in MODULE.findall(words) if words.startswith(name)]
    names += re.findall(r"python -m ([a-z_.]+)", text)
    ours = [name for name in names if name.split(".")[0] in TOP and not FILE.fullmatch(name)]
    assert [name for name in ours if not _module_exists(name)] == []


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_each_link_leads_to_a_file(page: Path) -> None:
    links = LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
    inside = [link.split("#")[0] for link in links if "://" not in link]
    assert [link for link in inside if link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=_id)
def test_lines_are_short(page: Path) -> None:
    """Lines are short; rows of tables and single long words are exempt."""
    long = [
        line
        for line in page.read_text(encoding="utf-8").splitlines()
        if len(line) > LONGEST_LINE and not line.startswith("|") and " " in line.strip()
    ]
    assert long == []


def test_decisions_have_unique_numbers() -> None:
    """A title begins with the number of its file."""
    pages = sorted(ROOT.glob("docs/adr/*.md"))
    numbers = [int(page.name[:4]) for page in pages]
    titles = [re.match(r"# (\d+)\. ", page.read_text(encoding="utf-8")) for page in pages]
    assert [int(title[1]) if title else None for title in titles] == numbers
    assert len(set(numbers)) == len(numbers) > 40


def test_docstring_summaries_are_short() -> None:
    """Migrations are exempt."""
    files = [*ROOT.glob("*.py"), *(file for top in TOP for file in ROOT.glob(f"{top}/**/*.py"))]
    long = [
        f"{file.relative_to(ROOT)}: {summary}"
        for file in files
        if "migrations" not in file.parts
        for summary in _long_summaries(file.read_text(encoding="utf-8"))
    ]
    assert len(files) > 500
    assert long == []


def test_a_long_summary_is_reported() -> None:
    line = "x" * (LONGEST_SUMMARY + 1)
    assert list(_long_summaries(f'def f():\n    """{line[1:]}\n\n    {line}\n    """')) == []
    assert list(_long_summaries(f'class C:\n    def f(self):\n        """{line}"""')) == [line]


def test_a_wrong_path_is_reported() -> None:
    """The checks above fail on a path, a file and a name that do not exist."""
    assert list(_paths("See `timelines/{runs,nowhere}/actions.py`.")) == [
        "timelines/runs/actions.py",
        "timelines/nowhere/actions.py",
    ]
    assert _exists("timelines/runs/actions.py")
    assert not _exists("timelines/nowhere/actions.py")
    assert _module_exists("timelines.runs.actions.start_run")
    assert not _module_exists("timelines.runs.actions.no_such_name")
