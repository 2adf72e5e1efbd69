"""Stage 3: the text-only ("unimodal") timeline.

It sees no structured evidence (protocol section 2).
"""

from __future__ import annotations

from timelines.domain import Anchor, InvariantError, TaggedNote, Timeline, TimelineKind
from timelines.pipeline.backbone import TextTimer


def infer(
    timer: TextTimer, note: TaggedNote, anchor: Anchor, discharge: float | None = None
) -> Timeline:
    """Return a complete text-only timeline, in inventory order.

    Raises InvariantError if the timer omitted, repeated or invented a UID, or based a time on a
    row.
    """
    timeline = Timeline.complete(
        note.inventory, timer.infer(note, anchor, discharge).entries, TimelineKind.TEXT_ONLY
    )
    resting = [e.uid for e in timeline if e.adopted_rows]
    if resting:
        raise InvariantError(f"text-only times rest on rows: UIDs {', '.join(resting[:20])}")
    return timeline
