"""A preset and single settings, in the browser and on the command line."""

from __future__ import annotations

from dataclasses import fields

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.models import Role
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
from timelines.pipeline.setting_words import SETTING_WORDS

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
    assert set(SETTING_WORDS) == {f.name for f in fields(PipelineConfig)} - {"variant"}


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
