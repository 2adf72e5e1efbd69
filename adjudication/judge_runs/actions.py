"""Start a judge over the pairs of a cohort, and change its games' state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import Study, User
from adjudication.judge_runs.data import LoadedGame, find_sources, has_source, load_game, load_pairs
from adjudication.judge_runs.preparing import NothingToJudge, start_preparation, will_add_cases
from adjudication.judge_runs.storage import save_findings
from adjudication.judge_runs.tools import RULES, build_judge, describe_judge_models
from adjudication.judging.config import JudgeConfig, SourceUnknown
from adjudication.judging.input import Judged, Unjudged
from adjudication.models import Game, JudgePreparation, JudgeRun
from ehr.models import Dataset
from jobs.actions import cancel_all, retry_all
from jobs.hints import SWEEP_LIMIT, send_hints
from jobs.leases.hold import Hold, TimeLimit
from jobs.limits import make_limit
from jobs.models import JobState
from jobs.worker import work
from llm_runtime.calls.calling import Ledger
from llm_runtime.ledger import DatabaseLedger
from timelines.evaluation.values import SourceKey
from timelines.runs.language_models import check_unchanged
from timelines.runs.tools import roles
from timelines.runs.versions import code_revision, prompt_hashes

#: Owner of these calls in the ledger.
CALLS_OWNER = "adjudication.game"
NOT_REPEATED = "This game is judged or being judged. Only failed or unjudged games can be repeated."
#: A game without a valid answer: failed as a job, `unjudged` on pages.
UNJUDGED = Q(state=JobState.FAILED, outcome=Game.Outcome.UNJUDGED)
#: A judged game without the findings that stayed invalid.
IN_PART = Q(outcome=Game.Outcome.JUDGED, dropped_findings__gt=0)


class JudgingRefused(ValueError):
    """A refused judge run; the message says what to change, no patient text."""

    log_safe = True
    retryable = False


class NotJudged(Exception):
    """The judge returned no valid answer.

    The game is `unjudged`, stores the judge's reasons and may be judged again.
    """

    log_safe = True
    retryable = False


@transaction.atomic
def start_judging(
    *,
    study: Study,
    datasets: Sequence[Dataset],
    sources: Sequence[SourceKey],
    judge: str = RULES,
    model: str = "",
    config: JudgeConfig | None = None,
    cases: Sequence[str] = (),
    label: str = "",
    by: User | None,
    tell_workers: bool = True,
) -> JudgeRun:
    """Freeze the judge and add a game for every pair of `sources` of a case.

    With `config.swap` each pair gets a second game with exchanged sides.
    `adjudication.judge_runs.preparing` adds the games. The sides are drawn from `config.seed`, the
    case and the sources. Raises JudgingRefused, SourceUnknown, UnknownJudge, UnknownModel,
    ProviderError.
    """
    config = config or JudgeConfig()
    _check(study, datasets, sources)
    models = describe_judge_models(judge, model)
    judging = build_judge(judge, config, models)
    run = JudgeRun.objects.create(
        study=study,
        label=label,
        sources=[[k.source, k.kind, k.alternative] for k in sources],
        judge=judge,
        judge_name=judging.name,
        judge_version=judging.version,
        config=config.to_dict(),
        language_models=models,
        prompt_hashes={n: h for n, h in prompt_hashes().items() if n.startswith("adjudication/")}
        if models
        else {},
        code_revision=code_revision(),
        created_by=by,
    )
    run.datasets.set(datasets)
    try:
        preparation = start_preparation(run, cases, tell_workers=tell_workers)
    except NothingToJudge as nothing:
        raise JudgingRefused(str(nothing)) from nothing
    _audit(run, "judge.start", by, cases=preparation.total)
    return run


def find_equal_run(
    *,
    study: Study,
    datasets: Sequence[Dataset],
    sources: Sequence[SourceKey],
    judge: str = RULES,
    model: str = "",
    config: JudgeConfig | None = None,
    cases: Sequence[str] = (),
) -> JudgeRun | None:
    """Return the latest run by the same judge that covers all these games.

    Judge, model, version and settings are equal. The run has a game, not cancelled, for every pair,
    or is still adding those cases; it may not have ended. Raises UnknownJudge, UnknownModel,
    ProviderError.
    """
    config = config or JudgeConfig()
    judging = build_judge(judge, config, describe_judge_models(judge, model))
    runs = JudgeRun.objects.filter(
        study=study,
        judge_name=judging.name,
        judge_version=judging.version,
        sources=[[k.source, k.kind, k.alternative] for k in sources],
    )
    wanted = {(first.pk, second.pk) for first, second in load_pairs(datasets, sources, cases)}
    for run in runs.order_by("-created_at"):
        if JudgeConfig.from_dict(run.config) != config:
            continue
        games = run.games.exclude(state=JobState.CANCELLED)
        if wanted and will_add_cases(run, datasets, cases):
            return run
        if wanted and wanted <= set(games.values_list("comparison__first", "comparison__second")):
            return run
    return None


def _check(study: Study, datasets: Sequence[Dataset], sources: Sequence[SourceKey]) -> None:
    if not datasets:
        raise JudgingRefused("choose at least one dataset")
    if any(d.study_id != study.pk for d in datasets):
        raise JudgingRefused("a dataset of another study cannot be judged here")
    if len(set(sources)) < 2:
        raise JudgingRefused("a judge compares two timelines or more: choose at least two sources")
    if len(set(sources)) < len(sources):
        raise JudgingRefused("a source is named twice")
    if missing := [k.written for k in sources if not has_source(datasets, k)]:
        # reads all timelines, so only for this message
        there = ", ".join(k.written for k in find_sources(datasets))
        raise SourceUnknown(
            f"no timeline has the source {', '.join(missing)}; there are: {there or 'none yet'}"
        )


def execute_game(game_id: int) -> JobState | None:
    """Judge the game if it is queued; return its new state.

    None if there was nothing to do (done, claimed, paused). The judge runs outside any transaction.
    Findings and outcome are stored in the transaction that ends the attempt, and only there.
    """
    if not Game.objects.filter(pk=game_id, run__paused_at__isnull=True).exists():
        return None
    answers: list[Judgement] = []

    def judge(game: Game, hold: Hold) -> None:
        ledger = DatabaseLedger(CALLS_OWNER, str(game.pk))
        answers.append(judge_game(game, ledger, hold.check))
        if isinstance(answers[-1].answer, Unjudged):
            raise NotJudged("the judge returned no valid answer")

    def failed(game: Game, error: Exception) -> None:
        if isinstance(error, NotJudged):
            _store(game, answers[-1])

    return work(
        Game,
        game_id,
        judge,
        then=lambda game: _store(game, answers[-1]),
        failed=failed,
        limit=_choose_time_limit,
    )


def _choose_time_limit(game: Game) -> TimeLimit:
    return make_limit(asks_models=bool(game.run.language_models))


@dataclass(frozen=True)
class Judgement:
    """The input of a judge and its answer."""

    loaded: LoadedGame
    answer: Judged | Unjudged


def judge_game(game: Game, ledger: Ledger, check: Callable[[], None]) -> Judgement:
    """Return the judge's answer, asked through `ledger`; store nothing.

    `check` interrupts it.
    """
    run = game.run
    config = JudgeConfig.from_dict(run.config)
    check_unchanged(run.language_models, roles())
    judge = build_judge(
        run.judge, config, run.language_models, ledger=ledger, check=check, round=game.rounds
    )
    loaded = load_game(game, config)
    check()
    return Judgement(loaded, judge.judge(loaded.given))


def _store(game: Game, judged: Judgement) -> None:
    """Store game and findings, inside the transaction that ends the attempt."""
    answer, loaded = judged.answer, judged.loaded
    reasons: tuple[str, ...] = ()
    outcome = Game.Outcome.JUDGED
    if isinstance(answer, Unjudged):
        outcome, reasons = Game.Outcome.UNJUDGED, answer.reasons
        answer = Judged((), len(loaded.given.series))
    save_findings(game, game.comparison, loaded, answer.findings)
    Game.objects.filter(pk=game.pk).update(
        a_is_first=loaded.given.a_is_first,
        outcome=outcome,
        unjudged_reasons=list(reasons),
        dropped_findings=len(answer.dropped),
        dropped_reasons=list(answer.dropped),
        input_sha256=loaded.input_sha256,
        series_supplied=answer.series_shown,
        series_omitted=len(loaded.given.summaries) - answer.series_shown,
    )


@transaction.atomic
def pause_judging(*, run: JudgeRun, by: User) -> None:
    """Let running games end and start no other until the run is resumed."""
    if JudgeRun.objects.filter(pk=run.pk, paused_at=None).update(paused_at=timezone.now()):
        _audit(run, "judge.pause", by)


@transaction.atomic
def resume_judging(*, run: JudgeRun, by: User) -> None:
    """Continue a paused run."""
    if JudgeRun.objects.filter(pk=run.pk, paused_at__isnull=False).update(paused_at=None):
        send_hints(
            Game,
            list(
                run.games.filter(state=JobState.QUEUED)
                .order_by("pk")
                .values_list("pk", flat=True)[:SWEEP_LIMIT]
            ),
        )
        _audit(run, "judge.resume", by)


@transaction.atomic
def cancel_judging(*, run: JudgeRun, by: User) -> int:
    """Cancel queued games and stop running ones; return how many.

    Results of judged games stay. The preparation is cancelled first, so that it adds no further
    game.
    """
    cancel_all(jobs=JudgePreparation.objects.filter(run=run), by=by, study=run.study)
    return cancel_all(jobs=run.games.all(), by=by, study=run.study)


def judge_failed_again(*, run: JudgeRun, by: User, only: Q | None = None) -> int:
    """Retry every failed, cancelled or unjudged game; return how many.

    A language model gets new attempts. `only` narrows it: UNJUDGED or ~UNJUDGED. A preparation that
    ended early is retried too, unless `only` is UNJUDGED.
    """
    with transaction.atomic():
        if only != UNJUDGED:
            preparation = JudgePreparation.objects.filter(run=run)
            if retry_all(jobs=preparation, by=by, study=run.study):
                send_hints(JudgePreparation, list(preparation.values_list("pk", flat=True)))
        return _requeue_games(
            run, run.games.filter(only or Q(), state__in=(JobState.FAILED, JobState.CANCELLED)), by
        )


def judge_again(*, game: Game, by: User) -> int:
    """Retry one game, as `judge_failed_again`."""
    return _requeue_games(
        game.run,
        Game.objects.filter(pk=game.pk, state__in=(JobState.FAILED, JobState.CANCELLED)),
        by,
    )


#: What a study admin may do with a run, by its name in addresses.
STEPS: Mapping[str, Callable[..., object]] = {
    "pause": pause_judging,
    "resume": resume_judging,
    "cancel": cancel_judging,
    "retry": partial(judge_failed_again, only=~UNJUDGED),
    "unjudged": partial(judge_failed_again, only=UNJUDGED),
}


@transaction.atomic
def _requeue_games(run: JudgeRun, games: QuerySet[Game], by: User) -> int:
    found = list(games.select_for_update().order_by("pk").values_list("pk", flat=True))
    again = Game.objects.filter(pk__in=found)
    again.update(rounds=F("rounds") + 1, outcome="", unjudged_reasons=[])
    retry_all(jobs=again, by=by, study=run.study)
    send_hints(Game, found)
    return len(found)


def _audit(run: JudgeRun, action: str, by: User | None, **detail: int) -> None:
    record(
        actor=by,
        study=run.study,
        action=action,
        object_type="adjudication.judgerun",
        object_id=run.public_id,
        detail=detail,
    )
