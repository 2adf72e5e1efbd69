"""Exports by the rules of brat's verifier and of other readers."""

from __future__ import annotations

import re
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings

from tests.unit.timelines.formats.cohorts import bare_case, cohorts
from timelines.formats.brat.writer import CONFIGURATION, write_brat
from timelines.formats.lines import CaseLines

Mark = tuple[str, list[tuple[int, int]], str]
OVERLAP = "<OVERLAP> Arg1:<ENTITY>, Arg2:<ENTITY>, <OVL-TYPE>:<ANY>"


def read_marks(file: Path) -> list[Mark]:
    """Return type, pieces and quoted text of every annotation."""
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("T"):
            _, place, words = line.split("\t", 2)
            label, pieces = place.split(" ", 1)
            spans = [tuple(map(int, piece.split(" "))) for piece in pieces.split(";")]
            found.append((label, [(a, b) for a, b in spans], words))
    return found


def verify(configuration: str, marks: list[Mark]) -> list[str]:
    """Return the messages of brat's verifier about types and overlaps.

    Two marks that share a character are equal, nested or crossing. The configuration must allow
    that kind, or any, for all entities.
    """
    entities = configuration.split("[relations]")[0].split("\n")
    overlap = re.search(
        r"^<OVERLAP> Arg1:<ENTITY>, Arg2:<ENTITY>, <OVL-TYPE>:(\S+)$", configuration, re.MULTILINE
    )
    allowed = overlap[1].split("|") if overlap else []
    messages = [f"{label} is unknown" for label, _, _ in marks if label not in entities]
    for (_, a, _), (_, b, _) in permutations(marks, 2):
        if a[-1][1] <= b[0][0] or b[-1][1] <= a[0][0]:
            continue
        ends = [(a[0][0], a[-1][1]), (b[0][0], b[-1][1])]
        inner = [x[0] >= y[0] and x[1] <= y[1] for x, y in (ends, ends[::-1])]
        kind = "equal" if a == b else "contain" if any(inner) else "cross"
        if not {kind, "<ANY>"} & set(allowed):
            messages.append(f"{kind} is not allowed")
    return messages


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases=cohorts())
def test_the_verifier_is_silent_and_every_quote_is_in_the_folded_text(
    cases: list[CaseLines],
) -> None:
    with TemporaryDirectory() as folder:
        write_brat(cases, Path(folder))
        for file in Path(folder).rglob("*.ann"):
            marks = read_marks(file)
            configuration = file.with_name("annotation.conf").read_text(encoding="utf-8")
            assert verify(configuration, marks) == []
            folded = file.with_suffix(".txt").read_text(encoding="utf-8")
            exact = file.with_suffix(".txt").read_bytes().decode("utf-8")
            for _, pieces, words in marks:
                for text in (folded, exact):
                    assert " ".join(text[a:b] for a, b in pieces) == words


def test_offsets_in_a_note_with_crlf_survive_universal_line_ends(tmp_path: Path) -> None:
    note = "Seen.\r\nNo chest\r\npain."
    write_brat([bare_case("a", note, (note.index("chest"), note.index(".", 10)))], tmp_path)
    (file,) = tmp_path.rglob("*.txt")
    assert file.read_bytes() == b"Seen.\nNo chest\npain."
    assert read_marks(file.with_suffix(".ann")) == [("Lab", [(9, 14), (15, 19)], "chest pain")]


@pytest.mark.parametrize(
    ("second", "kind"), [((0, 9), "equal"), ((0, 5), "contain"), ((5, 12), "cross")]
)
def test_without_the_overlap_line_the_verifier_complains(
    second: tuple[int, int], kind: str
) -> None:
    marks: list[Mark] = [("Lab", [(0, 9)], ""), ("Lab", [second], "")]
    configuration = CONFIGURATION.format(entities="Lab")
    assert verify(configuration, marks) == []
    assert verify(configuration.replace(OVERLAP, ""), marks) == [f"{kind} is not allowed"] * 2
