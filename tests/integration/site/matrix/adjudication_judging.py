"""Access to judge runs, findings and comparisons, and to starting judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from adjudication.judge_runs.actions import CALLS_OWNER
from adjudication.models import Comparison, Finding, Game, JudgeRun
from ehr.models import Encounter
from jobs.models import JobState
from llm_runtime.models import ModelCall, ModelRequestText
from tests import factories
from tests.integration.site.matrix.ehr import CASE_PAGE, find_encounter
from tests.integration.site.matrix.timelines import LIST, STEER
from tests.integration.site.matrix.world import (
    SIGN_IN,
    TIMES,
    Row,
    World,
    answers,
    expect_signed_in,
)


def _comparison(world: World) -> Comparison:
    """Two bare timelines of the world's case."""
    return _compare(find_encounter(world), "Fell", TIMES[:2])


def _compare(encounter: Encounter, event: str, times: Sequence[float]) -> Comparison:
    """Two bare timelines of a case that have one event, at these times."""
    found = Comparison.objects.filter(encounter=encounter).first()
    if found is None:
        one, two = (
            factories.make_bare_timeline(encounter, {event: hours}, source=name)
            for name, hours in zip(("judged-one", "judged-two"), times, strict=True)
        )
        found = Comparison.objects.create(encounter=encounter, first=one, second=two)
    return found


def _second_comparison(world: World) -> Comparison:
    """The same for another case, so that lists show two."""
    dataset = find_encounter(world).dataset
    encounter = dataset.encounters.filter(case_id="2").first() or factories.make_encounter(
        dataset, case_id="2"
    )
    return _compare(encounter, "Stumbled", TIMES[2:])


def _run(world: World, label: str = "judged") -> JudgeRun:
    """A judge run with two judged games.

    The finding of each is in both of its timelines.
    """
    comparison = _comparison(world)
    sides = (comparison.first, comparison.second)
    run, made = JudgeRun.objects.get_or_create(
        study=world.study,
        label=label,
        defaults={
            "sources": [[side.source, side.kind, side.alternative] for side in sides],
            "judge": "rules",
        }
        | {"judge_name": "rules", "judge_version": "1"},
    )
    if made:
        run.datasets.set([comparison.encounter.dataset])
        _judge(run, comparison, "Fell", TIMES[:2])
        _judge(run, _second_comparison(world), "Stumbled", TIMES[2:])
    return run


def _judge(run: JudgeRun, comparison: Comparison, event: str, times: Sequence[float]) -> None:
    game = Game.objects.create(
        run=run,
        comparison=comparison,
        seed=1,
        state=JobState.SUCCEEDED,
        outcome=Game.Outcome.JUDGED,
        a_is_first=True,
    )
    Finding.objects.create(
        game=game,
        ordinal=1,
        type="SHARED_UNSUPPORTED",
        verdict="NEITHER",
        polarity="present",
        grounding="NONE",
        a_event=event,
        a_time=times[0],
        b_event=event,
        b_time=times[1],
    )


def _game(world: World) -> Game:
    return Game.objects.get(run=_run(world), comparison__encounter=find_encounter(world))


def _call(world: World) -> dict[str, str]:
    text, _ = ModelRequestText.objects.get_or_create(
        sha256="1" * 64, defaults={"body": '{"messages": [], "schema": null}'}
    )
    call, _ = ModelCall.objects.get_or_create(
        owner_type=CALLS_OWNER,
        owner_id=str(_game(world).pk),
        request=text,
        defaults={
            "role": "judge",
            "model": "m",
            "prompt": "p",
            "prompt_sha256": "0" * 64,
            "part": "judge",
            "attempt": 1,
            "seconds": 1.0,
        }
        | {"outcome": "unavailable", "reasons": ["Unavailable: away"]},
    )
    return {"public_id": call.public_id}


def _path(world: World) -> dict[str, str]:
    return {"public_id": _run(world).public_id}


def _in_game(world: World) -> dict[str, str]:
    return {**_path(world), "game_id": _game(world).public_id}


def _acting(action: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**_path(world), "action": action}


def _start(world: World) -> dict[str, str]:
    comparison = _comparison(world)
    timelines = (comparison.first, comparison.second)
    chosen = {
        "datasets": comparison.encounter.dataset.public_id,
        "judge": "rules",
        "tolerance": "scaled",
        "seed": "1",
    }
    return {**chosen, "sources": [f"{t.source}@{t.kind}" for t in timelines]}  # type: ignore[dict-item]  # a field may be sent twice


ROWS = [
    Row("adjudication:judge_runs", LIST),
    Row(
        "adjudication:judge_run_new",
        answers(
            anonymous=SIGN_IN,
            clinician=403,
            reviewer=403,
            admin=200,
            outsider=200,
            nobody=403,
            superuser=403,
        ),
    ),
    # The outsider's form knows no cohort of this study: it comes back with an error and starts
    # nothing.
    Row(
        "adjudication:judge_run_new",
        answers(
            anonymous=SIGN_IN,
            clinician=403,
            reviewer=403,
            admin=302,
            outsider=200,
            nobody=403,
            superuser=403,
        ),
        method="post",
        data=_start,
    ),
    Row("adjudication:judge_run", CASE_PAGE, path=_path),
    Row("adjudication:judge_run_calls", CASE_PAGE, path=_path),
    *(
        Row("adjudication:judge_run_action", STEER, method="post", path=_acting(action))
        for action in ("pause", "resume", "cancel", "retry", "unjudged")
    ),
    Row(
        "adjudication:judge_run_action",
        expect_signed_in(405, anonymous=405),
        path=_acting("pause"),
    ),
    Row("adjudication:judge_game", CASE_PAGE, path=_in_game),
    Row("adjudication:judge_game_again", STEER, method="post", path=_in_game),
    Row("adjudication:judge_call", CASE_PAGE, path=_call),
    Row("adjudication:findings", CASE_PAGE, path=_path),
    Row(
        "adjudication:findings",
        answers(
            anonymous=SIGN_IN,
            clinician=302,
            reviewer=403,
            admin=302,
            outsider=404,
            nobody=403,
            superuser=403,
        ),
        method="post",
        path=_path,
        data=lambda world: {"case": "1"},
    ),
    Row(
        "adjudication:finding",
        CASE_PAGE,
        path=lambda world: {"public_id": Finding.objects.get(game=_game(world)).public_id},
    ),
    Row(
        "adjudication:judge_changes",
        CASE_PAGE,
        path=lambda world: {**_path(world), "later_id": _run(world, "judged again").public_id},
    ),
    Row(
        "adjudication:compare",
        CASE_PAGE,
        path=lambda world: {"public_id": _comparison(world).encounter.public_id},
    ),
]
