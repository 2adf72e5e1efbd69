"""Date repeated mentions of one occurrence.

A bare name takes the time of its better dated mention.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.timing.anchors.references import ReferenceIndex
from timelines.backbones.rules.timing.estimate import CONTENT, SECTION, Estimate, Strength
from timelines.backbones.rules.timing.frames import Frame, find_frame
from timelines.backbones.rules.timing.narrative import Narrator
from timelines.domain import Occurrence, TaggedNote

_RECAP = re.compile(r"summary|carried|recap", re.IGNORECASE)
#: How alike two mentions must be (see `ReferenceIndex.same`); a chronic condition must match more
#: closely.
_ALIKE, _RATHER_ALIKE, _CLOSELY_ALIKE = 1.2, 1.4, 1.6
#: The reason of the admission has begun by then (hours).
_PRESENTED = 6.0


def link_repeats(note: TaggedNote, narrator: Narrator, by_problem: bool) -> None:
    """Date weakly supported mentions by their better dated repeats.

    These are mentions of lists, headings, results and summaries.
    """
    index = ReferenceIndex(note, dict(narrator.estimates))
    for occurrence in narrator.occurrences:
        narrator.check()
        found = _repeat(occurrence, narrator, index, by_problem)
        if found is not None:
            other, better = found
            narrator.estimates[occurrence.uid] = replace(
                better,
                strength=Strength.INHERITED,
                rule="repeat",
                known=False,
                reason=f"the same as “{other.mention}”",
                context=(other.uid,),
            )


def _repeat(
    occurrence: Occurrence, narrator: Narrator, index: ReferenceIndex, by_problem: bool
) -> tuple[Occurrence, Estimate] | None:
    estimate = narrator.estimates.get(occurrence.uid)
    section = narrator.analysis.section_at(occurrence.start or 0)
    frame = find_frame(section)
    heading = (occurrence.start or 0) < section.body_start
    recap = frame is Frame.COURSE and by_problem and _RECAP.search(section.title) is not None
    if estimate is None or estimate.strength > (Strength.INHERITED if recap else Strength.DEFAULT):
        return None
    opening = frame is Frame.COURSE and by_problem and not heading and not recap
    if not (heading or recap or opening or frame in (Frame.RECAP, Frame.RESULTS, Frame.PRESENTING)):
        return None
    background = frame is Frame.PRESENTING and not heading
    if heading and (chronic := _chronic(occurrence, narrator, index)) is not None:
        return chronic
    return index.same(
        occurrence,
        _candidates(narrator, section, background, opening),
        earliest=frame is not Frame.RESULTS,
        likeness=_CLOSELY_ALIKE if background else _RATHER_ALIKE if opening else _ALIKE,
        figures_needed=frame is Frame.RESULTS,
    )


def _chronic(
    occurrence: Occurrence, narrator: Narrator, index: ReferenceIndex
) -> tuple[Occurrence, Estimate] | None:
    """Return the past history's undated mention of the same problem.

    Such a problem is chronic and placed at 0.
    """

    def is_history(o: Occurrence) -> bool:
        if (
            o.start is None
            or o.uid not in narrator.estimates
            or narrator.estimates[o.uid].rule != "static"
        ):
            return False
        return find_frame(narrator.analysis.section_at(o.start)) is Frame.HISTORY

    return index.same(occurrence, is_history, earliest=True, likeness=_CLOSELY_ALIKE)


def _candidates(
    narrator: Narrator, section: Section, background: bool, opening: bool
) -> Callable[[Occurrence], bool]:
    """Return a test for mentions that may date a repeat.

    They are well supported; for the reason of the admission they must also be early.
    """
    least = Strength.PLACE if find_frame(section) is Frame.RESULTS else Strength.INHERITED
    presenting = section.kind in ("chief_complaint", "admission_diagnosis")
    last = _PRESENTED if presenting or opening else 0.5 if background else None

    def is_reliable(o: Occurrence) -> bool:
        estimate = narrator.estimates.get(o.uid)
        if estimate is None or estimate.strength < least or estimate.rule == "repeat":
            return False
        if (
            estimate.rule in (SECTION, CONTENT)
            and find_frame(narrator.analysis.section_at(o.start or 0)) is Frame.LEAVING
        ):
            return False
        return last is None or (estimate.time or 0.0) < last

    return is_reliable
