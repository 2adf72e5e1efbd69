"""Import mutated inputs through the whole command.

The database agrees with the files, and none of their text is logged.
"""

import contextlib
import io
import json
import logging
import random
import shutil
import tempfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models import Count
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from accounts.models import Study
from config.env import BASE_DIR
from config.logging import JsonFormatter
from ehr.actions import import_dataset
from ehr.models import Encounter, Note, RejectedRow, SourceRow
from tests.import_fuzz.balance import read_outcome
from tests.import_fuzz.mutations import mutate
from tests.import_fuzz.worlds import WORLDS
from tests.marks import deep
from tests.worlds.ehr_cases import ROWS, write_case
from timelines.models import Timeline

CANARY = "QXCANARYQX"
#: Mutations through the whole command; tests/unit/ehr/test_import_fuzz.py has many more of its
#: reading.
MUTATIONS = 4
BASE_SEED = 411_000


def check(format: str, seed: int) -> None:
    """Import a mutated input twice and compare with what its readers say.

    A failure prints the seed to repeat it.
    """
    chance = random.Random(f"{format} {seed}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "input"
        WORLDS[format](root)
        what = mutate(root, chance)
        compare(format, root, f"seed {seed} ({what})")


def compare(format: str, root: Path, what: str) -> None:
    """Import an input twice; a failure says `what` it is."""
    with transaction.atomic():
        try:
            rows, notes, rejections = read_outcome(format, root)
            first = bring(format, root)
            there = dict(Encounter.objects.annotate(n=Count("rows")).values_list("case_id", "n"))
            hooks = RejectedRow.objects.filter(file__endswith="/reference.jsonl").count()
            assert there == rows
            # A second note of the same kind is rejected only when it is stored.
            assert Note.objects.count() + RejectedRow.objects.count() - hooks == notes + rejections
            assert first[0] == bool(RejectedRow.objects.exists())
            assert f"; {RejectedRow.objects.count()} rejected" in first[1]
            if "one" in rows and (root / "one" / "reference.jsonl").is_file():
                assert bool(hooks) != Timeline.objects.filter(encounter__case_id="one").exists()
            before = list(
                RejectedRow.objects.order_by("file", "line", "field").values_list(
                    "file", "line", "field", "reason"
                )
            )
            assert bring(format, root)[0] == first[0]
            assert (
                dict(Encounter.objects.annotate(n=Count("rows")).values_list("case_id", "n"))
                == rows
            )
            assert (
                list(
                    RejectedRow.objects.order_by("file", "line", "field").values_list(
                        "file", "line", "field", "reason"
                    )
                )
                == before
            )
        except FormatUnknown:
            assert not Encounter.objects.exists()
        except Exception as error:
            raise AssertionError(f"{format}, {what}: {error!r}") from error
        finally:
            transaction.set_rollback(True)


class FormatUnknown(Exception):
    """The command refused the path as a whole."""


def bring(format: str, root: Path) -> tuple[bool, str]:
    """(whether the command reported rejections, what it printed)."""
    out = io.StringIO()
    try:
        call_command(
            "import_dataset",
            format=format,
            path=root,
            name="fuzz",
            study="fuzz",
            stdout=out,
            stderr=io.StringIO(),
        )
    except CommandError as error:
        if "Some data was rejected" not in str(error):
            raise FormatUnknown from None
        return True, out.getvalue()
    return False, out.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize("first", [BASE_SEED, *deep(BASE_SEED + MUTATIONS)])
@pytest.mark.parametrize("format", WORLDS)
def test_mutated_inputs_through_the_command(format, first):
    for i in range(MUTATIONS):
        check(format, first + i)


@pytest.mark.django_db
def test_a_note_file_that_ends_with_a_stray_quotation_mark(tmp_path):
    """It failed once, in a mutation."""
    root = tmp_path / "input"
    WORLDS["mimic_iv"](root)
    notes = root / "note" / "discharge.csv"
    notes.write_bytes(notes.read_bytes().removesuffix(b"\n") + b'"\n')
    compare("mimic_iv", root, "a stray quotation mark")


@pytest.mark.deep
@pytest.mark.django_db
@pytest.mark.parametrize("format", WORLDS)
def test_fresh_mutations_through_the_command(format):
    base = random.SystemRandom().randrange(1 << 40)
    print(f"base seed {base}")
    for i in range(250):
        check(format, base + i)


class AnyText(TestCase):
    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.lists(
            st.text(
                st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20
            ),
            min_size=1,
            max_size=10,
        )
    )
    def test_any_text_comes_back_as_it_was(self, values):
        root = Path(tempfile.mkdtemp())
        try:
            lines = [
                '2150-01-01T08:00:00,"e","' + value.replace('"', '""') + '"' for value in values
            ]
            write_case(root, rows="\n".join(["t,event,value", *lines, ""]))
            study, _ = Study.objects.get_or_create(name="fuzz")
            import_dataset(path=root, format="cases", name="cohort", study=study, by=None)
        finally:
            shutil.rmtree(root)
        stored = list(SourceRow.objects.order_by("row_index").values_list("value", flat=True))
        assert [text.split() for text in stored] == [value.split() for value in values]


@pytest.mark.django_db
def test_no_text_of_the_files_reaches_a_log_or_the_terminal(tmp_path, capsys):
    rows = (
        ROWS
        + f"{CANARY},{CANARY},{CANARY},,,\n2150-01-01,{CANARY},{CANARY},{CANARY},{CANARY},{CANARY}\n{CANARY}\n"
    )
    write_case(tmp_path, "c1", note=CANARY, rows=rows, title=CANARY)
    write_case(tmp_path, "c2", note=CANARY, title=CANARY, admitted_at=CANARY, anchor=CANARY)
    (write_case(tmp_path, "c3") / "encounter.json").write_text(f'{{"case_id": {CANARY}')
    (write_case(tmp_path, "c4") / "rows.csv").write_bytes(CANARY.encode() + b"\xff,event,value\n")
    (write_case(tmp_path, "c5") / "rows.csv").write_text(f"{CANARY},{CANARY}\n")
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.getLogger().addHandler(handler)
    try:
        with contextlib.suppress(CommandError):
            call_command("import_dataset", format="cases", path=tmp_path, name="x")
    finally:
        logging.getLogger().removeHandler(handler)
    shown = capsys.readouterr()
    assert "c1/rows.csv" in shown.out
    assert CANARY not in stream.getvalue() + shown.out + shown.err
    assert RejectedRow.objects.filter(raw__contains=CANARY).exists()


def test_the_shipped_cohort_is_in_the_format():
    folders = [p for p in (BASE_DIR / "demo" / "cohort").iterdir() if p.is_dir()]
    assert len(folders) == 12
    assert all(
        json.loads((folder / "encounter.json").read_text(encoding="utf-8"))["case_id"]
        == folder.name
        for folder in folders
    )
