"""The steps of a stage that only a chart of several notes has.

Its notes are linked after the text-only times are known. From then on each linked group has one
time in every timeline. A case with one note comes nowhere near.
"""

from __future__ import annotations

from collections.abc import Sequence

from jobs.errors import RequeueJob
from timelines.domain import Timeline, TimelineKind
from timelines.models import StageBatch
from timelines.pipeline.linking.chart import explain_alone, join_linked
from timelines.pipeline.linking.joining import Joined
from timelines.pipeline.linking.values import Link
from timelines.pipeline.run import find_links
from timelines.pipeline.text_inference import infer
from timelines.runs import links as stored_links
from timelines.runs import storage
from timelines.runs.stages.work import StageWork


def infer_chart(work: StageWork) -> None:
    """Store each note's own times as batch 0, then links and joined times.

    A run that is based on another has its estimates, and the links that count now.
    """
    if not work.has(0):
        own = _find_own_times(work)
        payload = {e.uid: stored_links.write_values(e) for e in own}
        work.store(0, {"entries": len(own), "own": payload, **work.kept})
        if work.base is None:
            # A worker with the embedder compares the mentions.
            raise RequeueJob
    if work.has(1):
        return
    own = _load_own_times(work)
    links = _find_links(work, own)

    def save() -> None:
        if work.base is None:
            stored_links.save_links(work.inventory, links)
        _save(work, join_linked(work.tagged, own, links))

    work.store(1, {"links": len(links)}, save)


def read_text_times(work: StageWork) -> Timeline:
    """Return the text-only times as revision reads them."""
    return explain_alone(work.text_only, stored_links.load_alone(work.case_run))


def save_joined(work: StageWork, timelines: Sequence[Timeline]) -> list[Timeline]:
    """Store revised timelines with one time for each group; return them."""
    links = stored_links.load_links(work.inventory.pk)
    alone = stored_links.load_alone(work.case_run)
    joined = [join_linked(work.tagged, t, links, alone=alone) for t in timelines]
    return [_save(work, made) for made in joined]


def _save(work: StageWork, joined: Joined) -> Timeline:
    row = storage.save_timeline(
        timeline=joined.timeline,
        inventory=work.inventory,
        source=work.case_run.run.source,
        case_run=work.case_run,
    )
    stored_links.save_own_times(row.pk, joined.own)
    return joined.timeline


def _find_own_times(work: StageWork) -> Timeline:
    if work.base is None:
        window = work.case.window
        return infer(work.tools.backbone.timer, work.tagged, window.anchor, window.discharge)
    return stored_links.load_alone(work.base)


def _load_own_times(work: StageWork) -> Timeline:
    batch = StageBatch.objects.get(stage_run=work.stage_run, ordinal=0)
    entries = [stored_links.read_values(uid, v) for uid, v in batch.payload["own"].items()]
    return Timeline.complete(work.tagged.inventory, entries, TimelineKind.TEXT_ONLY)


def _find_links(work: StageWork, own: Timeline) -> tuple[Link, ...]:
    if work.base is not None:
        return stored_links.load_links(work.inventory.pk)
    work.hold.report(done=0, total=1, words="linking the notes")
    return find_links(work.tagged, own, work.tools)
