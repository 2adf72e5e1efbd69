"""Evaluate what is in the database, by command and by job.

Missing timelines and forbidden comparisons are covered.
"""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from accounts.models import AuditEvent
from ehr.models import Dataset, Note, SourceRow
from jobs.models import JobState
from llm_runtime.providers.lexical import LexicalReranker
from tests import factories
from tests.unit.timelines.pipeline.reconstruction import ANDEXANET, LACTATE, NOTE, script
from tests.unit.timelines.pipeline.test_variants import EveryVariant
from timelines.evaluation.plain import case_from_plain, report_from_plain
from timelines.evaluation.spread import find_spread
from timelines.evaluation.tables import references
from timelines.evaluation.values import Basis, EvaluationSettings, SourceKey
from timelines.evaluations.actions import EvaluationRefused, execute_evaluation, start_evaluation
from timelines.evaluations.data import known_sources
from timelines.evaluations.pairs import find_source, reference_timeline
from timelines.models import Evaluation, EvaluationCase, Run, Timeline
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs import storage, tools
from timelines.runs.actions import start_run
from timelines.runs.following import work_inline
from timelines.transfer.references import ReferenceLine, save_reference

pytestmark = pytest.mark.django_db(transaction=True)

REVISED = SourceKey("rules", "revised")
SPANS = EvaluationSettings(bases=(Basis.SPAN,), resamples=20)


@pytest.fixture(autouse=True)
def _without_weights(monkeypatch) -> None:
    """A scripted backbone and the small embedder that needs no weights."""
    scripted = EveryVariant(*script().spans)
    monkeypatch.setattr(tools, "backbone", lambda name, *_: scripted.backbone())
    roles = tools.ModelRoles(
        {"embedder": {"provider": "hashing"}, "reranker": {"provider": "lexical"}}
    )
    monkeypatch.setattr(tools, "roles", lambda: roles)
    monkeypatch.setattr("timelines.evaluations.actions.roles", lambda: roles)
    monkeypatch.setattr("timelines.evaluations.rho.roles", lambda: roles)


def store_case(dataset: Dataset, case_id: str, *, reference: bool = True) -> None:
    """Store a case with the small note, two series, and a reference.

    The reference places the first tagged span at +6.5 h by row 0.
    """
    encounter = factories.make_encounter(dataset, case_id=case_id)
    note = factories.make_note(encounter, NOTE)
    rows = [
        factories.make_row(encounter, ANDEXANET, 6.5),
        factories.make_row(encounter, LACTATE, 1.0),
    ]
    factories.make_series(encounter, ANDEXANET, rows[:1], summary="andexanet alfa administered")
    factories.make_series(encounter, LACTATE, rows[1:], summary="lactate")
    if reference:
        add_reference(note, 6.5, rows[0])


def add_reference(note: Note, time: float, row: SourceRow) -> None:
    """Store a reference that places every tagged span at `time`."""
    lines = [
        ReferenceLine(
            start=s.start,
            end=s.end,
            mention=s.mention,
            time=time,
            lower=time - 0.5,
            upper=time + 0.5,
            known=1,
            rows=[row.row_index],
        )
        for s in script().spans
    ]
    with transaction.atomic():
        save_reference(note=note, lines=lines)


@pytest.fixture
def dataset() -> Dataset:
    """Three cases, two of them with a reference."""
    made = factories.make_dataset(name="cohort")
    store_case(made, "a")
    store_case(made, "b")
    store_case(made, "c", reference=False)
    return made


def reconstruct(
    dataset: Dataset,
    variant: Variant = Variant.FULL,
    cases: list[str] | None = None,
    rho: float | None = None,
) -> Run:
    config = PipelineConfig(variant=variant, alternatives=2, rho_threshold=rho)
    run = start_run(dataset=dataset, backbone="rules", config=config, cases=cases, by=None)
    work_inline(run, lambda words: None)
    return run


def run_evaluation(dataset: Dataset, settings: EvaluationSettings = SPANS) -> Evaluation:
    started = start_evaluation(
        study=dataset.study,
        datasets=[dataset],
        reference="reference",
        settings=settings,
        by=None,
        tell_workers=False,
    )
    assert execute_evaluation(started.pk) == JobState.SUCCEEDED
    started.refresh_from_db()
    return started


def test_the_job_stores_a_report_and_what_it_found_in_each_case(dataset: Dataset) -> None:
    reconstruct(dataset)
    done = run_evaluation(dataset)
    report = report_from_plain(done.report)
    assert report.cases == 2
    result = report.find(REVISED, Basis.SPAN)
    assert result is not None
    assert result.available["match_rate"].value == 1.0
    assert result.matched_events == 2 * len(script().spans)
    cases = [
        case_from_plain(c.result)
        for c in EvaluationCase.objects.filter(evaluation=done).order_by("encounter__case_id")
    ]
    assert [c.case_id for c in cases] == ["a", "b"]
    stored = {o.uid for o in storage.load_inventory(_inventory(dataset, "a"))}
    assert {p.predicted for s in cases[0].sources if s.key == REVISED for p in s.pairs} <= stored
    assert AuditEvent.objects.filter(action="evaluation.start", object_id=done.public_id).exists()


def _inventory(dataset: Dataset, case_id: str) -> int:
    found = Timeline.objects.get(
        encounter__dataset=dataset,
        encounter__case_id=case_id,
        source="rules",
        kind="revised",
        alternative=1,
    )
    assert found.inventory_id is not None
    return found.inventory_id


def test_a_case_that_was_not_reconstructed_counts_as_missing(dataset: Dataset) -> None:
    reconstruct(dataset, cases=["a"])
    result = report_from_plain(run_evaluation(dataset).report).find(REVISED, Basis.SPAN)
    assert result is not None
    assert (result.cases, result.missing_cases) == (1, 1)
    assert result.available["match_rate"].value == 1.0
    assert result.missing_as_zero["match_rate"].value == 0.5


def test_only_the_newest_finished_run_of_a_source_is_compared(dataset: Dataset) -> None:
    first = reconstruct(dataset)
    reconstruct(dataset)
    # has not begun
    start_run(dataset=dataset, backbone="rules", config=PipelineConfig(), cases=None, by=None)
    cases = EvaluationCase.objects.filter(evaluation=run_evaluation(dataset)).order_by("pk")
    old = {o.uid for o in storage.load_inventory(first.cases.order_by("pk")[0].inventory_id or 0)}
    # the same seed, the same UIDs
    assert all(
        p.predicted in old for s in case_from_plain(cases[0].result).sources for p in s.pairs
    )
    assert len(report_from_plain(cases[0].evaluation.report).keys) == 3


def test_a_timeline_without_identifiers_is_compared_by_its_words(dataset: Dataset) -> None:
    reconstruct(dataset, Variant.NO_UID)
    report = report_from_plain(
        run_evaluation(dataset, EvaluationSettings(bases=tuple(Basis), resamples=10)).report
    )
    key = SourceKey("rules/no_uid", "revised")
    assert report.find(key, Basis.SPAN) is None
    found = report.find(key, Basis.EMBEDDING)
    assert found is not None
    assert found.predicted_events > 0
    assert report.embedder == "hashing-64"


def test_several_references_of_a_case_show_the_spread(dataset: Dataset) -> None:
    reconstruct(dataset)
    one = EvaluationSettings(bases=(Basis.SPAN,), resamples=10)
    alone = report_from_plain(run_evaluation(dataset, one).report)
    # In case a another annotator placed everything 30 h later.
    Timeline.objects.filter(kind="reference", encounter__case_id="a").update(source="author:ana")
    encounter = dataset.encounters.get(case_id="a")
    add_reference(encounter.notes.get(), 36.5, encounter.rows.order_by("row_index")[0])
    started = start_evaluation(
        study=dataset.study,
        datasets=[dataset],
        reference="author:ana",
        further_references=["reference", "author:ana"],
        sources=["rules"],
        settings=one,
        by=None,
        tell_workers=False,
    )
    assert started.further_references == ["reference"], "the reference itself is no further one"
    assert execute_evaluation(started.pk) == JobState.SUCCEEDED
    started.refresh_from_db()
    report = report_from_plain(started.report)
    assert [(r.reference, r.cases) for r in report.references] == [
        ("author:ana", 1),
        ("reference", 1),
    ]
    spread = {line.key: line for line in find_spread(report, Basis.SPAN)}
    assert report.find(SourceKey("reference", "reference"), Basis.SPAN) is None
    between = spread[SourceKey("reference", "reference")]
    assert (between.references, between.figures["median_error"]) == (1, (30.0, 30.0))
    revised = spread[REVISED]
    assert revised.references == 2
    assert revised.figures["match_rate"] == (1.0, 1.0)
    found = alone.find(REVISED, Basis.SPAN)
    assert found is not None
    near = found.available["median_error"].value
    assert near is not None
    assert revised.figures["median_error"][0] == near
    assert revised.figures["median_error"][1] > 15
    rows = references(report, Basis.SPAN).rows
    assert [row[:2] for row in rows if row[0] == REVISED.label] == [
        (REVISED.label, "author:ana"),
        (REVISED.label, "closest"),
        (REVISED.label, "reference"),
    ]
    assert report.closest is not None
    closest = next(r for r in report.closest.results if r.key == REVISED)
    assert closest.available["median_error"].value == near


def test_each_cases_consensus_is_one_reference(dataset: Dataset) -> None:
    """Two pairs of authors: case a was reconciled twice, case b once."""
    reconstruct(dataset)
    stored = Timeline.objects.filter(kind="reference")
    cases = list(stored.order_by("encounter__case_id").values_list("encounter_id", flat=True))
    stored.filter(encounter=cases[0]).update(source="consensus:ana+bo#1")
    stored.filter(encounter=cases[1]).update(source="author:bo")
    for encounter in dataset.encounters.filter(pk__in=cases).order_by("pk"):
        add_reference(encounter.notes.get(), 40.0, encounter.rows.order_by("row_index")[0])
        newest = stored.filter(encounter=encounter).latest("pk")
        pair = "ana+bo" if encounter.pk == cases[0] else "bo+cleo"
        stored.filter(pk=newest.pk).update(source=f"consensus:{pair}")
    assert "consensus" in known_sources([dataset])[0]
    started = start_evaluation(
        study=dataset.study,
        datasets=[dataset],
        reference="consensus",
        settings=SPANS,
        by=None,
        tell_workers=False,
    )
    assert execute_evaluation(started.pk) == JobState.SUCCEEDED
    started.refresh_from_db()
    report = report_from_plain(started.report)
    assert (report.reference, report.cases) == ("consensus", len(cases))
    assert not [k for k in report.keys if k.source.startswith("consensus")]
    found = report.find(REVISED, Basis.SPAN)
    assert found is not None
    assert (found.available["median_error"].value or 0) > 15
    case = EvaluationCase.objects.get(evaluation=started, encounter=cases[0])
    source = find_source(case_from_plain(case.result), REVISED, Basis.SPAN)
    assert source is not None
    compared = reference_timeline(started, case.encounter, source)
    assert compared is not None
    assert compared.timeline.source == "consensus:ana+bo"


def test_references_that_share_no_case_are_refused(dataset: Dataset) -> None:
    Timeline.objects.filter(kind="reference", encounter__case_id="a").update(source="author:ana")
    with pytest.raises(EvaluationRefused, match="no case has all of the references"):
        start_evaluation(
            study=dataset.study,
            datasets=[dataset],
            reference="reference",
            further_references=["author:ana"],
            by=None,
        )


def test_rho_is_swept_from_what_was_stored(dataset: Dataset) -> None:
    reconstruct(dataset)
    report = report_from_plain(
        run_evaluation(
            dataset, EvaluationSettings(bases=(Basis.SPAN,), resamples=10, rho_sweep=(0.0, 0.5))
        ).report
    )
    assert [(p.source, p.rho) for p in report.rho] == [("rules", 0.0), ("rules", 0.5)]
    assert not any("ρ" in key.source for key in report.keys)
    assert Timeline.objects.filter(source__contains="ρ").count() == 0


def test_a_run_at_its_own_rho_is_a_point_of_the_sweep_beside_the_rerankers(
    dataset: Dataset,
) -> None:
    reconstruct(dataset)
    reconstruct(dataset, rho=0.6)
    threshold = LexicalReranker().threshold
    report = report_from_plain(run_evaluation(dataset).report)
    assert [(p.source, p.rho) for p in report.rho] == [("rules", threshold), ("rules", 0.6)]
    run = report.find(SourceKey("rules/rho=0.6", "revised"), Basis.SPAN)
    assert run is not None
    assert report.rho[1].metrics == run.available
    assert [d.second.source for d in report.differences if d.first == REVISED] == ["rules/rho=0.6"]
    swept = report_from_plain(
        run_evaluation(
            dataset, EvaluationSettings(bases=(Basis.SPAN,), resamples=10, rho_sweep=(0.0, 0.6))
        ).report
    )
    assert [(p.source, p.rho) for p in swept.rho] == [
        ("rules", 0.0),
        ("rules", threshold),
        ("rules", 0.6),
    ]


def test_a_submission_that_was_replaced_can_still_be_the_reference_when_named(
    dataset: Dataset,
) -> None:
    reconstruct(dataset, cases=["a"])
    Timeline.objects.filter(kind="reference", encounter__case_id="a").update(source="author:ann#1")
    started = start_evaluation(
        study=dataset.study,
        datasets=[dataset],
        reference="author:ann#1",
        settings=SPANS,
        by=None,
        tell_workers=False,
    )
    execute_evaluation(started.pk)
    started.refresh_from_db()
    result = report_from_plain(started.report).find(REVISED, Basis.SPAN)
    assert result is not None
    assert result.reference_events == len(script().spans)


def test_done_twice_it_is_the_same(dataset: Dataset) -> None:
    reconstruct(dataset)
    done = run_evaluation(dataset)
    assert execute_evaluation(done.pk) is None
    assert EvaluationCase.objects.filter(evaluation=done).count() == 2
    assert run_evaluation(dataset).report == done.report


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (
            {"reference": "nobody"},
            "no case of these datasets has the reference 'nobody'; references there are: reference",
        ),
        ({"sources": ("gpt",)}, "no timeline has the source gpt; there are: rules"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(
    dataset: Dataset, chosen: dict[str, Any], message: str
) -> None:
    reconstruct(dataset)
    options: dict[str, Any] = {"reference": "reference", **chosen}
    with pytest.raises(EvaluationRefused, match=message):
        start_evaluation(study=dataset.study, datasets=[dataset], by=None, **options)
    other = factories.make_dataset(study=factories.make_study(), name="other")
    with pytest.raises(EvaluationRefused, match="another study"):
        start_evaluation(study=dataset.study, datasets=[other], reference="reference", by=None)
    assert Evaluation.objects.count() == 0


def test_without_any_timeline_there_is_nothing_to_compare(dataset: Dataset) -> None:
    with pytest.raises(EvaluationRefused, match="reconstruct or import one first"):
        start_evaluation(study=dataset.study, datasets=[dataset], reference="reference", by=None)


def evaluate(*arguments: str) -> str:
    out = StringIO()
    call_command(
        "evaluate",
        "--dataset",
        "cohort",
        "--basis",
        "span",
        "--resamples",
        "10",
        *arguments,
        stdout=out,
        stderr=StringIO(),
    )
    return out.getvalue()


def test_the_command_prints_stores_and_writes(dataset: Dataset, tmp_path: Path) -> None:
    reconstruct(dataset)
    shown = evaluate()
    assert "Timelines against reference, paired by span overlap" in shown
    assert "Span recall" in shown
    assert Evaluation.objects.count() == 1
    report = json.loads(evaluate("--json", "--no-store"))
    assert report["results"][0]["available"]["match_rate"]["value"] == 1.0
    assert Evaluation.objects.count() == 1
    out = tmp_path / "tables.tex"
    evaluate("--latex", "--out", str(out), "--no-store")
    assert out.read_text().count(r"\toprule") >= 3
    assert "Source,Timeline,Cases" in evaluate("--csv", "--no-store")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--sources", "nobody"), "no timeline has the source nobody"),
        (("--threshold", "0.7"), "--threshold must be less than or equal to 0.5"),
        (("--resamples", "0"), "--resamples must be greater than or equal to 1"),
        (
            ("--out", "/nowhere/at-all/report.txt"),
            "--out: the folder does not exist: /nowhere/at-all",
        ),
        (("--no-store", "--out", "."), "--out: . cannot be written"),
    ],
)
def test_the_command_says_what_is_wrong(
    dataset: Dataset, arguments: tuple[str, ...], message: str
) -> None:
    reconstruct(dataset, cases=["a"])
    with pytest.raises(CommandError, match=message):
        evaluate(*arguments)


def test_the_command_names_the_datasets_there_are(dataset: Dataset) -> None:
    with pytest.raises(CommandError, match="there is no dataset 'nothing'; there is: cohort"):
        call_command("evaluate", "--dataset", "nothing")
