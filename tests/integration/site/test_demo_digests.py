"""Exports of the demo have the stored digests.

Random ids and clock times are replaced first. After a refactoring this shows that results are the
same. If an export differs:

    # in a checkout of the earlier commit
    pytest -n 0 -m deep tests/integration/site/test_demo_digests.py --demo-exports=/tmp/before
    # here: shows what differs
    pytest -n 0 -m deep tests/integration/site/test_demo_digests.py --demo-against=/tmp/before
    # here, if the difference is intended
    pytest -n 0 -m deep tests/integration/site/test_demo_digests.py --demo-digests=write
"""

from __future__ import annotations

import difflib
import hashlib
import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tests.paths import DATA, DEMO
from tests.worlds.demo_api_exports import ask_api
from tests.worlds.demo_decided import build_decided_demo
from tests.worlds.demo_exports import download_pages, export_commands, format_exports
from tests.worlds.demo_normal import fix_randomness, map_names, normalise

CASES = ["29281842", "27882036", "24181354"]
DIGESTS = DATA / "demo_digests.json"
#: Folders whose subfolders are an export each; elsewhere a file is.
FOLDERS = ("timelines", "summaries", "authored")
DIFFERENCES, LINES = 12, 12


@pytest.fixture
def quiet() -> Iterator[None]:
    """A report without thousands of logged requests."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.deep
@pytest.mark.usefixtures("quiet")
@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(1800)
def test_the_exports_of_the_demo_are_those_whose_digests_are_stored(request, tmp_path):
    option = request.config.getoption
    texts = exports(tmp_path / "written")
    folder = Path(option("--demo-exports") or tmp_path / "exports")
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="")
    made = digests(texts)
    if option("--demo-digests") == "write":
        DIGESTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    wrong = differing(made, json.loads(DIGESTS.read_text(encoding="utf-8")))
    if wrong:
        pytest.fail(message(wrong, texts, folder, option("--demo-against")), pytrace=False)


def exports(folder: Path) -> dict[str, str]:
    """Return every export in its normal form by name.

    A file that pages and the API both offer must be the same in every byte.
    """
    days = {today()}
    with fix_randomness():
        demo, seen = build_decided_demo(DEMO / "cohort", CASES)
    taken = export_commands(folder)
    pages, api = download_pages(demo), ask_api(demo)
    assert [name for name in pages.keys() & api.keys() if pages[name] != api[name]] == []
    taken |= (
        pages | api | {name: json.dumps(answer, indent=1).encode() for name, answer in seen.items()}
    )
    known = map_names()
    days.add(today())
    return {name: normalise(name, text, known, days) for name, text in format_exports(taken)}


def today() -> date:
    return datetime.now(UTC).date()


def digests(texts: Mapping[str, str]) -> dict[str, str]:
    """Export → SHA-256 over the names and texts of its files, sorted."""
    files: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, text in sorted(texts.items()):
        files[find_export(name)].append((name, text))
    return {
        name: hashlib.sha256(json.dumps(taken).encode()).hexdigest()
        for name, taken in sorted(files.items())
    }


def find_export(file: str) -> str:
    """The export that a file belongs to."""
    return "/".join(file.split("/")[:2]) if file.split("/")[0] in FOLDERS else file


def differing(made: Mapping[str, str], stored: Mapping[str, str]) -> list[str]:
    return sorted(
        name for name in made.keys() | stored.keys() if made.get(name) != stored.get(name)
    )


def message(
    wrong: Iterable[str], texts: Mapping[str, str], folder: Path, against: str | None
) -> str:
    """Return which exports differ, and what to do.

    The differences are included if `against` has the earlier exports.
    """
    lines = [
        "These exports differ from those whose digests are stored:",
        *(f"  {name}" for name in wrong),
    ]
    lines += [f"They are in {folder}.", *(__doc__ or "").splitlines()[2:]]
    files = [name for name in texts if find_export(name) in set(wrong)] if against else []
    for name in files[:DIFFERENCES]:
        earlier = Path(against or "") / name
        before = earlier.read_bytes().decode() if earlier.is_file() else ""
        lines += difference(name, before, texts[name])
    return "\n".join(lines)


def difference(name: str, before: str, after: str) -> list[str]:
    """Return the first lines of a unified diff.

    Long lines are cut at their commas, so that it shows the value that differs.
    """
    old, new = (text.replace(",", ",\n").splitlines() for text in (before, after))
    return list(
        difflib.unified_diff(old, new, f"before/{name}", f"after/{name}", n=1, lineterm="")
    )[:LINES]


def test_a_digit_makes_an_export_differ_and_a_random_id_does_not(tmp_path):
    days, known = {date(2026, 1, 2)}, {"abcdefgh2345": "game-1"}
    raw = "abcdefgh2345,2.25,2026-01-02T03:04:05.6+00:00\n"
    before = {"a.csv": normalise("a.csv", raw, known, days)}
    assert before == {"a.csv": "game-1,2.25,CLOCK\n"}
    for summed in ("3e-17,2.123456789012,1.2.3,12e9", "0.0,2.12345678901201,1.2.3,12e9"):
        assert normalise("a.csv", summed, {}, set()) == "0.0,2.123456789,1.2.3,12e9"
    other = raw.replace("abcdefgh2345", "zzzzzzzz9999").replace("03:04", "04:05")
    assert digests(
        {"a.csv": normalise("a.csv", other, {"zzzzzzzz9999": "game-1"}, days)}
    ) == digests(before)
    after = {"a.csv": normalise("a.csv", raw.replace("2.25", "2.26"), known, days)}
    assert differing(digests(after), digests(before)) == ["a.csv"]
    (tmp_path / "a.csv").write_text(before["a.csv"], encoding="utf-8")
    assert {"-2.25,", "+2.26,"} <= set(
        message(["a.csv"], after, tmp_path, str(tmp_path)).splitlines()
    )
