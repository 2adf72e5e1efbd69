"""Frictionless validates exported tables and finds damage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq
import pytest
from frictionless import Report, Resource, Schema, system
from hypothesis import HealthCheck, given, settings

from tests.unit.timelines.formats.cohorts import bare_case, cohorts
from tests.unit.timelines.formats.foreign_cases import case_lines
from timelines.formats.columns import write_parquet
from timelines.formats.lines import CaseLines, Cited
from timelines.formats.table_schema import table_schema
from timelines.formats.tables.writer import write_csv


def validate(folder: Path, cases: list[CaseLines]) -> Report:
    """Write the table and check it as `frictionless validate --schema` does."""
    write_csv(cases, folder / "t.csv", with_note_text=True)
    return check(folder / "t.csv")


def check(table: Path) -> Report:
    with system.use_context(trusted=True):
        schema = Schema.from_descriptor(str(table.with_name(f"{table.name}.schema.json")))
        return Resource(path=str(table), schema=schema).validate()


@pytest.mark.slow
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases=cohorts())
def test_every_table_is_valid_by_its_schema(cases: list[CaseLines]) -> None:
    with TemporaryDirectory() as folder:
        report = validate(Path(folder), cases)
    assert report.valid, report.flatten(["rowNumber", "fieldName", "type", "note"])
    assert report.stats["warnings"] == 0
    assert report.tasks[0].stats["rows"] == sum(len(list(case.lines)) for case in cases)


def test_evidence_and_the_values_of_parquet_are_valid(tmp_path: Path) -> None:
    (line,) = bare_case("a", "Fever.", (0, 5)).lines
    row = Cited(3, "lab:lactate:blood", "4,1", 'mmol/"L"', 1.5, "result", "lactate", 1, 0.5)
    cited = replace(line, evidence=(row,), rows=(3,), near_rows=(4, 5), context=("00aa", "00bb"))
    cases = [case_lines("a", "Fever.", [(line, replace(cited, uid4="00cc"))])]
    assert validate(tmp_path, cases).valid
    write_parquet(cases, tmp_path / "t.parquet", with_note_text=True)
    values = pq.read_table(tmp_path / "t.parquet").to_pylist()
    schema = Schema.from_descriptor(table_schema(with_note_text=True))
    report = Resource(data=values, schema=schema).validate()
    assert report.valid, report.flatten(["fieldName", "type", "note"])


@pytest.mark.parametrize(
    ("damage", "field", "kind"),
    [
        ((",lab,", ",laboratory,"), "lane", "constraint-error"),
        ((",0000,", ",00,"), "uid4", "constraint-error"),
        (("text_only,1", "text_only,first"), "alternative", "type-error"),
        (("a,s,", ",s,"), "case_id", "constraint-error"),
    ],
)
def test_damage_is_found_by_the_schema(
    tmp_path: Path, damage: tuple[str, str], field: str, kind: str
) -> None:
    assert validate(tmp_path, [bare_case("a", "Fever.", (0, 5))]).valid
    table = tmp_path / "t.csv"
    table.write_text(table.read_text(encoding="utf-8").replace(*damage), encoding="utf-8")
    assert check(table).flatten(["fieldName", "type"]) == [[field, kind]]
