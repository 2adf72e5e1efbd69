"""The stages of a baseline's case.

Times from the note alone, times calibrated by rows, and reading back the stored timelines. A stage
is one batch: its calls are in the ledger, so a repeated stage reuses the answers and pays for none
twice. The steps that the text-only and the calibrated timeline of TKW2 have in common do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from jobs.errors import PermanentFailure
from llm_runtime.base import Embedder, Vectors
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.calls.calling import Asker
from llm_runtime.roles import TKW2_EMBEDDER
from timelines.backbones.baselines import single_step, tkw2
from timelines.domain import NamedTime, NamedTimeline, TimelineKind
from timelines.models import Stage, StageBatch
from timelines.pipeline.config import PipelineConfig
from timelines.runs import storage, tools
from timelines.runs.baselines import BASELINES, MADE_BY
from timelines.runs.language_models import make_askers
from timelines.runs.record import load_rows
from timelines.runs.stages.work import StageWork


def infer(work: StageWork) -> None:
    """The text-only timeline."""
    if work.has(0):
        return
    asker = _asker(work)
    if work.case_run.run.backbone == single_step.NAME:
        found = single_step.SingleStep(asker, _config(work).single_step_tokens).timeline(
            work.case.note, work.case.window
        )
    else:
        found = tkw2.Tkw2(asker).text_only(work.case.note)
    _store(work, found)


def revise(work: StageWork) -> None:
    """TKW2's timeline calibrated by rows, retrieved under its own embedder."""
    if work.has(0):
        return
    rows = sorted(
        (row for found in load_rows(work.case_run.encounter).values() for row in found),
        key=lambda row: row.row_index,
    )
    embedder = tools.roles().embedder(TKW2_EMBEDDER)
    if embedder.name != work.case_run.run.tools[TKW2_EMBEDDER]:
        raise PermanentFailure(
            f"the run was started with another {TKW2_EMBEDDER} than {embedder.name}: start"
            " another run"
        )
    _store(
        work,
        tkw2.Tkw2(_asker(work), _alike(embedder), _config(work)).multimodal(
            work.case.note, rows, work.case.window
        ),
    )


def provenance(work: StageWork) -> None:
    """Read back every timeline and verify it.

    It must be complete and of the note that the case has now.
    """
    if work.has(0):
        return
    batches = StageBatch.objects.filter(
        stage_run__case_run=work.case_run, ordinal=0
    ).select_related("stage_run")
    made = {MADE_BY[Stage(b.stage_run.stage)]: b.payload for b in batches}
    found = {t.kind: len(t) for t in storage.load_named_timelines(work.case_run)}
    if found != {kind: payload["entries"] for kind, payload in made.items()}:
        raise PermanentFailure("the stored timelines differ from the results of the stages")
    if {payload["note_sha256"] for payload in made.values()} != {work.case.sha256}:
        raise PermanentFailure("the note changed during the run: start another run")
    work.store(0, {"timelines": len(found), "note_sha256": work.case.sha256})


def _asker(work: StageWork) -> Asker:
    """The one model that a baseline asks, through the ledger."""
    run = work.case_run.run
    (role,) = BASELINES[run.backbone].roles
    return make_askers([role], _config(work), work.calls, tools.roles())[role]


def _config(work: StageWork) -> PipelineConfig:
    return PipelineConfig.from_dict(work.case_run.run.config)


def _alike(embedder: Embedder) -> Callable[[Sequence[str]], Vectors]:
    """Queries and documents embedded in the same way, without an instruction."""
    return lambda texts: run_blocking(embedder.embed_documents(list(texts)))


def _store(work: StageWork, entries: Sequence[NamedTime]) -> None:
    timeline = NamedTimeline(tuple(entries), kind=MADE_BY[Stage(work.stage_run.stage)])
    source = work.case_run.run.source

    def save() -> None:
        storage.save_named_timeline(timeline=timeline, source=source, case_run=work.case_run)

    counted = {
        "entries": len(timeline),
        **({"alternatives": 1} if timeline.kind is TimelineKind.REVISED else {}),
    }
    work.store(0, {**counted, "note_sha256": work.case.sha256}, save)


BASELINE_STAGES: Mapping[Stage, Callable[[StageWork], None]] = {
    Stage.INFER: infer,
    Stage.REVISE: revise,
    Stage.PROVENANCE: provenance,
}
