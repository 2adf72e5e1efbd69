"""Changes that must not matter move few times of the rules.

The goal is a share of 3 % for each change. On notes in other styles some are above it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.marks import deep
from tests.spec.pipeline.metamorphic import changes
from tests.spec.pipeline.metamorphic.changes import CHANGES, Changed, Edit, Piece, apply
from tests.spec.pipeline.metamorphic.measured import measure
from tests.spec.pipeline.quality.measured import STYLES
from tests.unit.adjudication.packets.planted_games import DEMO, QUALITY

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

GOAL = 0.03
#: Above the goal today, over the eighteen notes in the own style, and those in other styles.
CEILINGS = {"drop_headings": 0.036}
STYLE_CEILINGS = {
    "drop_headings": 0.048,
    "number_paragraphs": 0.043,
    "bullet_sentences": 0.037,
    "upper_case": 0.042,
}
#: Share of occurrences that the changed note may lose.
LOST = 0.02


@pytest.mark.parametrize(
    ("change", "every"), [(changes.narrow_lines, 3), *deep(*((c, 1) for c in CHANGES))]
)
def test_what_must_not_matter_moves_few_times(change: Callable[[str], Changed], every: int) -> None:
    moves = measure([*DEMO, *QUALITY][::every], change)
    assert moves.compared >= 300
    print(f"{change.__name__}: {moves}, moved {moves.moved_share:.3f}, lost {moves.lost_share:.3f}")
    assert moves.moved_share <= CEILINGS.get(change.__name__, GOAL)
    assert moves.lost_share <= LOST


@pytest.mark.deep
@pytest.mark.parametrize("change", CHANGES)
def test_it_moves_few_times_in_other_styles(change: Callable[[str], Changed]) -> None:
    read = sorted(case for group in ("tuning", "later") for case in (STYLES / group).iterdir())
    moves = measure(read, change)
    print(f"{change.__name__}: {moves}, moved {moves.moved_share:.3f}, lost {moves.lost_share:.3f}")
    assert moves.moved_share <= STYLE_CEILINGS.get(change.__name__, GOAL)
    assert moves.lost_share <= LOST


def test_spans_are_found_in_a_changed_note() -> None:
    changed = apply("one two three", [Edit(4, 7, "2"), Edit(13, 13, "!")])
    assert changed == Changed("one 2 three!", (Piece(0, 4, 0), Piece(7, 13, 5)))
    assert changed.find_span(8, 13) == (6, 11)
    assert changed.find_span(0, 3) == (0, 3)
    assert changed.find_span(0, 13) == (0, 11)
    assert changed.find_span(4, 7) is None


@pytest.mark.parametrize(
    ("change", "note", "expected"),
    [
        (changes.drop_headings, "HPI:\nFever.\n", "\nFever.\n"),
        (
            changes.rename_headings,
            "HPI: fever\nExam\n",
            "PRESENTING HISTORY: fever\nPhysical examination\n",
        ),
        (
            changes.join_bullets,
            "Course:\n- Fever\n- Chills.\n- Home",
            "Course:\nFever. Chills. Home",
        ),
        (changes.upper_case, "Fever ß", "FEVER ß"),
        (changes.other_redaction, "Dr. ___ saw him", "Dr. [**Name**] saw him"),
        (changes.other_days, "on hospital day 2 and POD#1", "on HD2 and postoperative day 1"),
        (changes.later_by_half_an_hour, "at 14:45 and 23:50", "at 15:15 and 23:50"),
        (changes.reverse_problems, "A\n# One\nx\n# Two\ny\n", "A\n# Two\ny\n# One\nx\n"),
        (changes.narrow_lines, f"{'word ' * 20}end", f"{'word ' * 13}word\n{'word ' * 6}end"),
    ],
)
def test_changes_do_what_they_say(
    change: Callable[[str], Changed], note: str, expected: str
) -> None:
    assert change(note).text == expected


def test_paragraphs_of_prose_are_numbered_or_cut_into_bullets() -> None:
    prose = "He came with fever that had lasted a week. " * 6
    note = f"HPI:\n{prose.strip()}\n\nNa 131, K 4.0\n"
    assert changes.number_paragraphs(note).text.startswith("HPI:\n1. He came")
    bullets = changes.bullet_sentences(note).text
    assert bullets.count("\n- He came") == 6
    assert bullets.endswith("Na 131, K 4.0\n")
