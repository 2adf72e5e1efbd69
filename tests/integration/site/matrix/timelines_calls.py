"""Access to model calls: everyone who may open the case."""

from __future__ import annotations

from llm_runtime.models import ModelCall, ModelRequestText
from tests.integration.site.matrix.ehr import CASE_PAGE
from tests.integration.site.matrix.timelines import make_case_run
from tests.integration.site.matrix.world import Row, World
from timelines.models import StageRun
from timelines.runs.calls import CALLS_OWNER


def _run(world: World) -> dict[str, str]:
    return {"public_id": make_case_run(world).run.public_id}


def _costs(world: World) -> dict[str, str]:
    return {**_run(world), "format": "csv"}


def _case(world: World) -> dict[str, str]:
    return {**_run(world), "case_run_id": make_case_run(world).public_id}


def _call(world: World) -> dict[str, str]:
    stage = StageRun.objects.get(case_run=make_case_run(world))
    text, _ = ModelRequestText.objects.get_or_create(
        sha256="0" * 64, defaults={"body": '{"messages": [], "schema": null}'}
    )
    call, _ = ModelCall.objects.get_or_create(
        owner_type=CALLS_OWNER,
        owner_id=str(stage.pk),
        request=text,
        defaults={
            "role": "tagger",
            "model": "m",
            "prompt": "p",
            "prompt_sha256": "0" * 64,
            "part": "tag",
            "attempt": 1,
            "seconds": 1.0,
        }
        | {"outcome": "unavailable", "reasons": ["Unavailable: away"]},
    )
    return {"public_id": call.public_id}


ROWS = [
    Row("timelines:run_calls", CASE_PAGE, path=_run),
    Row("timelines:case_costs", CASE_PAGE, path=_run),
    Row("timelines:run_costs", CASE_PAGE, path=_costs),
    Row("timelines:case_calls", CASE_PAGE, path=_case),
    Row("timelines:model_call", CASE_PAGE, path=_call),
]
