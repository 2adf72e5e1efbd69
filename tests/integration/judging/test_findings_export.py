"""All findings as files.

The content of a line, what is left out without text, safety in spreadsheets, and the audit event.
"""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as pq
import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, Role
from adjudication import export_files
from adjudication.findings import export as findings_export
from adjudication.models import Finding
from tests import factories
from tests.worlds.judged import make_judged_world

pytestmark = pytest.mark.django_db(transaction=True)
TEXTS = {"a_event", "b_event", "note_evidence", "table_evidence", "reason"}


@pytest.fixture
def world():
    return make_judged_world(cases=2, swap=True)


@pytest.fixture
def fetched(world):
    """Gets a file of the world's findings as an admin of its study."""
    client = Client()
    client.force_login(factories.make_user(world.study, Role.ADMIN, username="the-admin"))

    def fetch(format: str, *, text: bool = False) -> bytes:
        address = reverse("adjudication:findings_download", args=[world.run.public_id, format])
        response = client.get(address, {"text": "1"} if text else {})
        assert response.status_code == 200
        assert world.run.public_id in response["Content-Disposition"]
        return b"".join(response.streaming_content)

    return fetch


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def test_every_finding_is_a_line_and_its_charge_is_told_by_source(world, fetched):
    by_finding = {row["finding"]: row for row in rows(fetched("csv", text=True))}
    assert len(by_finding) == Finding.objects.filter(game__run=world.run).count() > 0
    for f in Finding.objects.filter(game__run=world.run).select_related(
        "game__comparison__first", "game__comparison__second"
    ):
        row = by_finding[f.public_id]
        first, second = row["first_source"], row["second_source"]
        assert first == f"{f.game.comparison.first.source} · revised"
        assert (row["a_source"], row["b_source"]) == (
            (first, second) if f.game.a_is_first else (second, first)
        )
        assert row["swapped"] == str(f.game.swapped).lower()
        if f.category:
            # The charged side is the one that is judged wrong.
            assert {row["charged_source"], row["right_source"]} == {first, second}
            assert row["charged_source"] == (first if f.charged_first else second)
        else:
            assert (row["charged_source"], row["points"]) == ("", "")
    by_category = {row["category"]: row["points"] for row in by_finding.values()}
    assert by_category["over_annotation"] == "3.0"
    assert by_category["missed_negative"] == "0.5"


def test_without_text_no_word_of_note_timelines_or_judge_leaves(world, fetched):
    for format in export_files.FORMATS:
        content = fetched(format)
        for secret in (
            b"Fever for three days",
            b"Denies chest pain",
            b"fractured hip",
            b"the stand-in says so",
            b"lab:lactate",
        ):
            assert secret not in content, format
    assert not TEXTS & set(rows(fetched("csv"))[0])
    assert set(rows(fetched("csv", text=True))[0]) > TEXTS
    with_text = fetched("jsonl", text=True).decode()
    assert "Fever for three days" in with_text


def test_the_three_formats_hold_the_same_values(fetched):
    by_json = [json.loads(line) for line in fetched("jsonl", text=True).splitlines()]
    by_parquet = pq.read_table(io.BytesIO(fetched("parquet", text=True))).to_pylist()
    assert by_parquet == by_json
    by_csv = rows(fetched("csv", text=True))
    assert [row["finding"] for row in by_csv] == [row["finding"] for row in by_json]
    assert [row["a_time"] for row in by_csv] == [
        "" if row["a_time"] is None else str(row["a_time"]) for row in by_json
    ]


def test_cells_that_a_spreadsheet_would_run_are_made_safe(world, fetched):
    # A finding never changes: one more is added, with words that begin like formulas.
    game = world.run.games.first()
    one_sided = {
        "type": "A_ONLY",
        "verdict": "UNCLEAR",
        "relation": "added_detail",
        "polarity": "present",
        "grounding": "NONE",
    }
    Finding.objects.create(
        game=game, ordinal=99, a_event="=1+1", reason="@SUM(A1)", a_time=-3, **one_sided
    )
    row = next(r for r in rows(fetched("csv", text=True)) if r["ordinal"] == "99")
    assert (row["a_event"], row["reason"], row["a_time"]) == ("'=1+1", "'@SUM(A1)", "-3")
    line = next(
        json.loads(x)
        for x in fetched("jsonl", text=True).splitlines()
        if json.loads(x)["ordinal"] == 99
    )
    assert line["a_event"] == "=1+1"


def test_parquet_goes_out_in_row_groups_that_read_as_one_table(world, monkeypatch):
    from adjudication.access.closed import ClosedObjects

    monkeypatch.setattr(export_files, "ROW_GROUP", 7)
    found = findings_export.find_exportable_findings(
        world.run, ClosedObjects(frozenset(), frozenset())
    )
    parts = list(
        export_files.write_parquet(
            findings_export.lines(world.run, found), findings_export.columns(with_text=False)
        )
    )
    assert len(parts) > 3
    table = pq.ParquetFile(io.BytesIO(b"".join(parts)))
    assert table.num_row_groups == len(parts) - 1
    assert table.metadata.num_rows == found.count()
    assert table.schema_arrow.field("a_time").metadata[b"unit"] == b"hours"


def test_the_dictionary_tells_every_column(fetched):
    for text in (False, True):
        described = [row["column"] for row in rows(fetched("dictionary", text=text))]
        assert described == list(rows(fetched("csv", text=text))[0])


def test_the_dictionary_says_which_cells_of_a_csv_file_may_have_an_apostrophe_more(fetched):
    meanings = {row["column"]: row["meaning"] for row in rows(fetched("dictionary", text=True))}
    marked = {
        column for column, meaning in meanings.items() if "take one apostrophe away" in meaning
    }
    sources = {
        "first_source",
        "second_source",
        "a_source",
        "b_source",
        "right_source",
        "charged_source",
    }
    assert marked == {*TEXTS, *sources, "judge", "dataset", "case_id"}


def test_the_trail_says_who_took_what_and_whose_cases_were_seen(world, fetched):
    fetched("jsonl", text=True)
    event = AuditEvent.objects.get(action="findings.export")
    assert event.detail == {
        "format": "jsonl",
        "text": True,
        "findings": Finding.objects.filter(game__run=world.run).count(),
    }
    seen = AuditEvent.objects.filter(action="case.unblinded").values_list("object_id", flat=True)
    assert sorted(seen) == sorted(e.public_id for e in world.encounters)


def test_findings_of_closed_cases_stay_away(world):
    from adjudication.access.closed import ClosedObjects

    closed = ClosedObjects(frozenset({world.encounters[0].pk}), frozenset())
    cases = set(
        findings_export.find_exportable_findings(world.run, closed).values_list(
            "game__comparison__encounter", flat=True
        )
    )
    assert cases == {world.encounters[1].pk}


def test_a_format_that_there_is_not_is_not_found(world):
    client = Client()
    client.force_login(factories.make_user(world.study, Role.ADMIN))
    assert (
        client.get(
            reverse("adjudication:findings_download", args=[world.run.public_id, "xlsx"])
        ).status_code
        == 404
    )
