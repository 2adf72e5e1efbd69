"""The PDF of a report, as a reader extracts its text."""

from __future__ import annotations

import io
import zipfile

import pytest
from pypdf import PdfReader

from adjudication.study_report.files import pack
from adjudication.study_report.pdf import write_pdf
from adjudication.study_report.values import Section
from tests.unit.adjudication.study_report.small import HOSTILE, make_report
from timelines.evaluation.tables import Table


def read(report):
    return PdfReader(io.BytesIO(write_pdf(report)))


def read_text(report):
    return " ".join(" ".join(page.extract_text() for page in read(report).pages).split())


def with_table(heads, *rows):
    return make_report(sections=(Section("s", "S", tables=(Table("t", "T", heads, rows),)),))


def test_the_pdf_says_everything_in_the_order_of_the_report():
    report = make_report()
    text = read_text(report)
    parts = [
        "A small study",
        "Two cases.",
        "What was found",
        report.found[0],
        "Main, pairs by span",
        "Timelines against reference",
        "Source Timeline Cases Match rate Median error, h",
        "rules revised 2 0.812 (0.750 to 0.875) –",
        "rules (published) revised 40 0.900 1.25",
        "Judge Not part of this study.",
        "What differs from the published design",
        "2 cases with a reference, where 40 were published.",
        "To repeat this study",
        "ab" * 32,
    ]
    places = [text.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)


def test_names_are_text_whatever_they_look_like():
    text = read_text(make_report())
    for name in HOSTILE:
        assert " ".join(name.split()) in text


def test_signs_that_the_font_lacks_are_question_marks():
    assert "a?b ??" in read_text(make_report(title="a\x07b 中文"))


def test_the_same_report_gives_the_same_bytes():
    assert write_pdf(make_report()) == write_pdf(make_report())


def test_sections_are_in_the_outline_and_pages_have_numbers():
    found = read(make_report())
    assert [entry.title for entry in found.outline] == [
        "What was found",
        "Main, pairs by span",
        "Judge",
        "What differs from the published design",
        "To repeat this study",
    ]
    for number, page in enumerate(found.pages, 1):
        assert f"Page {number}" in page.extract_text()
    assert found.metadata.title == "A small study"


@pytest.mark.parametrize("value", ["word " * 6000, "a" * 5000], ids=["words", "one-word"])
def test_a_cell_longer_than_a_page_goes_on_on_the_next(value):
    report = make_report(sections=(), settings={"Run": (("name", value),)})
    text = "".join(page.extract_text() for page in read(report).pages)
    assert text.count(value[0]) >= value.count(value[0])


def test_a_wide_table_has_every_column():
    heads = tuple(f"head{n:03}" for n in range(60))
    text = read_text(with_table(heads, tuple(f"cell{n:03}" for n in range(60))))
    assert "T (continued)" in text
    for n in range(60):
        assert f"head{n:03}" in text
        assert f"cell{n:03}" in text


def test_a_long_table_repeats_its_heads_and_begins_below_its_title():
    found = read(with_table(("Firsthead", "B"), *((f"row{n}", n) for n in range(60))))
    pages = [page.extract_text() for page in found.pages]
    assert "Firsthead" in pages[0]
    assert sum("Firsthead" in page for page in pages) >= 2
    assert "row59" in "".join(pages)


def test_of_a_table_over_sixty_rows_the_pdf_names_the_file_that_has_them():
    report = with_table(("Firsthead", "B"), *((f"row{n}", n) for n in range(61)))
    found = read(report)
    text = " ".join("".join(page.extract_text() for page in found.pages).split())
    assert "61 rows, too many for this file. The archive has them: tables/s-01-t.csv" in text
    assert "row0" not in text
    with zipfile.ZipFile(io.BytesIO(pack(report, "", b""))) as archive:
        assert b"row60" in archive.read("tables/s-01-t.csv")


@pytest.mark.parametrize("heads", [(), ("A", "B")])
def test_empty_tables_do_no_harm(heads):
    assert "What was found" in read_text(with_table(heads))
