"""A preset and single settings, in the browser and on the command line."""

from __future__ import annotations

from dataclasses import fields

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.models import Role
from llm_runtime.providers.lexical import LexicalReranker
from tests import factories
from tests.support.pages import extract_text
from timelines.models import Run
from timelines.pipeline.config import (
    PUBLISHED,
    PipelineConfig,
    Preset,
    describe_preset,
    preset_config,
)
from timelines.pipeline.retrieval import rho_threshold
from timelines.pipeline.setting_words import SETTING_WORDS
from timelines.runs.bases import based_config

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset():
    encounter = factories.make_encounter()
    factories.make_note(encounter, "Fever.")
    return encounter.dataset


@pytest.fixture
def launch(client, dataset):
    client.force_login(factories.make_user(dataset.study, Role.ADMIN))

    def launch_(**values: str) -> str:
        asked = {"dataset": dataset.public_id, "backbone": "rules", "variant": "full", **values}
        return extract_text(client.post(reverse("timelines:run_new"), asked, follow=True))

    return launch_


def reconstruct(dataset, *arguments: str) -> Run:
    call_command(
        "reconstruct", "--dataset", dataset.name, "--study", dataset.study.name, *arguments
    )
    return Run.objects.get()


def test_every_setting_has_its_words():
    assert set(SETTING_WORDS) == {f.name for f in fields(PipelineConfig)} - {*("variant", "preset")}


def test_the_published_preset_differs_from_the_default_as_it_says():
    published = preset_config(Preset.PUBLISHED)
    assert published.departures(Preset.DEFAULT) == dict(PUBLISHED)
    assert (published.preset, PipelineConfig().preset) == (Preset.PUBLISHED, Preset.DEFAULT)


def test_a_launch_takes_a_preset_and_replaces_single_settings(launch):
    said = launch(preset="published", set_case_row_cap="50", set_cite_rows="yes")
    run = Run.objects.get()
    config = PipelineConfig.from_dict(run.config)
    assert config == preset_config(Preset.PUBLISHED, case_row_cap=50, cite_rows=True)
    assert run.source == "rules/published"
    assert describe_preset(run.config) == "published, with case_row_cap = 50, cite_rows = True"
    assert "published, with case_row_cap = 50, cite_rows = True" in said


def test_fields_left_empty_are_those_of_the_preset(launch):
    said = launch(preset="default", set_evidence_tokens="", set_query_context="")
    assert PipelineConfig.from_dict(Run.objects.get().config) == PipelineConfig()
    assert "default, no departures" in said


def test_a_budget_and_a_threshold_can_be_none_in_the_browser(launch):
    said = launch(preset="default", set_evidence_tokens="none")
    run = Run.objects.get()
    assert run.config["evidence_tokens"] is None
    assert "default, with evidence_tokens = none" in said
    run.delete()
    launch(preset="published", set_rho_threshold="None", set_evidence_tokens="9000")
    run = Run.objects.get()
    assert (run.config["rho_threshold"], run.config["evidence_tokens"]) == (None, 9000)
    assert describe_preset(run.config) == (
        "published, with rho_threshold = none, evidence_tokens = 9000"
    )


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("set_evidence_tokens", "many", "Enter a whole number, or none."),
        ("set_evidence_tokens", "1.5", "Enter a whole number, or none."),
        ("set_evidence_tokens", "0", "evidence_tokens must be greater than or equal to 1"),
        ("set_rho_threshold", "nan", "Enter a number from 0, or none."),
        ("set_rho_threshold", "2", "rho_threshold must be less than or equal to 1"),
    ],
)
def test_other_words_than_none_are_refused_in_the_browser(launch, field, value, words):
    assert words in launch(preset="default", **{field: value})
    assert not Run.objects.exists()


def test_a_command_takes_none_and_the_constants_of_the_protocol(dataset):
    run = reconstruct(
        dataset,
        *("--set", "evidence_tokens=none", "--set", "cited_rows=2", "--set", "cited_hours=0.1"),
        *("--set", "rows_per_history=2", "--set", "tkw2_rows=7", "--set", "tkw2_times=4"),
        *("--set", "single_step_tokens=8000"),
    )
    assert PipelineConfig.from_dict(run.config).departures() == {
        "evidence_tokens": None,
        "cited_rows": 2,
        "cited_hours": 0.1,
        "rows_per_history": 2,
        "tkw2_rows": 7,
        "tkw2_times": 4,
        "single_step_tokens": 8000,
    }


def test_the_preset_is_the_one_that_was_chosen_whatever_the_settings(launch):
    """The nearest preset is the default: four of its settings were chosen."""
    said = launch(
        preset="published",
        set_query_context="names",
        set_query_batch_size="180",
        set_evidence_tokens="24000",
        set_cite_rows="yes",
    )
    run = Run.objects.get()
    assert run.config["preset"] == "published"
    assert "published, with query_context = names" in said
    before = {name: value for name, value in run.config.items() if name != "preset"}
    assert PipelineConfig.from_dict(before).preset is Preset.DEFAULT


def test_the_published_threshold_is_that_of_the_paper_under_any_reranker(launch):
    launch(preset="published")
    run = Run.objects.get()
    config = PipelineConfig.from_dict(run.config)
    reranker = LexicalReranker()
    assert reranker.threshold != 0.05
    assert rho_threshold(reranker, config) == 0.05
    assert (run.source, config.own_rho) == ("rules/published", None)


def test_a_threshold_beside_the_preset_s_is_part_of_the_source(dataset):
    run = reconstruct(dataset, "--preset", "published", "--rho", "0.2")
    assert run.source == "rules/published/rho=0.2"
    assert describe_preset(run.config) == "published, with rho_threshold = 0.2"


def test_a_run_on_a_published_run_has_its_preset_and_threshold(dataset):
    base = reconstruct(dataset, "--preset", "published", "--rho", "0.2")
    derived = based_config(base, variant="no_rows")
    assert (derived.preset, derived.rho_threshold) == (Preset.PUBLISHED, 0.05)
    del base.config["preset"]
    assert based_config(base, variant="no_rows").rho_threshold is None


def test_settings_that_exclude_each_other_start_no_run(launch):
    said = launch(preset="default", set_min_queries="3", set_max_queries="1")
    assert "These settings do not fit together" in said
    assert not Run.objects.exists()


def test_a_command_takes_the_same(dataset):
    run = reconstruct(
        dataset,
        *("--preset", "published", "--set", "query_context=names", "--set", "evidence_tokens=9000"),
    )
    assert PipelineConfig.from_dict(run.config) == preset_config(
        Preset.PUBLISHED, query_context="names", evidence_tokens=9000
    )


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("rows=3", "--set takes NAME=VALUE, with one of these names: seed"),
        ("alternatives", "--set takes NAME=VALUE"),
        ("alternatives=0", "alternatives must be greater than or equal to 1"),
        ("cite_rows=maybe", "cite_rows"),
    ],
)
def test_a_command_names_the_setting_that_it_cannot_use(dataset, setting, words):
    with pytest.raises(CommandError, match=words):
        reconstruct(dataset, "--set", setting)
    assert not Run.objects.exists()
