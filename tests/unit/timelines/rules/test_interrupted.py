"""Every part of the rules backbone often checks whether it should end.

A check changes nothing; an interruption leaves nothing behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime

import pytest

from timelines.backbones.rules.backbone import rules_backbone
from timelines.domain import Anchor, Expansion, NamedTime, TaggedNote, Timeline, Window
from timelines.pipeline.backbone import Backbone
from timelines.pipeline.tagging import tag
from timelines.pipeline.uids import assign_uids, uid_rng

SENTENCES = (
    "He was admitted on 3/4 with fever and a lactate of 4.1.", "Vancomycin was started two hours later.",
    "On hospital day 2 he was intubated for hypoxia.", "A chest x-ray the next morning showed a right lower lobe opacity.",
)  # fmt: skip
WINDOW = Window(Anchor(datetime(2150, 3, 4, 10)), 100.0)


class Stop(Exception):
    pass


class Counting:
    """A check that counts, and raises at the call of that number."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.calls, self.stop_at = 0, stop_at

    def __call__(self) -> None:
        self.calls += 1
        if self.calls == self.stop_at:
            raise Stop


def make_note(sentences: int, title: str = "") -> TaggedNote:
    text = (
        title
        + "BRIEF HOSPITAL COURSE:\n"
        + "\n".join(f"{n}. {SENTENCES[n % len(SENTENCES)]}" for n in range(sentences))
    )
    return TaggedNote(
        text,
        assign_uids(
            tag(rules_backbone().tagger, text),
            rng=uid_rng(0, hashlib.sha256(text.encode()).hexdigest(), ()),
        ),
    )


def timeline(note: TaggedNote) -> Timeline:
    return rules_backbone().timer.infer(note, WINDOW.anchor)


def name_times(note: TaggedNote) -> list[NamedTime]:
    """Lines of their own, for equal words would be one event."""
    return [
        NamedTime(f"{o.mention} {o.ordinal}", e.time)
        for o, e in zip(note.inventory, timeline(note), strict=True)
    ]


PARTS: dict[str, Callable[[Backbone, TaggedNote], object]] = {
    "tag": lambda b, n: b.tagger.tag(n.text),
    "infer": lambda b, n: b.timer.infer(n, WINDOW.anchor),
    "queries": lambda b, n: b.query_writer.write(n),
    "revise": lambda b, n: b.reviser.revise(n, timeline(n), Expansion(()), WINDOW, 2),
    "summaries": lambda b, n: (
        b.summary_reviser and b.summary_reviser.revise_by_summaries(n, timeline(n), [], WINDOW, 1)
    ),
    "unidentified": lambda b, n: (
        b.unidentified_reviser
        and b.unidentified_reviser.revise_unidentified(n.text, [], name_times(n), [], {}, WINDOW, 1)
    ),
}


@pytest.mark.parametrize("part", PARTS)
def test_the_checks_grow_with_the_note_and_change_nothing(part):
    few, many = Counting(), Counting()
    PARTS[part](rules_backbone(few), make_note(4))
    found = PARTS[part](rules_backbone(many), make_note(40))
    assert many.calls >= 4 + few.calls
    assert found == PARTS[part](rules_backbone(), make_note(40))


@pytest.mark.parametrize("part", PARTS)
def test_an_interruption_comes_through_at_every_look_and_leaves_nothing_behind(part):
    note = make_note(12, f"{part}\n")
    counted = Counting()
    expected = PARTS[part](rules_backbone(counted), note)
    for at in {1, counted.calls // 2, counted.calls}:
        with pytest.raises(Stop):
            PARTS[part](rules_backbone(Counting(at)), note)
    assert PARTS[part](rules_backbone(), note) == expected


def test_a_text_that_was_interrupted_while_it_was_parsed_is_parsed_anew():
    text = make_note(8, "parsed\n").text + " Then he went home."
    with pytest.raises(Stop):
        rules_backbone(Counting(1)).tagger.tag(text)
    assert rules_backbone().tagger.tag(text)
