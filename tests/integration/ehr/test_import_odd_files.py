"""Links to nothing, folders and pipes are refused by name.

The other files are imported.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from accounts.models import Study
from ehr.models import Encounter, RejectedRow
from tests.import_fuzz.worlds import WORLDS
from tests.integration.ehr.test_import_fuzz import bring

pytestmark = pytest.mark.django_db

#: Something that looks like a file of the format, and what a refusal calls it.
EXTRA = {
    "csv": [("zz.csv", "zz.csv"), ("zz.txt", "zz.txt"), ("encounters.csv", "encounters.csv")],
    "meds": [
        ("data/zz.parquet", "zz"),
        ("metadata/codes.parquet", "metadata/codes.parquet"),
    ],
    "mimic_iv": [
        ("note/discharge.csv", "note/discharge"),
        ("hosp/labevents.csv", "hosp/labevents"),
    ],
    "omop": [("note.csv", "note.csv"), ("death.csv", "death.csv"), ("concept.csv", "concept.csv")],
    "text": [
        ("zz.txt", "zz.txt"),
        ("a__2050-01-05T09-00.txt", "a__2050"),
        ("index.csv", "index.csv"),
    ],
}
NO_LINK, NO_FILE = "the link leads to no file", "it is no regular file"
#: How it is made, and why it is refused.
KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to nothing": (lambda path: path.symlink_to("annex/not-fetched"), NO_LINK),
    "a link to itself": (lambda path: path.symlink_to(path.name), NO_LINK),
    "a folder": (lambda path: path.mkdir(), "a folder is in the place of the file"),
    "a pipe": (lambda path: os.mkfifo(path), NO_FILE),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("format", "place", "name"), [(f, place, name) for f in EXTRA for place, name in EXTRA[f]]
)
def test_what_is_no_file_is_refused_by_name(tmp_path, format, place, name, kind):
    Study.objects.get_or_create(name="fuzz")
    root = tmp_path / "input"
    WORLDS[format](root)
    for there in (root / place, root / f"{place}.gz"):
        there.unlink(missing_ok=True)
    (root / place).parent.mkdir(parents=True, exist_ok=True)
    KINDS[kind][0](root / place)
    rejected, summary = bring(format, root)
    assert rejected, summary
    refused = RejectedRow.objects.filter(file__contains=name).values_list("reason", flat=True)
    assert {reason.split(";")[0] for reason in refused} == {KINDS[kind][1]}
    # Without these no case knows its time zero or its notes.
    if place not in ("encounters.csv", "index.csv"):
        assert Encounter.objects.exists()
