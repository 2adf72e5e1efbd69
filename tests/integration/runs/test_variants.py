"""Variants on real rows, based on a full run.

They keep its inventory, its text-only estimates and its searches.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.db.models import RestrictedError
from django.urls import reverse

from accounts.models import Role
from adjudication.findings.compare import label_choices
from ehr.models import Dataset
from jobs.models import JobState
from tests import factories
from tests.unit.timelines.pipeline.reconstruction import ANDEXANET, LACTATE, NOTE, script
from tests.unit.timelines.pipeline.test_variants import EveryVariant
from tests.worlds.kept import build_once
from tests.worlds.reconstructed import LIGHT_ROLES
from timelines.cases.choices import load_choices
from timelines.models import (
    Candidate,
    CaseRun,
    Entry,
    Evidence,
    Inventory,
    Query,
    Run,
    StageBatch,
    StageRun,
    Timeline,
)
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.runs import actions, tools
from timelines.runs.bases import based_config, find_base, finished_full_runs
from timelines.runs.following import work_inline
from timelines.runs.page.form import LaunchForm
from timelines.tasks import send_stage_hints

pytestmark = pytest.mark.django_db(transaction=True)

DERIVED = [Variant.NO_UID, Variant.NO_QUERY, Variant.NO_ROWS, Variant.NO_RERANKER, Variant.UNIMODAL]


@pytest.fixture
def backbone(monkeypatch) -> EveryVariant:
    """Return a scripted backbone that can run every variant.

    The embedder is the small one that needs no weights.
    """
    scripted = EveryVariant(*script().spans)
    monkeypatch.setattr(tools, "backbone", lambda name, *_: scripted.backbone())
    roles = tools.ModelRoles(LIGHT_ROLES)
    monkeypatch.setattr(tools, "roles", lambda: roles)
    return scripted


@pytest.fixture
def hints(monkeypatch) -> list[tuple[str, int]]:
    """The messages to the broker: (queue, stage id)."""
    sent: list[tuple[str, int]] = []
    monkeypatch.setattr(
        "timelines.tasks.run_stage.apply_async",
        lambda args, queue, **_: sent.append((queue, args[0])),
    )
    return sent


@pytest.fixture
def dataset(request) -> Dataset:
    """Two cases with the same small note and two series each."""
    if "base" in request.fixturenames:
        return request.getfixturevalue("base").dataset
    return make_dataset()


@pytest.fixture
def base(backbone, hints) -> Run:
    """A finished full run over both cases."""
    return make_base()


def make_dataset() -> Dataset:
    made = factories.make_dataset(name="cohort")
    for case_id in ("a", "b"):
        encounter = factories.make_encounter(made, case_id=case_id)
        factories.make_note(encounter, NOTE)
        rows = [
            factories.make_row(encounter, ANDEXANET, 6.5),
            factories.make_row(encounter, LACTATE, 1.0),
        ]
        factories.make_series(encounter, ANDEXANET, rows[:1], summary="andexanet alfa administered")
        factories.make_series(encounter, LACTATE, rows[1:], summary="lactate blood 4.1")
    return made


@build_once
def make_base() -> Run:
    return finish_run(make_dataset(), Variant.FULL)


def finish_run(
    dataset: Dataset, variant: Variant, base: Run | None = None, **settings: object
) -> Run:
    """A run of that variant, worked to its end in this process."""
    config = (
        based_config(base, variant=variant.value, **settings)
        if base
        else PipelineConfig(variant=variant)
    )
    run = actions.start_run(
        dataset=dataset, backbone="rules", config=config, based_on=base, by=None
    )
    work_inline(run, lambda words: None)
    left = StageRun.objects.filter(case_run__run=run).exclude(state=JobState.SUCCEEDED)
    assert not [(s.stage, s.state, s.reasons) for s in left]
    return run


def times(run: Run, kind: str = "revised", alternative: int = 1) -> list[list[float | None]]:
    """Times of each case in inventory order."""
    found = Timeline.objects.filter(case_run__run=run, kind=kind, alternative=alternative).order_by(
        "encounter__case_id"
    )
    return [
        list(t.entries.order_by("occurrence__ordinal", "pk").values_list("time", flat=True))
        for t in found
    ]


@pytest.mark.parametrize("variant", list(Variant))
def test_every_variant_runs_by_itself(backbone, hints, dataset, variant):
    run = finish_run(dataset, variant)
    assert run.source == ("rules" if variant is Variant.FULL else f"rules/{variant}")
    assert times(run, "text_only") == [[1.0, 2.0, 3.0]] * 2
    assert backbone.calls.count("tag") == 2
    assert len(times(run)) == (0 if variant is Variant.UNIMODAL else 2)


def test_the_inventory_is_held_fixed_and_the_text_is_not_read_again(backbone, base, dataset):
    inventories = Inventory.objects.count()
    backbone.calls.clear()
    for variant in DERIVED:
        run = finish_run(dataset, variant, base)
        assert run.based_on == base
        pairs = CaseRun.objects.filter(run=run).values_list("encounter", "inventory")
        assert set(pairs) == set(base.cases.values_list("encounter", "inventory"))
        assert times(run, "text_only") == times(base, "text_only"), (
            "each run has a copy of its own, for exports and pages"
        )
        assert set(run.cases.first().stages.values_list("stage", flat=True)) == set(
            actions.find_stages(variant, based=True)
        )
    assert Inventory.objects.count() == inventories
    assert set(backbone.calls) == {"revise", "revise by summaries", "revise unidentified"}, (
        "neither tagged, timed nor asked for queries"
    )


def test_searches_are_kept_and_only_their_fates_decided_again(backbone, base, dataset, monkeypatch):
    alone = {
        v: finish_run(dataset, v) for v in (Variant.NO_RERANKER, Variant.NO_ROWS, Variant.NO_UID)
    }
    monkeypatch.setattr(
        "timelines.runs.stages.execution.search", lambda *_: pytest.fail("the scores are known")
    )
    columns = (
        "query__case_run__encounter",
        "query__text",
        "series__event",
        "dense_rank",
        "rerank_score",
        "kept",
        "fate",
    )
    for variant, by_itself in alone.items():
        run = finish_run(dataset, variant, base)
        found = Candidate.objects.order_by("pk")
        ours, theirs = (
            list(found.filter(query__case_run__run=r).values_list(*columns))
            for r in (run, by_itself)
        )
        assert ours == theirs
        assert len(ours) == 12
    strict = finish_run(dataset, Variant.FULL, base, rho_threshold=1.0)
    assert strict.source == "rules/rho=1"
    assert not Candidate.objects.filter(query__case_run__run=strict, kept=True).exists()
    assert Candidate.objects.filter(query__case_run__run=base, kept=True).exists()
    batch = StageBatch.objects.get(
        stage_run__case_run=strict.cases.first(), stage_run__stage="retrieve", ordinal=1
    )
    assert batch.payload["kept_from"] in set(base.cases.values_list("public_id", flat=True))


def test_mentions_are_searched_anew(backbone, base, dataset):
    run = finish_run(dataset, Variant.NO_QUERY, base)
    texts = set(Query.objects.filter(case_run__run=run).values_list("text", flat=True))
    assert texts == set(
        Inventory.objects.latest("pk").occurrences.values_list("mention", flat=True)
    )


def test_without_rows_the_chain_shows_what_was_kept_and_holds_no_evidence(backbone, base, dataset):
    run = finish_run(dataset, Variant.NO_ROWS, base)
    assert not Evidence.objects.filter(candidate__query__case_run__run=run).exists()
    assert Candidate.objects.filter(query__case_run__run=run, kept=True).exists()
    assert {s.text for s in backbone.summaries} <= {
        "andexanet alfa administered",
        "lactate blood 4.1",
    }
    assert backbone.summaries
    payload = StageBatch.objects.filter(
        stage_run__case_run__run=run, stage_run__stage="expand"
    ).values_list("payload", flat=True)[0]
    assert payload["summaries"] == len(payload["given"]) == len(backbone.summaries)
    assert payload["rows"] == 0


def test_without_identifiers_entries_have_their_own_words_and_only_rows_that_were_seen(
    backbone, base, dataset
):
    run = finish_run(dataset, Variant.NO_UID, base)
    timelines = Timeline.objects.filter(case_run__run=run, kind="revised")
    assert timelines.count() == 6
    assert set(timelines.values_list("inventory", flat=True)) == {None}
    assert list(timelines[0].entries.values_list("event", "occurrence", "time")) == [
        ("apixaban taken", None, 1.5)
    ]
    timeline = timelines[0]
    with (
        pytest.raises(IntegrityError, match="a row that its revision did not see"),
        transaction.atomic(),
    ):
        Entry.objects.create(timeline=timeline, event="x", time=1.0, adopted_rows=[99])


def test_a_base_is_refused_with_what_is_wrong(backbone, base, dataset, monkeypatch):
    monkeypatch.setitem(tools.BACKBONES, "other", ("", "", ()))

    def refusal(
        based_on: Run = base,
        on: Dataset = dataset,
        by: str = "rules",
        cases: list[str] | None = None,
        **settings: object,
    ) -> str:
        config = PipelineConfig.from_dict({"variant": "no_uid", **settings})
        with pytest.raises(actions.RunRefused) as refused:
            actions.start_run(
                dataset=on, backbone=by, config=config, cases=cases, based_on=based_on, by=None
            )
        return str(refused.value)

    assert (
        refusal(on=factories.make_dataset()) == f"the run {base.public_id} is over another dataset"
    )
    assert refusal(by="other") == f"the run {base.public_id} is by the backbone rules, not by other"
    assert (
        refusal(seed=3, top_k_dense=4)
        == f"the run {base.public_id} has other settings: seed, top_k_dense"
    )
    assert refusal(cases=["a", "z"]) == f"not in the run {base.public_id}: z"
    derived = finish_run(dataset, Variant.NO_ROWS, base)
    assert "is of the variant no_rows; variants are based on a full run" in refusal(derived)
    StageRun.objects.filter(
        case_run__run=base, case_run__encounter__case_id="b", stage="revise"
    ).update(state=JobState.FAILED)
    words = f"of 2 cases of the run {base.public_id} are not finished"
    assert refusal(cases=["a", "b"]) == f"1 {words}"
    revise = StageRun.objects.filter(case_run__run=base, stage="revise")
    revise.filter(case_run__encounter__case_id="b").update(state=JobState.QUEUED)
    assert refusal() == f"1 {words}"
    revise.update(state=JobState.FAILED)
    assert refusal() == f"2 {words}", "nothing to base it on"
    revise.filter(case_run__encounter__case_id="a").update(state=JobState.SUCCEEDED)
    started = actions.start_run(
        dataset=dataset,
        backbone="rules",
        config=PipelineConfig(variant=Variant.NO_UID),
        cases=["a"],
        based_on=base,
        by=None,
    )
    assert started.cases.count() == 1, "the finished case may be based on"
    Run.objects.filter(pk=base.pk).update(tools=base.tools | {"backbone": "scripted 0"})
    base.refresh_from_db()
    assert "made with other tools (scripted 1 instead of scripted 0)" in refusal()
    assert not Run.objects.filter(based_on=derived).exists()


def test_a_variant_runs_on_the_cases_that_its_base_has_reconstructed(backbone, base, dataset):
    StageRun.objects.filter(
        case_run__run=base, case_run__encounter__case_id="b", stage="revise"
    ).update(state=JobState.FAILED)
    assert not finished_full_runs().exists()
    assert find_base(dataset, "rules", "latest") == base
    form = LaunchForm(study=dataset.study)
    (_, (value, label)) = form.fields["based_on"].choices
    assert (str(value), "1 of 2 cases" in label) == (base.public_id, True)
    run = actions.start_run(
        dataset=dataset,
        backbone="rules",
        config=PipelineConfig(variant=Variant.NO_UID),
        based_on=base,
        by=None,
    )
    assert list(run.cases.values_list("encounter__case_id", flat=True)) == ["a"]
    assert run.preparation.total == 1
    StageRun.objects.filter(case_run__run=base, stage="revise").update(state=JobState.SUCCEEDED)
    assert finished_full_runs().get() == base
    assert "cases" not in list(LaunchForm(study=dataset.study).fields["based_on"].choices)[1][1]


def test_the_newest_finished_full_run_is_the_latest(backbone, hints, dataset):
    with pytest.raises(ValueError, match="no finished full run by rules yet"):
        find_base(dataset, "rules", "latest")
    first = finish_run(dataset, Variant.FULL)
    second = finish_run(dataset, Variant.FULL)
    finish_run(dataset, Variant.NO_ROWS)
    actions.start_run(dataset=dataset, backbone="rules", by=None)
    assert find_base(dataset, "rules", "latest") == second
    assert find_base(dataset, "rules", first.public_id) == first
    with pytest.raises(ValueError, match="no run nobody"):
        find_base(dataset, "rules", "nobody")


def test_copies_wait_on_the_ordinary_queue(backbone, hints, base, dataset, monkeypatch):
    run = actions.start_run(
        dataset=dataset,
        backbone="rules",
        config=PipelineConfig(variant=Variant.NO_UID),
        based_on=base,
        by=None,
    )
    monkeypatch.setitem(tools.BACKBONES, "rules", ("", "", True))  # a backbone that asks a model
    hints.clear()
    send_stage_hints(
        list(
            StageRun.objects.filter(case_run=run.cases.first())
            .order_by("pk")
            .values_list("pk", flat=True)
        )
    )
    assert [queue for queue, _ in hints] == [
        "pipeline",
        "pipeline",
        "pipeline",
        "generate",
        "pipeline",
    ]


def test_a_base_stays_while_runs_rest_on_it_and_all_go_with_their_dataset(backbone, base, dataset):
    finish_run(dataset, Variant.NO_UID, base)
    with pytest.raises(RestrictedError), transaction.atomic():
        base.delete()
    dataset.delete()
    assert not Run.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM timelines_entry")
        assert cursor.fetchone() == (0,)


def command(*arguments: str) -> list[str]:
    said = StringIO()
    call_command("reconstruct", "--dataset", "cohort", *arguments, stdout=said, stderr=said)
    return said.getvalue().splitlines()


def test_the_command_runs_a_set_of_variants_on_one_full_run(backbone, hints, dataset):
    said = command("--variants", "full,no_uid,no_rows", "--alternatives", "1", "--inline")
    base = Run.objects.get(variant="full")
    assert said[0] == f"run {base.public_id}: 2 cases by rules"
    derived = Run.objects.exclude(pk=base.pk)
    assert [
        f"run {r.public_id}: 2 cases by {r.source}, based on run {base.public_id}" in said
        for r in derived
    ] == [True, True]
    assert {r.config["alternatives"] for r in Run.objects.all()} == {1}
    assert said[-1] == "finished"


def test_the_command_adds_what_is_missing_and_nothing_else(backbone, hints, dataset):
    command("--cases", "a", "--inline")
    first = Run.objects.get()
    command("--variants", "full,no_rows", "--missing", "--inline")
    runs = [
        (r.source, r.based_on_id == first.pk, [c.encounter.case_id for c in r.cases.all()])
        for r in Run.objects.order_by("pk")
    ]
    assert runs == [
        ("rules", False, ["a"]),
        ("rules", False, ["b"]),
        ("rules/no_rows", False, ["b"]),
        ("rules/no_rows", True, ["a"]),
    ]
    said = command("--variants", "full,no_rows", "--missing", "--inline")
    assert said == ["every case has been reconstructed in all 2 variants, or is under way"]


def test_the_command_bases_one_run_on_another(backbone, hints, dataset):
    command("--inline")
    command("--variant", "full", "--rho", "0.3", "--based-on", "latest", "--inline")
    run = Run.objects.latest("pk")
    assert (run.source, run.config["rho_threshold"]) == ("rules/rho=0.3", 0.3)
    with pytest.raises(CommandError, match="--variants waits for the full run"):
        command("--variants", "full,no_uid")
    with pytest.raises(CommandError, match="--variants takes names separated by commas, of: full"):
        command("--variants", "all", "--inline")
    with pytest.raises(CommandError, match="rho_threshold must be less than or equal to 1"):
        command("--rho", "2")


def export(tmp_path: Path, *arguments: str) -> list[dict[str, object]]:
    out = tmp_path / "out.jsonl"
    call_command(
        "export_timelines",
        "--dataset",
        "cohort",
        "--format",
        "jsonl",
        "--out",
        str(out),
        *arguments,
        stdout=StringIO(),
    )
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]


def test_exports_of_variants_share_their_identifiers_or_have_none(
    backbone, base, dataset, tmp_path
):
    for variant in DERIVED:
        finish_run(dataset, variant, base)
    uids = set(
        Inventory.objects.filter(encounter__case_id="a")
        .get()
        .occurrences.values_list("uid4", flat=True)
    )
    for line in export(tmp_path, "--cases", "a"):
        assert line["uid4"] in uids
        assert not (line["source"] == "rules/no_rows" and line["evidence"])
    lines = export(tmp_path, "--cases", "a", "--source", "rules/no_uid")
    assert [
        (x["uid4"], x["mention"], x["start"], x["evidence"])
        for x in lines
        if x["kind"] == "revised"
    ] == [(None, "apixaban taken", None, [])] * 3


@pytest.fixture
def reader(dataset, client):
    user = factories.make_user(dataset.study, Role.ADMIN)
    client.force_login(user)
    return client


def test_pages_show_a_timeline_without_identifiers(backbone, base, dataset, reader):
    run = finish_run(dataset, Variant.NO_UID, base)
    encounter = dataset.encounters.get(case_id="a")
    timeline = Timeline.objects.get(
        case_run__run=run, encounter=encounter, kind="revised", alternative=1
    )
    page = reader.get(
        reverse("timelines:case", args=[encounter.public_id]), {"t": timeline.public_id}
    ).content.decode()
    assert '"row-0"' in page
    assert "apixaban taken" in page
    missing = reader.get(
        reverse("timelines:chain", args=[encounter.public_id, "0000"]), {"t": timeline.public_id}
    )
    assert missing.status_code == 404, "no identifier, no chain"
    page = reader.get(reverse("timelines:run", args=[run.public_id])).content.decode()
    assert reverse("timelines:run", args=[base.public_id]) in page
    assert "taken over" in page


def test_the_chain_says_that_revision_saw_summaries(backbone, base, dataset, reader):
    run = finish_run(dataset, Variant.NO_ROWS, base)
    encounter = dataset.encounters.get(case_id="a")
    timeline = Timeline.objects.get(
        case_run__run=run, encounter=encounter, kind="revised", alternative=1
    )
    uid = timeline.inventory.occurrences.get(mention__startswith="reversal").uid4
    page = reader.get(
        reverse("timelines:chain", args=[encounter.public_id, uid]), {"t": timeline.public_id}
    ).content.decode()
    assert "Revision used the summaries of the selected series" in page
    assert "1 of 2 kept" in page


def test_an_admin_launches_several_variants_on_one_run(backbone, hints, dataset, reader):
    form = {
        "dataset": dataset.public_id,
        "backbone": "rules",
        "preset": "default",
        "set_alternatives": "2",
        "variant": ["no_uid", "no_rows"],
    }
    refused = reader.post(reverse("timelines:run_new"), form).content.decode()
    assert "Choose the run that they are based on" in refused
    base = finish_run(dataset, Variant.FULL)
    assert base.public_id in reader.get(reverse("timelines:run_new")).content.decode()
    answer = reader.post(reverse("timelines:run_new"), {**form, "based_on": base.public_id})
    assert (answer.status_code, answer["Location"]) == (302, reverse("timelines:runs"))
    runs = Run.objects.filter(based_on=base)
    assert sorted(runs.values_list("variant", flat=True)) == ["no_rows", "no_uid"]
    assert {r.config["alternatives"] for r in runs} == {2}
    elsewhere = factories.make_dataset(dataset.study)
    factories.make_note(factories.make_encounter(elsewhere), NOTE)
    refused = reader.post(
        reverse("timelines:run_new"),
        {**form, "dataset": elsewhere.public_id, "based_on": base.public_id},
    )
    assert "is over another dataset" in refused.content.decode()


def test_a_case_opens_with_its_study_timeline_and_offers_other_runs_and_variants_after_it(
    backbone, hints, dataset
):
    first = finish_run(dataset, Variant.FULL)
    second = finish_run(dataset, Variant.FULL)
    finish_run(dataset, Variant.NO_UID, second)
    finish_run(dataset, Variant.NO_ROWS, second)
    Run.objects.filter(pk=first.pk).update(created_at=datetime(2026, 2, 3, 4, 5, tzinfo=UTC))
    choices = load_choices(dataset.encounters.get(case_id="a"))
    assert [g.is_study for g in choices.groups] == [True, False, False, False]
    owners = [CaseRun.objects.get(pk=g.best.case_run_id).run for g in choices.groups]
    assert owners[:2] == [first, second]
    assert [run.variant for run in owners[2:]] == ["no_uid", "no_rows"]
    begun = second.created_at.strftime("%Y-%m-%d %H:%M")
    assert [g.label for g in choices.groups[:2]] == [
        "Study timeline: rules",
        f"Other run: rules, {begun} UTC",
    ]
    labels = [label for _, label in label_choices(choices)]
    assert len(set(labels)) == len(labels)
    assert choices.default is choices.groups[0].best
