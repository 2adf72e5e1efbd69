"""A backbone that waits as for a model, and answers by the simplest rules.

Everything around it is the application's own: claims, heartbeats, stages, storage, search. Waiting
costs no processor, so eight workers can be measured on two cores.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta

from jobs import hints
from tests.soak.worker import RESEND, WAIT
from timelines.domain import (
    Anchor,
    Entry,
    Expansion,
    SourceRow,
    TaggedNote,
    TaggedSpan,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.backbone import Backbone, Check
from timelines.runs import tools

NAME = "waiting"
LOOK_SECONDS = 0.05
WORD = re.compile(r"[a-z]{8,}")


def install() -> None:
    """Add the backbone to this process, and shorten the wait for lost hints."""
    tools.BACKBONES = {**tools.BACKBONES, NAME: (__name__, "waiting_backbone", ())}
    hints.RESEND_AFTER = timedelta(seconds=float(os.environ[RESEND]))


def waiting_backbone(check: Check) -> Backbone:
    """Return the backbone; `check` ends its waits."""
    parts = Waiting(check, float(os.environ[WAIT]))
    return Backbone(NAME, "1", tagger=parts, timer=parts, query_writer=parts, reviser=parts)


class Waiting:
    """All four parts. Long words are occurrences, one hour apart."""

    def __init__(self, check: Check, seconds: float) -> None:
        self._check, self._seconds = check, seconds

    def tag(self, note: str, kind: str = "") -> Sequence[TaggedSpan]:
        self._wait()
        return [TaggedSpan(m.start(), m.end(), m[0]) for m in WORD.finditer(note)]

    def infer(self, note: TaggedNote, anchor: Anchor, discharge: float | None = None) -> Timeline:
        self._wait()
        entries = [Entry(o.uid, float(o.ordinal), decided_by=NAME) for o in note.inventory]
        return Timeline.complete(note.inventory, entries, TimelineKind.TEXT_ONLY)

    def write(self, note: TaggedNote, names: Sequence[str] = ()) -> Mapping[str, Sequence[str]]:
        self._wait()
        return {o.uid: [f"lab {o.mention} blood"] for o in note.inventory}

    def revise(
        self,
        note: TaggedNote,
        text_only: Timeline,
        found: Expansion,
        window: Window,
        alternatives: int,
    ) -> Sequence[Timeline]:
        self._wait()
        rows: dict[str, SourceRow] = {}
        for item in found.evidence:
            rows.setdefault(item.uid, item.row)
        entries = [_move(entry, rows.get(entry.uid)) for entry in text_only]
        return [Timeline.complete(note.inventory, entries, TimelineKind.REVISED, 1)]

    def _wait(self) -> None:
        until = time.monotonic() + self._seconds
        while time.monotonic() < until:
            self._check()
            time.sleep(LOOK_SECONDS)


def _move(entry: Entry, row: SourceRow | None) -> Entry:
    if row is None or row.time is None:
        return entry
    rows = (row.row_index,)
    return Entry(entry.uid, row.time, row.time, row.time, decided_by=NAME, adopted_rows=rows)
