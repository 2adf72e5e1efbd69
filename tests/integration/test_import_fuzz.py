"""Imports of arbitrary bytes: whatever the files hold, the import ends, good cases are there, and no text of them is logged."""

import contextlib
import io
import json
import logging
import shutil
import tempfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from accounts.models import Study
from config.env import BASE_DIR
from config.logging import JsonFormatter
from ehr.actions import import_dataset
from ehr.models import Encounter, RejectedRow, SourceRow
from tests.integration.ehr_cases import ROWS, write_case

CANARY = "QXCANARYQX"
CELLS = st.one_of(
    st.sampled_from(
        [
            "2150-01-01T08:00:00",
            "2150-02-30",
            "lab:na:blood",
            "140",
            "",
            " ",
            "1e999",
            "-0",
            "NaN",
            "collection",
            '"',
            "''",
            "\\N",
            "\\.",
            "\\",
        ]
    ),
    st.text(max_size=8),
)
LINES = st.lists(st.lists(CELLS, min_size=1, max_size=7), max_size=8)
DAMAGE = st.one_of(
    st.binary(max_size=200),
    LINES.map(lambda lines: "\n".join(["t,event,value", *(",".join(cells) for cells in lines)]).encode("utf-8", "surrogatepass")),
    LINES.map(lambda lines: ROWS.encode() + "\n".join(",".join(cells) for cells in lines).encode("utf-8", "surrogatepass")),
)
FILES = st.sampled_from(["rows.csv", "note.txt", "encounter.json", "rows.csv.gz", "rows.parquet"])


class AnyBytes(TestCase):
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(FILES, DAMAGE)
    @example("rows.csv", b"\x00")
    def test_any_bytes_in_any_file(self, name, content):
        root = Path(tempfile.mkdtemp())
        try:
            write_case(root, "good")
            bad = write_case(root, "odd")
            if name.startswith("rows"):
                (bad / "rows.csv").unlink()
            (bad / name).write_bytes(content)
            study, _ = Study.objects.get_or_create(name="fuzz")
            report = import_dataset(path=root, format="cases", name="cohort", study=study, by=None)
        finally:
            shutil.rmtree(root)
        assert Encounter.objects.filter(case_id="good").count() == 1
        assert report.imported + report.refused == 2
        assert report.rejected == RejectedRow.objects.count()
        assert report.clean or report.rejected
        odd = Encounter.objects.exclude(case_id="good").first()
        if odd is not None:
            assert odd.row_count == SourceRow.objects.filter(encounter=odd).count()
            timed = set(SourceRow.objects.filter(encounter=odd, time__isnull=False).values_list("row_index", flat=True))
            assert timed == {i for series in odd.series.all() for i in series.row_indices}

    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20), min_size=1, max_size=10))
    def test_any_text_comes_back_as_it_was(self, values):
        root = Path(tempfile.mkdtemp())
        try:
            lines = ['2150-01-01T08:00:00,"e","' + value.replace('"', '""') + '"' for value in values]
            write_case(root, rows="\n".join(["t,event,value", *lines, ""]))
            study, _ = Study.objects.get_or_create(name="fuzz")
            import_dataset(path=root, format="cases", name="cohort", study=study, by=None)
        finally:
            shutil.rmtree(root)
        stored = list(SourceRow.objects.order_by("row_index").values_list("value", flat=True))
        assert [text.split() for text in stored] == [value.split() for value in values]


@pytest.mark.django_db
def test_no_text_of_the_files_reaches_a_log_or_the_terminal(tmp_path, capsys):
    rows = ROWS + f"{CANARY},{CANARY},{CANARY},,,\n2150-01-01,{CANARY},{CANARY},{CANARY},{CANARY},{CANARY}\n{CANARY}\n"
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
    assert all(json.loads((folder / "encounter.json").read_text(encoding="utf-8"))["case_id"] == folder.name for folder in folders)
