"""The line that says what a stay is, stored by imports and by the command."""

from __future__ import annotations

import shutil

import pytest
from django.core.management import call_command

from accounts.models import Study
from config.env import BASE_DIR
from ehr.actions import import_dataset
from ehr.models import Encounter
from tests.paths import DEMO

MIMIC = BASE_DIR / "tests" / "data" / "ehr" / "mimic_iv"


@pytest.fixture
def bring(db):
    study = Study.objects.create(name="imports")
    return lambda path, format: import_dataset(
        path=path, format=format, name=format, study=study, by=None
    )


def _lines() -> dict[str, tuple[str, str]]:
    return {e.case_id: (e.headline, e.unit) for e in Encounter.objects.all()}


def test_an_imported_case_says_what_it_is(bring, capsys):
    bring(DEMO / "intro", "cases")
    line = ("74 M · Intracerebral haemorrhage on apixaban · 4 d 6 h · to rehab", "Neuro SICU")
    assert _lines() == {"intro-ich": line}

    Encounter.objects.update(headline="", unit="")
    call_command("store_headlines", "--study=imports")
    assert _lines() == {"intro-ich": line}
    assert capsys.readouterr().out == "1 case changed.\n"
    call_command("store_headlines")
    assert capsys.readouterr().out == "0 cases changed.\n"


def test_a_streamed_stay_says_what_its_rows_say_and_then_what_its_note_says(bring, tmp_path):
    root = tmp_path / "mimic"
    shutil.copytree(MIMIC, root, ignore=shutil.ignore_patterns("note"))
    bring(root, "mimic_iv")
    duodenal = "Duodenal ulcer with hemorrhage · 5 d 18 h · home"
    assert _lines()["20338077"] == (duodenal, "MICU")
    assert _lines()["27882036"][0].endswith(" · 7 d 18 h · to a nursing facility")

    shutil.copytree(MIMIC / "note", root / "note")
    note = next((root / "note").iterdir())
    text = note.read_text()
    note.write_text(text.replace("Lactate was", "59F w/ heavy drinking p/w hematemesis. Lactate"))
    bring(root, "mimic_iv")
    assert _lines()["20338077"] == ("59 F · Hematemesis · 5 d 18 h · home", "MICU")
