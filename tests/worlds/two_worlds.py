"""Worlds for noninterference, and every response of their addresses.

A world has an open case, a case that the person reviews, and runs, judge runs, evaluations,
timelines of authors and model calls of both. Two worlds differ in the reviewed case alone: in names
and number of its sources, in how many occurrences they have and where, in how its stages, calls and
games ended, and in the number, types, verdicts and evidence of its findings (`World.facts`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from html import unescape
from io import BytesIO
from itertools import count, product
from typing import Any

import pyarrow.parquet as parquet
from django.apps import apps
from django.contrib.messages import get_messages
from django.db.models import Count, Model
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from pypdf import PdfReader

from accounts.ids import ALPHABET, PUBLIC_ID_LENGTH
from accounts.models import Role, Study, User
from adjudication.judge_runs import actions
from adjudication.judge_runs.actions import CALLS_OWNER as JUDGE_CALLS
from adjudication.judging.config import JudgeConfig
from adjudication.judging.input import Candidate, Judged, JudgeInput, Unjudged
from adjudication.models import (
    Assignment,
    Finding,
    Game,
    JudgeRun,
    Packet,
    PacketItem,
    PairSearch,
    PlantedRecall,
    Recipe,
    RecipeLaunch,
)
from adjudication.packets import actions as packets
from adjudication.sampling.drawing import Design
from cohorts.asof.counting import Question, count_states, find_asked_timelines
from cohorts.attention.ranking import rank_study
from cohorts.models import (
    AsOfReport,
    AttentionRanking,
    Concept,
    ConceptSample,
    LeakageCheck,
    Trajectory,
    Window,
    WindowResult,
)
from cohorts.trajectories.actions import save_view
from cohorts.trajectories.choices import Choice
from cohorts.values import Source
from cohorts.windows.actions import create_window
from cohorts.windows.evaluating import evaluate_both, store_members
from cohorts.windows.results import launch_result
from ehr.models import Dataset, DatasetDeletion, Encounter, EventSeries, Upload
from jobs.models import JobState, Webhook
from llm_runtime.models import ModelCall, ModelRequestText
from tests import factories
from tests.emptying import empty_database
from tests.made_report import make_report
from tests.unit.adjudication.judging.judge_games import FIRST, SECOND
from tests.worlds.cohorts import make_concept
from tests.worlds.evaluated import make_evaluation, store_case
from tests.worlds.judged import FixedJudge, make_case, make_source, use_judge
from timelines.authoring.actions import start_authoring, submit
from timelines.authoring.consensus import start_consensus
from timelines.authoring.edits import Edit, apply_edit
from timelines.curation import comments, corrections
from timelines.curation.corrections import Corrected
from timelines.domain import TimelineKind
from timelines.evaluation.values import SourceKey
from timelines.models import (
    Authoring,
    CaseRun,
    Comment,
    Consensus,
    Correction,
    Evaluation,
    Export,
    ExportPart,
    Flag,
    Occurrence,
    OccurrenceLink,
    Run,
    StageBatch,
    StageRun,
    StudyTimeline,
    Timeline,
)
from timelines.runs.calls import CALLS_OWNER

QUOTAS = {"TIMING decisive": 9, "TIMING UNCLEAR": 9, "one-sided": 9, "DUPLICATE": 9, "VALUE": 9}
REVIEWED = "b-reviewed"
STEADY = ("steady-one", "steady-two")
BEGUN = datetime(2150, 1, 1, tzinfo=UTC)
STAGES = {
    "uids": "occurrences",
    "infer": "entries",
    "retrieve": "queries",
    "expand": "rows",
    "revise": "alternatives",
}


@dataclass(frozen=True)
class WorldVariation:
    """What was made of the reviewed case in one world."""

    sources: tuple[str, str]
    #: Label of a judge run → who judges the reviewed case or its copy in it.
    judges: Mapping[str, Any]
    decimals: float
    occurrences: int
    states: tuple[str, ...]
    further_runs: int
    tokens: int
    reasons: tuple[str, ...] = ()


@dataclass
class World:
    """A world, the people who review in it, and the names of its ids.

    The names make worlds comparable. The facts are what must differ between them.
    """

    people: dict[str, User]
    packet: Packet
    names: dict[str, str] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)

    def plain(self, text: str) -> str:
        """Return the text with ids as names and without tokens."""
        return TOKENS.sub("TOKEN", self.ids.sub(lambda found: self.names[found.group()], text))

    @cached_property
    def ids(self) -> re.Pattern[str]:
        """Every public id of the world."""
        return re.compile("|".join(map(re.escape, self.names)))


_YEAR = datetime.now(tz=UTC).year
#: Tokens against forgery, the nonce of the content security policy, times of this year, and the
#: seed that a form suggests.
TOKENS = re.compile(
    r"(?<=csrfmiddlewaretoken\" value=\")\w+|(?<=X-CSRFToken\": \")\w+|(?<=nonce-)[\w+/=-]+|(?<=nonce=\")[\w+/=-]+"
    rf"|{_YEAR}-\d\d-\d\d([T ][\d:.]+)?([+]00:00|Z)?|(?<=>)\d\d:\d\d:\d\d(?=<)"
    rf'|\d+ \w+ {_YEAR}(,? [\d:]+( [ap][.]m[.])?|, noon|, midnight)?|(?<=name="seed" value=")\d+'
    r"|\d+\s(second|minute|hour)s? ago"
)

#: Ids of FHIR resources, which are made of public ids.
FHIR_IDS = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=\"value\": \")[0-9a-f]{32}(?=\")"
)


@dataclass(frozen=True)
class FewerFindings(FixedJudge):
    """Reports only the first findings of the fixed judge."""

    count: int = 3

    def judge(self, given: JudgeInput) -> Judged | Unjudged:
        found = super().judge(given)
        if isinstance(found, Unjudged):
            return found
        return replace(found, findings=found.findings[: self.count])


def build(variation: WorldVariation) -> World:
    """Fill an empty database with this world.

    Rows that both worlds share are made first, so that they get the same keys.
    """
    empty_database(restart_sequences=True)
    study = factories.make_study("Study")
    dataset, aside = (
        factories.make_dataset(study, "Cohort"),
        factories.make_dataset(study, "Other cohort"),
    )
    admin, author = (
        factories.make_user(study, Role.ADMIN, username="admin"),
        factories.make_user(study, Role.CLINICIAN, username="vega"),
    )
    people = {
        "clinician": factories.make_user(study, Role.CLINICIAN, Role.REVIEWER, username="both"),
        "admin": factories.make_user(study, *Role, username="all"),
    }
    User.objects.filter(pk=people["admin"].pk).update(is_superuser=True, is_staff=True)
    people["admin"].refresh_from_db()
    opened, distant = make_case(dataset, "a-open", {}), make_case(aside, "c-distant", {})
    reviewed = make_case(dataset, REVIEWED, {})
    # The reviewed stay, imported again under another name.
    copy = make_case(factories.make_dataset(study, "Copied cohort"), REVIEWED, {})
    for case in (opened, reviewed):
        for name, candidates in zip(STEADY, (FIRST, SECOND), strict=True):
            make_source(case, name, candidates)
    shared = _run(dataset, "shared")
    _reconstruct(shared, opened, 3, [JobState.SUCCEEDED] * 5, 100)
    _evaluate(aside, distant, "distant")
    steady = _judge(dataset, STEADY, {}, "steady", cases=["a-open"])
    _call(JUDGE_CALLS, Game.objects.filter(run=steady).first(), 100)
    world = World(people, _vary(variation, shared, (reviewed, copy), admin, author))
    for number, person in enumerate(people.values()):
        packets.assign(packet=world.packet, person=person, by=admin, seed=11 + number)
    packets.open_packet(packet=world.packet, by=admin)
    _export(reviewed, people["admin"], variation)
    _ask_cohort(shared)
    Assignment.objects.update(practised_at=timezone.now())
    world.names = _names((reviewed, copy), variation)
    world.facts = _facts((reviewed, copy))
    return world


def _vary(
    v: WorldVariation,
    shared: Run,
    reviewed: tuple[Encounter, Encounter],
    admin: User,
    author: User,
) -> Packet:
    """Make everything that differs, and the packet.

    The reviewed case and its copy differ.
    """
    case, copy = reviewed
    _reconstruct(shared, case, v.occurrences, v.states, v.tokens, v.reasons)
    for number in range(v.further_runs):
        _reconstruct(
            _run(case.dataset, f"{v.sources[0]} {number}", source=f"{v.sources[0]}-run"),
            case,
            v.occurrences + 1,
            v.states,
            v.tokens,
        )
    rows: tuple[Sequence[Candidate], ...] = (
        _shift_rows(FIRST, v.decimals),
        _shift_rows(SECOND, -v.decimals),
    )
    for name, candidates in zip(v.sources, rows, strict=True):
        make_source(case, name, candidates)
        make_source(copy, name, candidates)
    _reconstruct(_run(copy.dataset, "copied"), copy, v.occurrences, v.states, v.tokens)
    _judge(copy.dataset, v.sources, v.judges, "copied")
    _evaluate(copy.dataset, copy, v.sources[0])
    _judge(case.dataset, STEADY, v.judges, "mixed")
    judged = _judge(case.dataset, v.sources, v.judges, "varied")
    _call(JUDGE_CALLS, Game.objects.filter(run=judged).first(), v.tokens)
    _answer(_run(case.dataset, f"{v.sources[0]} answered"), case, author, v)
    _write(case, author, v.occurrences)
    _reconcile(case, author, v.occurrences)
    _evaluate(case.dataset, case, v.sources[0], match=0.1 * v.occurrences)
    make_launch(case.dataset.study, judged, v.sources[0])
    design = Design(pairings=packets.list_pairings(judged), quotas=QUOTAS, per_item=2)
    packet = packets.draw_packet(
        study=case.dataset.study, judge_run=judged, label="P", design=design, seed=1, by=admin
    )
    for item in packet.items.select_related("finding"):
        PacketItem.objects.filter(pk=item.pk).update(public_id=item_id(item.finding.ordinal))
    return packet


def make_launch(study: Study, judged: JudgeRun, word: str) -> RecipeLaunch:
    """A launch of a recipe that names a source, with a judge run and a recall."""
    text = f"name: study\ncohorts: [c]\njudges: [{{name: gavel, sources: [a, {word}]}}]\n"
    recipe = Recipe.objects.create(study=study, name=word)
    version = recipe.versions.create(number=1, text=text, sha256="0" * 64)
    launch = RecipeLaunch.objects.create(study=study, version=version, state="done")
    launch.steps.create(
        position=0, key=word, part="gavel", kind="judge", made=judged.public_id, state="done"
    )
    recall = PlantedRecall.objects.create(study=study, source=word, judge="rules", judge_name=word)
    launch.steps.create(
        position=1, key="planted", part="p", kind="planted", made=recall.public_id, reason=word
    )
    return launch


def item_id(ordinal: int) -> str:
    """The public id of an item, the same in every world."""
    return ALPHABET[ordinal] * PUBLIC_ID_LENGTH


def _shift_rows(rows: Sequence[Candidate], by: float) -> list[Candidate]:
    return [replace(c, time=None if c.time is None else round(c.time) + by) for c in rows]


def _run(dataset: Dataset, label: str, source: str = "rules") -> Run:
    run = factories.make_run(dataset, label=label, source=source)
    model = {
        "name": "m",
        "entry": "m",
        "output": "table",
        "context": 1000,
        "concurrency": 1,
        "reasoning": 0,
    }
    Run.objects.filter(pk=run.pk).update(language_models={"tagger": model})
    run.refresh_from_db()
    return run


def _reconstruct(
    run: Run,
    case: Encounter,
    occurrences: int,
    states: Sequence[str],
    tokens: int,
    reasons: Sequence[str] = (),
) -> None:
    """Add a case to a run: inventory, one timeline, ended stages, and a call."""
    inventory = factories.make_inventory(case.notes.get(), run)
    found = [factories.make_occurrence(inventory, "Fever") for _ in range(occurrences)]
    case_run = factories.make_case_run(run, case, inventory)
    factories.make_timeline(
        inventory, {o: float(n) for n, o in enumerate(found)}, case_run=case_run
    )
    for (stage, counted), state in zip(STAGES.items(), states, strict=True):
        begun = state not in (JobState.QUEUED, JobState.BLOCKED)
        made = StageRun.objects.create(
            case_run=case_run, stage=stage, state=state, reasons=list(reasons) if state == JobState.FAILED else [],
            queued_at=BEGUN if begun else timezone.now() - timedelta(hours=1),
            started_at=BEGUN if begun else None, finished_at=BEGUN + timedelta(seconds=60 + tokens) if begun else None,
        )  # fmt: skip
        if state == JobState.SUCCEEDED:
            StageBatch.objects.create(stage_run=made, ordinal=0, payload={counted: occurrences})
        _call(CALLS_OWNER, made, tokens)


def _call(owner: str, of: Model | None, tokens: int) -> None:
    assert of is not None
    text, _ = ModelRequestText.objects.get_or_create(
        sha256="0" * 64, defaults={"body": '{"messages": [], "schema": null}'}
    )
    ModelCall.objects.create(
        owner_type=owner, owner_id=str(of.pk), request=text, role="tagger", model="m", prompt="p", prompt_sha256="0" * 64,
        part="part", attempt=1, seconds=1.0, tokens_in=tokens, tokens_out=tokens, outcome="rejected",
        reasons=[f"{tokens} rows"], response='{"text": ""}',
    )  # fmt: skip


def _judge(
    dataset: Dataset,
    sources: Sequence[str],
    judges: Mapping[str, Any],
    label: str,
    cases: Sequence[str] = (),
) -> JudgeRun:
    """Judge the reviewed case as the variation says, others always alike."""
    keys = [SourceKey(name, TimelineKind.REVISED.value, 1) for name in sources]
    with use_judge(FixedJudge()):
        run = actions.start_judging(
            study=dataset.study, datasets=[dataset], sources=keys, config=JudgeConfig(), label=label, by=None, tell_workers=False,
            cases=list(cases),
        )  # fmt: skip
    games = Game.objects.filter(run=run)
    games.update(seed=5)
    for pk, case in games.order_by("pk").values_list("pk", "comparison__encounter__case_id"):
        with use_judge(judges[label] if case == REVIEWED else FixedJudge()):
            actions.execute_game(pk)
    return run


def _evaluate(dataset: Dataset, case: Encounter, label: str, match: float = 0.5) -> None:
    evaluation = make_evaluation(
        dataset.study, [dataset], report=make_report(), label=label, reference=label
    )
    Evaluation.objects.filter(pk=evaluation.pk).update(sources=[f"{match:.2f}"])
    store_case(evaluation, case)


def _export(case: Encounter, person: User, v: WorldVariation) -> None:
    """Store an export from before the case was closed to the person."""
    export = Export.objects.create(
        study=case.dataset.study, dataset=case.dataset, format="csv", created_by=person,
        state=JobState.SUCCEEDED, lines=v.occurrences, size=100 * v.occurrences,
        sha256=f"{v.occurrences:064}", finished_at=timezone.now(),
    )  # fmt: skip
    ExportPart.objects.create(
        export=export, number=0, encounters=[case.pk], lines=v.occurrences,
        written_at=timezone.now(),
    )  # fmt: skip


WINDOW = """
name: Early
anchor: admission
where:
  - event: anything
    within: 0 h to 6 h after anchor
"""


def _ask_cohort(run: Run) -> None:
    """Make what cohort pages show, over a concept of every mention."""
    StudyTimeline.objects.create(dataset=run.dataset, run=run)
    mentions = {m.lower() for m in Occurrence.objects.values_list("mention", flat=True)}
    version = make_concept(run.study, "anything", mentions=sorted(mentions))
    choice = Choice(zero=version.concept.public_id, concepts=(version.concept.public_id,))
    save_view(
        dataset=run.dataset,
        name="View",
        choice=choice,
        versions={version.concept.public_id: version},
        by=None,
    )
    question = Question(run.dataset, Source.RECORD, 6.0)
    counted = count_states(question, find_asked_timelines(question), [version])
    done = {"source": "record", "hours": 6.0, "state": JobState.SUCCEEDED, "report": counted}
    AsOfReport.objects.create(study=run.study, dataset=run.dataset, **done)
    LeakageCheck.objects.create(study=run.study, dataset=run.dataset, **done)
    window = create_window(study=run.study, yaml=WINDOW, by=None)
    for second in (Source.RECORD, Source.CURATED):
        result = launch_result(
            version=window.versions.get(),
            dataset=run.dataset,
            first=Source.NOTE,
            second=second,
            by=None,
        )
        store_members(result, *evaluate_both(result))
        ended = {"state": JobState.SUCCEEDED, "finished_at": timezone.now()}
        WindowResult.objects.filter(pk=result.pk).update(**ended)
    rank_study(run.study)
    AttentionRanking.objects.create(
        study=run.study, state=JobState.SUCCEEDED, finished_at=timezone.now()
    )


def _write(case: Encounter, author: User, occurrences: int) -> None:
    """A submitted timeline of a clinician."""
    made, _ = start_authoring(encounter=case, protocol=Authoring.Protocol.UNAIDED, by=author)
    for number in range(occurrences):
        values = {"start": number, "end": number + 4, "mention": f"word {number}", "time": number}
        made.refresh_from_db()
        apply_edit(
            authoring=made, edit=Edit(f"t{number}", made.revision, "add", values=values), by=author
        )
    made.refresh_from_db()
    submit(authoring=made, by=author)


def _reconcile(case: Encounter, author: User, occurrences: int) -> None:
    """A consensus with a second author."""
    second = factories.make_user(case.dataset.study, Role.CLINICIAN, username="second-author")
    _write(case, second, occurrences)
    first, other = Authoring.objects.filter(encounter=case, author__in=(author, second))
    start_consensus(first=first, second=other, by=author)


def _answer(run: Run, case: Encounter, author: User, v: WorldVariation) -> None:
    """Corrections, a comment and a flag, more in one world than in the other."""
    inventory = factories.make_inventory(case.notes.get(), run)
    fever = factories.make_occurrence(inventory, "Fever", uid4="a000")
    case_run = factories.make_case_run(run, case, inventory)
    base = factories.make_timeline(inventory, {fever: 1.0}, case_run=case_run)
    factories.seal(inventory)
    fever.inventory.refresh_from_db()
    for hours in range(2, 2 + v.occurrences):
        what = Corrected(entered=f"+{hours}", reason=f"answer {hours}")
        corrections.correct(base=base, occurrence=fever, what=what, by=author)
        comments.comment(encounter=case, occurrence=fever, body=f"words {hours}", by=author)
    comments.flag(
        encounter=case, occurrence=fever, reason="other", words=f"{v.occurrences} times", by=author
    )


#: Rows with a public id that were made of the reviewed case alone; those of one kind have one name,
#: since how many there are differs.
_OF_CASE: Mapping[type[Model], str] = {
    CaseRun: "encounter", Timeline: "encounter", Authoring: "encounter", Consensus: "encounter", Game: "comparison__encounter",
    Finding: "game__comparison__encounter", Correction: "base__encounter", Comment: "encounter",
    Flag: "occurrence__inventory__encounter",
}  # fmt: skip


def _names(cases: Sequence[Encounter], v: WorldVariation) -> dict[str, str]:
    """Public id → what it is called in every world."""
    secret: dict[type[Model], list[Any]] = {
        model: list(model.objects.filter(**{f"{path}__in": cases}).values_list("pk", flat=True))  # type: ignore[attr-defined]
        for model, path in _OF_CASE.items()
    }
    secret[Run] = list(Run.objects.exclude(label="shared").values_list("pk", flat=True))
    secret[JudgeRun] = list(
        JudgeRun.objects.filter(label__in=("varied", "copied")).values_list("pk", flat=True)
    )
    secret[Evaluation] = list(
        Evaluation.objects.filter(label=v.sources[0]).values_list("pk", flat=True)
    )
    stages = [
        str(pk)
        for pk in StageRun.objects.filter(case_run__encounter__in=cases).values_list(
            "pk", flat=True
        )
    ]
    games = [str(pk) for pk in secret[Game]]
    calls = ModelCall.objects.filter(owner_type=CALLS_OWNER, owner_id__in=stages)
    judged = ModelCall.objects.filter(owner_type=JUDGE_CALLS, owner_id__in=games)
    secret[ModelCall] = [*calls.values_list("pk", flat=True), *judged.values_list("pk", flat=True)]
    names = {}
    for model in apps.get_models():
        if any(f.name == "public_id" for f in model._meta.get_fields()) and model is not PacketItem:
            places = count(1)
            for pk, public_id in model._default_manager.order_by("pk").values_list(
                "pk", "public_id"
            ):
                closed = pk in secret.get(model, ())
                names[public_id] = (
                    f"CLOSED-{model.__name__}" if closed else f"{model.__name__}-{next(places)}"
                )
    return names


def _facts(cases: Sequence[Encounter]) -> dict[str, object]:
    """Return what was made of the reviewed case; all of it must differ."""
    facts: dict[str, object] = {
        "runs": sorted(Run.objects.values_list("label", flat=True)),
        "occurrences": sorted(
            Timeline.objects.filter(encounter__in=cases)
            .annotate(count=Count("entries"))
            .values_list("source", "count")
        ),
        "stages": sorted(
            StageRun.objects.filter(case_run__encounter__in=cases).values_list("stage", "state")
        ),
        "calls": sorted(n or 0 for n in ModelCall.objects.values_list("tokens_in", flat=True)),
    }
    games = Game.objects.filter(comparison__encounter__in=cases)
    facts["games"] = sorted(games.values_list("run__label", "state", "outcome"))
    for label in ("varied", "mixed", "copied"):
        findings = Finding.objects.filter(game__in=games.filter(run__label=label))
        for name in ("type", "verdict", "grounding"):
            facts[f"{name}s of {label}"] = sorted(findings.values_list(name, flat=True))
    return facts


# The walk


def patterns(
    resolver: URLResolver | None = None, namespace: str = ""
) -> Iterator[tuple[str, str, URLPattern]]:
    """Yield every URL pattern with its full name and its route."""
    for entry in (resolver or get_resolver()).url_patterns:
        if isinstance(entry, URLResolver):
            yield from patterns(
                entry, f"{namespace}{entry.namespace}:" if entry.namespace else namespace
            )
        elif entry.name:
            yield f"{namespace}{entry.name}", str(entry.pattern), entry


def ids(*models: type[Model]) -> Callable[[], list[Any]]:
    """The public ids of all rows of these models, and one that there is not."""
    return lambda: [
        *(
            i
            for m in models
            for i in m._default_manager.order_by("pk").values_list("public_id", flat=True)
        ),
        NOBODYS,
    ]


#: The public id of nothing.
NOBODYS = "z" * PUBLIC_ID_LENGTH
#: Values in an address, by the word before them. Words and parameters that are not here are
#: asked for by KNOWN.
BEHIND: Mapping[str, Callable[[], list[Any]]] = {
    "cases": ids(Encounter),
    "runs/cases": ids(CaseRun),
    "runs": ids(Run),
    "calls": ids(ModelCall),
    "evaluations": ids(Evaluation),
    "timelines": ids(Timeline),
    "webhooks": ids(Webhook),
    "datasets": ids(Dataset),
    "studies": ids(Study),
    "exports": ids(Export),
    "authoring": ids(Authoring),
    "consensus": ids(Consensus),
    "adjudication/runs": ids(JudgeRun),
    "adjudication/calls": lambda: [
        *ModelCall.objects.filter(owner_type=JUDGE_CALLS).values_list("public_id", flat=True),
        NOBODYS,
    ],
    "judge-runs": ids(JudgeRun),
    "changes": ids(JudgeRun),
    "games": ids(Game),
    "findings": ids(Finding),
    "corrections": ids(Correction),
    "comments": ids(Comment),
    "flags": ids(Flag),
    "links": ids(OccurrenceLink),
    "packets": ids(Packet),
    "recipes": ids(Recipe),
    "launches": ids(RecipeLaunch),
    "planted": ids(PlantedRecall),
    "new": ids(JudgeRun),
    "notifications": lambda: ["a" * 12],
    "review": ids(Assignment),
    "assignments": ids(Assignment),
    "searches": ids(PairSearch),
    "items": lambda: list(
        PacketItem.objects.order_by("public_id").values_list("public_id", flat=True)[:2]
    ),
    "trajectories": ids(Trajectory),
    "windows": ids(Window),
    "results": ids(WindowResult),
    "window-results": ids(WindowResult),
    "unexplained": ids(Encounter),
    "imports": ids(Upload),
    "deletions": ids(DatasetDeletion),
    "as-of": ids(AsOfReport),
    "leakage": ids(LeakageCheck),
    "concepts": ids(Concept),
    "samples": ids(ConceptSample),
    "series": lambda: list(EventSeries.objects.order_by("pk").values_list("pk", flat=True)[::3]),
}
KNOWN: Mapping[str, tuple[Any, ...]] = {
    "action": ("cancel",),
    "format": ("csv", "jsonl"),
    "form": ("csv", "jsonl"),
    "step": ("resolve",),
    "name": ("main", "ratings"),
    "table": ("courses",),
    "uid4": ("a000",),
    "uid": ("a000",),
    "number": (1,),
    "mapping_id": (1,),
    "row": (0,),
    "row_index": (0,),
    "place": (1,),
    "rest": ("nothing/",),
    "secret": ("not-a-secret",),
    "pk": (1,),
    "object_id": (1, 7),
    "id": (1,),
    "app_label": ("timelines", "accounts"),
    "url": ("",),
    "content_type_id": (1,),
}
#: Ways to narrow and sort a page; each is asked of every address of that name.
QUERIES: Mapping[str, Sequence[str]] = {
    "timelines:cases": (
        "state=none",
        "state=done",
        "state=failed",
        "state=waiting",
        "state=running",
        "sort=-rows",
    ),
    "timelines:run": ("show=done", "show=failed", "show=waiting"),
    "adjudication:judge_run": ("show=judged", "show=unjudged", "show=failed"),
    "adjudication:findings": ("type=TIMING", "verdict=decisive", "sort=-weight", "source=0"),
    "adjudication_api:judge_games": ("status=judged",),
    "adjudication_api:findings": ("type=TIMING",),
    "timelines:evaluation": ("sort=aultc",),
    "timelines_api:cases": ("state=done", "state=failed", "findings=yes", "sort=-rows", "limit=1"),
    "timelines_api:run_cases": ("state=done", "state=failed"),
    "timelines_api:run_timelines": ("text=1",),
    "cohorts:as_of_case": ("h=6&source=note",),
    "timelines:evaluation_funnel": ("kind=lab&step=candidate", "lost=below-threshold"),
}
#: Maximum number of ids of one kind to try in an address.
OPEN_OF_EACH = 4
#: Addresses that answer a part of their page to htmx.
PARTIAL = frozenset(
    (
        *(f"timelines:{name}" for name in ("cases", "run", "evaluations", "evaluation", "exports")),
        "ehr:record",
    )
    + tuple(f"adjudication:{name}" for name in ("judge_runs", "judge_run", "findings"))
)
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
#: Answers whose bytes are not ours to compare: generated once for everybody.
SAME_FOR_ALL = frozenset({"api-schema", "api-docs"})
#: Answers about the machine, of which no two are the same: free space, ages, workers.
OF_THE_MACHINE = frozenset({"operations", "operations_models"})
ENDS_SESSION = frozenset({"accounts:sign_out", "accounts:sign_in", "admin:logout"})


def addresses(
    name: str, route: str, pattern: URLPattern, names: Mapping[str, str], each: int
) -> Iterator[str]:
    """The pattern's address for everything that may stand in it."""
    parameters = list(pattern.pattern.converters) or list(pattern.pattern.regex.groupindex)
    for values in product(
        *(sample_ids(names, _values(route, parameter), each) for parameter in parameters)
    ):
        with suppress(NoReverseMatch):  # a converter that does not take that value
            yield reverse(name, kwargs=dict(zip(parameters, values, strict=True)))


def sample_ids(names: Mapping[str, str], found: Sequence[Any], each: int) -> list[Any]:
    """Return ids of the reviewed case, of open objects, and an unknown one.

    Of the open objects the first, and the last ones up to `each`: among these are the reviewed stay
    itself, and runs over an open and a closed case.
    """
    closed = [value for value in found if names.get(str(value), "").startswith("CLOSED")]
    other = [value for value in found if value not in closed]
    return [*closed[:1], *other[:1], *other[1:-1][1 - each :], *other[-1:]]


def _values(route: str, parameter: str) -> Sequence[Any]:
    before = (
        _PARAMETER.sub("", route.partition(f":{parameter}>")[0].rpartition("<")[0])
        .strip("/")
        .replace("//", "/")
    )
    words = before.split("/")
    if parameter in KNOWN:
        return KNOWN[parameter]
    found = BEHIND.get("/".join(words[-2:])) or BEHIND.get(words[-1])
    assert found is not None, f"say in BEHIND or KNOWN what {parameter} means in {route}"
    return found()


@dataclass
class Answers:
    """A person's responses at every address of a world.

    (method, address) → every response, with ids as names.
    """

    world: World
    client: Client
    found: dict[tuple[str, str], set[tuple[int, str]]] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)

    def ask(self, name: str, path: str, *, method: str = "get", **how: Any) -> int:
        answer = getattr(self.client, method)(path, **how)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        headers = "\n".join(
            f"{k}: {v}"
            for k, v in sorted(answer.items())
            if k not in ("Set-Cookie", "Expires", "Content-Length")
        )
        if content[:4] == b"PAR1":
            text = str(parquet.read_table(BytesIO(content)).to_pylist())
        elif content[:5] == b"%PDF-":
            # Where a line breaks depends on how wide its ids are.
            pages = [page.extract_text() for page in PdfReader(BytesIO(content)).pages]
            text = " ".join(" ".join(pages).split())
        else:
            text = FHIR_IDS.sub("ID", content.decode())
        # A message waits in a cookie for the next page. It belongs to this answer, and not to the
        # one that is asked for next.
        messages = "\n".join(str(message) for message in get_messages(answer.wsgi_request))
        self.client.cookies.pop("messages", None)
        body = (
            ""
            if name in SAME_FOR_ALL | OF_THE_MACHINE
            else self.world.plain(f"{headers}\n{messages}\n{text}")
        )
        # Files that are no text are compared by address and size alone.
        key = (
            f"{method}{' '.join(sorted(how.get('headers', {})))}{json.dumps(how.get('data', ''), sort_keys=True)}",
            self.world.plain(path),
        )
        self.found.setdefault((self.world.plain(key[0]), key[1]), set()).add(
            (answer.status_code, body)
        )
        assert answer.status_code != 500, f"{method} {path}"
        if answer.status_code == 200:
            self.opened.add(name)
        return int(answer.status_code)


def walk(
    world: World,
    person: User,
    *,
    besides: Collection[str] = (),
    links: int = 2,
    narrowed: int = 100,
    each: int = OPEN_OF_EACH,
) -> Answers:
    """Request every address, then follow links, then send forms.

    Addresses are also narrowed and sorted. At most `links` links of each shape are followed, and `narrowed` shapes of each path.
    Addresses of the names in `besides` are left out.
    """
    client = Client(raise_request_exception=False)
    client.force_login(person)
    answers = Answers(world, client)
    for name, route, pattern in patterns():
        if (
            name in ENDS_SESSION
            or name in besides
            or (name.startswith("admin:") and not person.is_superuser)
        ):
            continue
        for path in dict.fromkeys(addresses(name, route, pattern, world.names, each)):
            status = answers.ask(name, path)
            for query in QUERIES.get(name, ()) if status == 200 else ():
                answers.ask(name, f"{path}?{query}")
            if status == 200 and name in PARTIAL:
                answers.ask(name, path, headers={"HX-Request": "true"})
            if status == 405:
                break
    if not besides:
        _follow(answers, links, narrowed)
    _send(answers)
    return answers


_LINK = re.compile(r'(?:href|hx-get)="(/[^"#]*)')


def _follow(answers: Answers, limit: int, narrowed: int) -> None:
    """Follow every new link, also in the responses.

    At most `limit` of one shape, and `narrowed` shapes of one path.
    """
    asked, shapes = {path for _, path in answers.found}, Counter[str]()
    combinations = Counter[str]()
    waiting = sorted(
        {
            link
            for bodies in answers.found.values()
            for _, body in bodies
            for link in _LINK.findall(body)
        }
    )
    real = {name: public_id for public_id, name in answers.world.names.items()}
    while waiting:
        path = unescape(waiting.pop(0))
        shape = re.sub(r"[\w-]*\d[\w-]*", "#", path)
        bare = shape.partition("?")[0]
        if (
            path in asked
            or path.startswith(("/static/", "/admin/"))
            or shapes[shape] >= limit
            or (not shapes[shape] and combinations[bare] >= narrowed)
        ):
            continue
        asked.add(path)
        combinations[bare] += not shapes[shape]
        shapes[shape] += 1
        answers.ask(
            "link",
            re.sub(r"[A-Z]\w+-\d+", lambda found: real.get(found.group(), found.group()), path),
        )


def _send(answers: Answers) -> None:
    """Send searches and actions that are refused; nothing changes."""
    for text in (REVIEWED, "open", "b-", "fever", "le*"):
        answers.ask(
            "timelines:search", reverse("timelines:search"), method="post", data={"text": text}
        )
        path = reverse("timelines:case_find")
        answers.ask("timelines:case_find", path, method="post", data={"text": text})
        answers.ask(
            "timelines:cases", reverse("timelines:cases"), method="post", data={"text": text}
        )
        for run in JudgeRun.objects.order_by("pk"):
            path = reverse("adjudication:findings", args=[run.public_id])
            answers.ask("adjudication:findings", path, method="post", data={"case": text})
    for case_run in (
        CaseRun.objects.exclude(encounter__case_id="a-open").select_related("run").order_by("pk")
    ):
        path = reverse("timelines:case_retry", args=[case_run.run.public_id, case_run.public_id])
        answers.ask("timelines:case_retry", path, method="post")
    for game in Game.objects.select_related("run").order_by("pk"):
        path = reverse("adjudication:judge_game_again", args=[game.run.public_id, game.public_id])
        answers.ask("adjudication:judge_game_again", path, method="post")
        answers.ask(
            "again",
            reverse("adjudication_api:judge_game_again", args=[game.public_id]),
            method="post",
        )
    for run in JudgeRun.objects.order_by("pk"):
        path = reverse("adjudication_api:packet_preview", args=[run.public_id])
        answers.ask(
            "preview",
            path,
            method="post",
            data=json.dumps({"quotas": {}, "seed": 1}),
            content_type="application/json",
        )
    answers.ask("home", "/")
