"""The rules on the intro case, where a clinician hesitated.

Each time is checked by hand against the record: registered at 08:45, admitted at 09:12.
"""

from __future__ import annotations

import pytest

from tests.paths import DEMO
from tests.spec.pipeline.quality.measured import reconstruct_case
from timelines.domain import Reconstruction

#: One of pytest-xdist's workers reconstructs the case.
pytestmark = pytest.mark.xdist_group("intro case")


@pytest.fixture(scope="module")
def result() -> Reconstruction:
    return reconstruct_case(DEMO / "intro" / "intro-ich")


@pytest.mark.parametrize(
    ("words", "hours", "cited", "near"),
    [
        # two hours before the registration at -0.45 h, not before its usual hour
        ("left arm weakness", -2.45, (), (0,)),
        # the time at the end is of both objects of "developed"
        ("sudden headache", -2.45, (), (0,)),
        ("blood pressure was 212/108", -0.3, (2, 3), ()),
        ("CT of the head", 0.05, (13,), ()),
        ("repeat CT of the head", 9.6, (45,), ()),
        ("hemorrhage was stable", 9.6, (45,), ()),
        ("reversal agent was given", 6.5, (39,), ()),
    ],
)
def test_times_and_rows(
    result: Reconstruction,
    words: str,
    hours: float,
    cited: tuple[int, ...],
    near: tuple[int, ...],
):
    mentions = {o.mention: o.uid for o in result.note.inventory}
    uid = min((m for m in mentions if words in m), key=len)
    entry = result.revised[0].by_uid[mentions[uid]]
    assert entry.time == pytest.approx(hours, abs=0.01)
    assert (entry.adopted_rows, entry.near_rows) == (cited, near)


def test_a_place_before_the_subject_keeps_its_preposition(result: Reconstruction):
    mentions = [o.mention for o in result.note.inventory]
    assert "in the emergency department his blood pressure was 212/108" in mentions
