"""The export by the rules of the evaluator of the 2012 challenge.

The evaluator reads tags by lines, with attributes in one order. Two events, or two times, match if
they overlap and both have a letter or digit. A link's end becomes the first event or time of the
other file that it overlaps, in the order of that file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.timelines.formats.cohorts import bare_case, cohorts
from tests.unit.timelines.formats.foreign_cases import case_lines
from timelines.formats.i2b2.writer import write_i2b2
from timelines.formats.lines import CaseLines

PLACE = r'id="([^"]*)"\s+start="([^"]*)"\s+end="([^"]*)"\s+text="([^"]*)"\s+'
EVENT = re.compile(PLACE + r'modality="([^"]*)"\s+polarity="([^"]*)"\s+type="([^"]*)"\s+/>')
TIME = re.compile(PLACE + r'type="([^"]*)"\s+val="([^"]*)"\s+mod="([^"]*)"\s+/>')
LINK = re.compile(
    r'id="([^"]*)"\s+fromID="([^"]*)"\s+fromText="([^"]*)"'
    r'\s+toID="([^"]*)"\s+toText="([^"]*)"\s+type="([^"]*)"\s+'
)

Tag = tuple[str, ...]


def read_tags(lines: list[str], name: str, attributes: re.Pattern[str]) -> list[Tag]:
    """Return the attributes of every tag; fail for one in another form."""
    found = []
    for line in lines:
        if f"<{name}" in line:
            match = attributes.search(line)
            assert match, line
            found.append(match.groups())
    return found


def overlaps(one: Tag, other: Tag) -> bool:
    """Return whether the evaluator lets the first match the second."""
    start, end, first, last = int(one[1]), int(one[2]), int(other[1]), int(other[2])
    if not (re.search(r"\w", one[3]) and re.search(r"\w", other[3])):
        return False
    return end >= first + 1 if start <= first else last > start + 1


def identify(tags: list[Tag]) -> dict[str, str]:
    """Return what each tag is in the same file."""
    return {
        tag[0]: next((other[0] for other in tags if overlaps(tag, other)), tag[0]) for tag in tags
    }


def differing_links(links: list[Tag], same: Mapping[str, str]) -> list[Tag]:
    """Return links whose ends are others in the role of the gold standard."""
    return [link for link in links for end in (link[1], link[3]) if same[same[end]] != same[end]]


def read_file(path: Path) -> tuple[list[Tag], list[Tag], list[Tag]]:
    with path.open(encoding="utf-8") as file:
        lines = file.readlines()
    return (
        read_tags(lines, "EVENT", EVENT),
        read_tags(lines, "TIMEX3", TIME),
        read_tags(lines, "TLINK", LINK),
    )


@st.composite
def timelines(draw: st.DrawFn) -> CaseLines:
    """Draw a case with up to eight spans, some of them timed.

    Overlaps have at least two characters: the evaluator sees a single one in one direction only.
    """
    note = "abcdefghijklmnopqrstuvwxyz"
    ends = st.integers(0, len(note) // 2)
    spans = draw(
        st.lists(st.tuples(ends, ends).filter(lambda e: e[0] < e[1]), min_size=1, max_size=8)
    )
    (line,) = bare_case("a", note, (0, 1)).lines
    lines = tuple(
        replace(
            line, uid4=f"{n:04x}", start=2 * a, end=2 * b, time=draw(st.none() | st.just(float(n)))
        )
        for n, (a, b) in enumerate(spans)
    )
    return case_lines("a", note, [lines])


@settings(deadline=None)
@given(case=timelines())
def test_a_file_against_itself_matches_every_event_time_and_link(case: CaseLines) -> None:
    with TemporaryDirectory() as folder:
        write_i2b2([case], Path(folder))
        (path,) = Path(folder).rglob("*.xml")
        events, times, links = read_file(path)
    assert all(overlaps(tag, tag) for tag in (*events, *times))
    assert len(events) == len(list(case.lines))
    assert len(links) == len(times) == sum(line.time is not None for line in case.lines)
    assert differing_links(links, identify(events) | identify(times)) == []


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases=cohorts())
def test_the_evaluator_can_read_every_tag(cases: list[CaseLines]) -> None:
    with TemporaryDirectory() as folder:
        write_i2b2(cases, Path(folder))
        for path in Path(folder).rglob("*.xml"):
            events, times, links = read_file(path)
            ends = {tag[0] for tag in (*events, *times)}
            assert {end for link in links for end in (link[1], link[3])} <= ends


def test_a_chain_of_overlaps_keeps_its_links(tmp_path: Path) -> None:
    note = "acute chest pain at rest"
    (line,) = bare_case("a", note, (0, 11)).lines
    chain = tuple(
        replace(line, uid4=f"000{n}", start=a, end=b, time=float(n))
        for n, (a, b) in enumerate([(0, 11), (6, 16), (12, 24)])
    )
    write_i2b2([case_lines("a", note, [chain])], tmp_path)
    (path,) = tmp_path.rglob("*.xml")
    events, times, links = read_file(path)
    assert [tag[0] for tag in events] == ["E0", "E2", "E1"]
    assert [tag[3] for tag in times] == ["acute chest", "pain at rest", "chest pain"]
    assert not differing_links(links, identify(events) | identify(times))
    events.sort()
    assert differing_links(links, identify(events) | identify(times)), "as the note has them"
