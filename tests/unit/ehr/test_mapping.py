"""Mappings of names, columns and codes, with rows worked out by hand."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ehr.formats.base import FormatError, WrongFile
from ehr.formats.csv.reader import PlainRows
from ehr.formats.mapping import CodeRule, ImportMapping, parse_mapping, parse_rules
from ehr.formats.meds.codes import find_ruled_meaning
from ehr.formats.meds.reader import Meds
from ehr.formats.row_files import read_rows
from ehr.formats.stream import StreamBlock
from ehr.schema import TimeKind
from tests.paths import DATA

COLUMNS = (("t", "charttime"), ("event", "label"), ("value", "result"))


def test_columns_of_other_names_are_read(tmp_path):
    table = {"charttime": ["2150-01-01T08:00:00"], "label": ["lab:a:b"], "result": ["1"]}
    table |= {"unit": ["mg"], "ward": ["x"]}
    pq.write_table(pa.table(table), tmp_path / "p.parquet")
    lines = [",".join(table), ",".join(value for (value,) in table.values())]
    (tmp_path / "c.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("c.csv", "p.parquet"):
        (block,) = [b for b in read_rows(tmp_path / name, name, names=dict(COLUMNS)) if b.offered]
        (row,) = block.rows.to_pylist()
        assert (row["time"].hour, row["event"], row["value"], row["unit"]) == (
            8,
            "lab:a:b",
            "1",
            "mg",
        )
        assert block.rejections == ()
        with pytest.raises(WrongFile, match="the column t is missing"):
            list(read_rows(tmp_path / name, name))


def test_a_mapping_of_columns_is_part_of_what_was_imported(tmp_path):
    (tmp_path / "c.csv").write_text("charttime,label,result\n2150-01-01T08:00,a:b:c,1\n")
    source = PlainRows(tmp_path, columns=dict(COLUMNS))
    assert [e.case_id for e in source.encounters().encounters] == ["c"]
    assert source.identity != PlainRows(tmp_path).identity == "csv"


@pytest.mark.parametrize(
    ("pattern", "event", "code", "meaning"),
    [
        ("LAB//50813//mmol/L", "lab:lactate:blood", "LAB//50813//mmol/L", "lab:lactate:blood"),
        ("LAB//50813*", "lab:lactate:blood", "LAB//50813//mmol/L", "lab:lactate:blood"),
        ("LAB//50813", "lab:lactate:blood", "LAB//50813//mmol/L", None),
        ("LOINC/*", "lab:{1}:", "LOINC/2524-7", "lab:2524-7:"),
        ("*//*", "{1}:{2}:given", "RX//Heparin", "rx:heparin:given"),
        ("A.C", "x:y:", "ABC", None),
        ("*", "all:{1}:", "a\nb", "all:a b:"),
    ],
)
def test_rules_of_codes(pattern, event, code, meaning):
    found = find_ruled_meaning(code, [CodeRule(pattern, event, TimeKind.COLLECTION)])
    assert (found.event if found else None) == meaning
    assert found is None or found.kind is TimeKind.COLLECTION


def test_the_first_rule_that_fits_counts():
    rules = parse_rules("# ours\nLAB//1* = lab:first: | result\n\nLAB//* = lab:{1}:\n")
    first, second = (find_ruled_meaning(code, rules) for code in ("LAB//12", "LAB//2"))
    assert first is not None
    assert second is not None
    assert (first.event, first.kind) == ("lab:first:", TimeKind.RESULT)
    assert (second.event, second.kind) == ("lab:2:", TimeKind.UNKNOWN)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("LAB", "Line 1 of the map is not of the form"),
        ("A = b:c:\nB = c | never", "Line 2 of the map has no known time kind"),
        ("A = b:{1}:", "has 0 stars"),
        ("A* = b:{2}:", "has 1 stars"),
        ("A** = b:c:", "two together"),
        ("*a*b*c* = b:c:", "too many stars"),
    ],
)
def test_faults_of_rules_name_the_line(text, words):
    with pytest.raises(FormatError, match=words):
        parse_rules(text)


@pytest.mark.parametrize(
    ("format", "values", "words"),
    [
        ("fhir", {"pattern": "{case}"}, "Only the text format has a pattern"),
        ("text", {"columns": [["t", "x"]]}, "Only the csv format has a mapping of columns"),
        ("csv", {"codes": [{"pattern": "A", "event": "b:c:"}]}, "Only the meds format"),
        ("text", {"pattern": "{time}"}, "has no {case}"),
        ("text", {"pattern": "{case}{case}"}, "unusable"),
        ("csv", {"columns": [["when", "x"]]}, "The column when is unknown"),
        ("csv", {"columns": [["t", "x"], ["event", "x"]]}, "mapped twice"),
        ("csv", {"columns": [["t", "value"]]}, "is value as well"),
        ("csv", {"columns": [["t", " "]]}, "has no name"),
        ("csv", {"columns": [["t"]]}, "cannot be read"),
        ("csv", {"columns": "t"}, "columns: is not a list"),
        ("meds", {"codes": [{"pattern": "A", "event": "b", "kind": "odd"}]}, "cannot be read"),
        ("csv", {"other": 1}, "cannot be read"),
    ],
)
def test_faults_of_mappings(format, values, words):
    with pytest.raises(FormatError, match=words):
        parse_mapping(format, values)


def test_plain_values_are_read_again():
    rules = (CodeRule("A*", "b:{1}:", TimeKind.ORDER),)
    for format, mapping in (
        ("text", ImportMapping(pattern="{case}-{time}")),
        ("csv", ImportMapping(columns=COLUMNS)),
        ("meds", ImportMapping(codes=rules)),
        ("fhir", ImportMapping()),
    ):
        assert parse_mapping(format, mapping.as_values()) == mapping
    assert ImportMapping().digest == ""
    assert ImportMapping(codes=rules).digest != ImportMapping(pattern="{case}").digest


def test_a_shard_with_rules(tmp_path: Path):
    shard = DATA / "ehr" / "meds"
    rules = [CodeRule("LAB//*", "lab:ours:", TimeKind.RESULT)]

    def events(source: Meds) -> set[str]:
        blocks = [b for f in source.files() for b in f.blocks() if isinstance(b, StreamBlock)]
        return {e for b in blocks for e in b.rows["event"].to_pylist() if e.startswith("lab:")}

    assert "lab:ours:" not in events(Meds(shard))
    assert events(Meds(shard, rules=rules)) == {"lab:ours:"}
    assert Meds(shard, rules=rules).identity.startswith(f"{Meds(shard).identity} ")
