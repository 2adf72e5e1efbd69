"""The one-page report: its rows, and its PDF as a reader extracts it."""

from __future__ import annotations

import io
from datetime import datetime

from pypdf import PdfReader

from ehr.presentation.clock import Clock
from tests.unit.timelines.formats.test_fhir import GIVEN, make_line
from timelines.formats.report.drawing import draw_report
from timelines.formats.report.rows import LEGEND, make_rows
from timelines.formats.report.values import Milestone, Report, ReportRow

CLOCK = Clock(datetime(2150, 3, 4, 9, 30), 48.0)


def make_report(rows, title="74 M · Intracerebral haemorrhage", story=()):
    return Report(
        title, "Case 1 · admitted", tuple(story), tuple(rows), LEGEND, "Research use only."
    )


def make_row(number, rank=0, event="Événement ≥ 5 µg → ω ≈ Ł", source="Note"):
    return ReportRow(
        float(number), f"HD 1 · {number:02d}:00", f"+{number} h", "●", f"{event} {number}", source, rank
    )  # fmt: skip


def read_text(report):
    reader = PdfReader(io.BytesIO(draw_report(report)))
    assert len(reader.pages) == 1
    return " ".join(reader.pages[0].extract_text().split())


def test_rows_have_time_source_and_what_the_note_said():
    lines = [
        make_line("medication", mention='heparin \\"bolus\\"', uid4="0a1c", evidence=(GIVEN,)),
        make_line("finding", "absent", time=-30.0, known=False, span_text="no\nchest pain"),
        make_line("plan", "planned", time=None, uid4="0a1d", start=None, end=None),
    ]
    pain, drug, plan = make_rows(
        lines, {"0a1c": 1.5}, CLOCK, ranks={"0a1c": 3}, with_note_text=True
    )
    assert (drug.when, drug.beside, drug.mark) == ("HD 1 · 16:00", "+6.5 h", "■")
    assert drug.event == 'heparin "bolus"'
    assert drug.source == "Record: heparin started, 5000 units, 16:00; note: 11:00"
    assert (pain.when, pain.event) == ("30 h before", "chest pain (absent)")
    assert pain.source == "Note: “no chest pain”"
    assert (plan.when, plan.beside, plan.source) == ("not placed", "", "Not placed")
    assert drug.rank < pain.rank < plan.rank
    assert make_rows(lines, {}, CLOCK, ranks={}, with_note_text=False)[0].source == "Note"


def test_a_short_report_has_everything_as_selectable_text():
    story = [Milestone("HD 1 · 16:00", "Heparin was given")]
    text = read_text(make_report([make_row(n) for n in range(3)], story=story))
    for words in (
        "74 M · Intracerebral haemorrhage", "Case 1 · admitted", "Heparin was given", "Research use only.",
        *(f"Événement ≥ 5 µg → ω ≈ Ł {n}" for n in range(3)), "HD 1 · 02:00", "● stated in the note",
    ):  # fmt: skip
        assert words in text
    assert "CSV" not in text


def test_a_long_report_keeps_the_most_important_events_in_order_and_counts_the_rest():
    rows = [make_row(n, rank=int(n < 60), event="word " * 30) for n in range(80)]
    text = read_text(make_report(rows))
    shown = [n for n in range(80) if f"HD 1 · {n:02d}:00" in text]
    assert set(range(60, 80)) <= set(shown)
    assert 20 <= len(shown) < 80
    assert f"{len(shown)} of 80 events. {80 - len(shown)} more events are in the CSV" in text
    places = [text.index(f"HD 1 · {n:02d}:00") for n in shown]
    assert places == sorted(places)


def test_the_same_report_has_the_same_bytes_and_odd_signs_do_no_harm():
    odd = make_report([make_row(1, event="😀\x00\ud800中" * 40, source="x" * 500)], title="é" * 400)
    assert draw_report(odd) == draw_report(odd)
    assert "????" in read_text(odd)
