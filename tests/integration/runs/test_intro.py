"""The introductory case from files to both timelines.

The backbone, embedder and database are real.
"""

from __future__ import annotations

import json

import pytest

from tests.paths import DEMO
from tests.worlds.kept import build_once
from tests.worlds.reconstructed import import_folder, run_inline
from timelines.models import Entry, Evidence, Run, StageBatch, Timeline
from timelines.pipeline.config import Variant

#: One of pytest-xdist's workers reconstructs the case.
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    pytest.mark.xdist_group("intro run"),
]


@build_once
def run_intro() -> Run:
    """A run over the imported case."""
    return run_inline(import_folder(DEMO / "intro"))


def reversal(run: Run, kind: str, alternative: int = 1) -> Entry:
    """The reversal agent's entry in a timeline of the run."""
    timeline = Timeline.objects.get(case_run__run=run, kind=kind, alternative=alternative)
    return timeline.entries.select_related("occurrence").get(
        occurrence__mention__icontains="reversal agent"
    )


def test_the_administration_row_moves_the_reversal_agent_and_its_identifier_stays():
    run = run_intro()
    text_only, revised = reversal(run, "text_only"), reversal(run, "revised")
    assert text_only.time == pytest.approx(1.5, abs=0.25)
    assert revised.time == pytest.approx(6.5, abs=0.02)
    assert revised.occurrence.uid4 == text_only.occurrence.uid4
    assert revised.occurrence_id == text_only.occurrence_id
    (row_index,) = revised.adopted_rows
    evidence = Evidence.objects.select_related("candidate__query").get(
        candidate__query__occurrence=revised.occurrence,
        candidate__query__case_run__run=run,
        row_index=row_index,
    )
    assert (evidence.event, evidence.time_kind, evidence.hours) == (
        "med:andexanet alfa:start",
        "administration",
        6.5,
    )
    assert "andexanet" in evidence.candidate.query.text
    assert evidence.candidate.kept
    orders = Evidence.objects.filter(
        candidate__query__occurrence=revised.occurrence, event="order:andexanet alfa:start"
    )
    assert [o.hours for o in orders] == [1.2], (
        "the order was seen, and not taken for the administration"
    )


def test_every_case_gets_three_complete_alternatives_over_one_inventory():
    run = run_intro()
    (case_run,) = run.cases.all()
    size = case_run.inventory.occurrences.count()
    timelines = Timeline.objects.filter(case_run=case_run).order_by("kind", "alternative")
    assert [(t.kind, t.alternative) for t in timelines] == [
        ("revised", 1),
        ("revised", 2),
        ("revised", 3),
        ("text_only", 1),
    ]
    assert {t.entries.count() for t in timelines} == {size}
    assert case_run.inventory.sealed_at is not None
    provenance = StageBatch.objects.get(stage_run__case_run=case_run, stage_run__stage="provenance")
    assert provenance.payload["chains"] == size


def test_the_reference_comes_with_the_case():
    dataset = import_folder(DEMO / "intro")
    reference = Timeline.objects.get(encounter__dataset=dataset, kind="reference")
    lines = [
        json.loads(line)
        for line in (DEMO / "intro/intro-ich/reference.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    ]
    entries = list(reference.entries.order_by("occurrence__ordinal").select_related("occurrence"))
    assert [(e.occurrence.start, e.occurrence.end, e.time, e.adopted_rows) for e in entries] == [
        (x["start"], x["end"], x["time"], x["rows"]) for x in lines
    ]
    assert [e.occurrence.polarity for e in entries] == [x["polarity"] for x in lines]
    lanes = {e.occurrence.mention: e.occurrence.lane for e in entries}
    assert lanes["nicardipine started"] == "medication"
    assert lanes["INR 1.4"] == "lab"
    assert lanes["discharged to a rehabilitation hospital"] == "transfer"


def test_a_second_run_repeats_the_first_and_unimodal_is_its_beginning():
    first = run_intro()
    second = run_inline(first.dataset)
    unimodal = run_inline(first.dataset, Variant.UNIMODAL)

    def entries(run: Run, kind: str) -> list[tuple]:
        found = Entry.objects.filter(timeline__case_run__run=run, timeline__kind=kind)
        stated = (
            "occurrence__uid4",
            "occurrence__mention",
            "time",
            "lower",
            "upper",
            "known",
            "context",
            "adopted_rows",
        )
        return list(
            found.order_by("timeline__alternative", "occurrence__ordinal").values_list(
                "timeline__alternative", *stated
            )
        )

    assert entries(first, "revised") == entries(second, "revised") != []
    assert entries(first, "text_only") == entries(unimodal, "text_only")
    assert entries(unimodal, "revised") == []
    assert unimodal.source == "rules/unimodal"
    assert [s.stage for s in unimodal.cases.get().stages.order_by("pk")] == [
        "tag",
        "uids",
        "infer",
        "provenance",
    ]
