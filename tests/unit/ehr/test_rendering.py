"""The two renderers, word for word, and the map back to the rows."""

from ehr.presentation.rendering import (
    judge_record,
    judge_text,
    retrieval_text,
    sort_for_judge,
)
from ehr.summarise import summarise
from tests.unit.ehr.rows import table

LACTATE = "lab:lactate:blood"
NUMERIC = [(0, LACTATE, "4.1", "mmol/L"), (5.5, LACTATE, "2.0", "mmol/L")]


def make_series(rows, untimed=True):
    return list(summarise(table(rows), untimed=untimed))


def test_a_numeric_series_for_retrieval():
    assert retrieval_text(*make_series(NUMERIC)) == (
        "lab:lactate:blood (mmol/L)\n"
        "count 2, from 2150-01-01T08:00 to 2150-01-01T13:30\n"
        "mean 3.05, SD 1.485, min 2.0, max 4.1\n"
        "first 4.1 at 2150-01-01T08:00; last 2.0 at 2150-01-01T13:30; min 2.0 at 2150-01-01T13:30; max 4.1 at 2150-01-01T08:00\n"
        "all observations: 4.1 at 2150-01-01T08:00; 2.0 at 2150-01-01T13:30"
    )


def test_a_series_of_words_for_retrieval():
    rows = [(hour, "chart:rhythm:", value) for hour, value in enumerate("aaaabbbccdefg")]
    assert retrieval_text(*make_series(rows)) == (
        "chart:rhythm:\n"
        "count 13, from 2150-01-01T08:00 to 2150-01-01T20:00\n"
        "most frequent values: a (4), b (3), c (2), d (1), e (1), and 2 other values"
    )


def test_units_that_differ_stand_with_each_value():
    text = retrieval_text(*make_series([(0, LACTATE, "4", "mmol/L"), (1, LACTATE, "36", "mg/dL")]))
    assert text.startswith("lab:lactate:blood\n")
    assert text.endswith("4 mmol/L at 2150-01-01T08:00; 36 mg/dL at 2150-01-01T09:00")


def test_numbers_beside_words_are_told():
    rows = [(hour, LACTATE, value) for hour, value in enumerate(["1", "2", "3", "4", "hemolyzed"])]
    assert "1 without a number" in retrieval_text(*make_series(rows))


def test_a_series_for_the_judge():
    assert judge_text(*make_series(NUMERIC)) == (
        "- lab:lactate:blood: count=2; time=[2150-01-01T08:00, 2150-01-01T13:30]; numeric_values=[2.0, 4.1]; mean=3.05; sd=1.485; "
        "extrema=min 2.0@2150-01-01T13:30, max 4.1@2150-01-01T08:00; first=4.1@2150-01-01T08:00; last=2.0@2150-01-01T13:30; unit=mmol/L\n"
        "  observations: 4.1@2150-01-01T08:00, 2.0@2150-01-01T13:30"
    )


def test_rows_without_a_time_are_at_na():
    assert judge_text(*make_series([(None, "diagnosis:sepsis:", "A41.9")])) == (
        "- diagnosis:sepsis:: count=1; time=[NA, NA]; top_categories=A41.9 (1)\n  observations: A41.9@NA"
    )


def test_the_judge_reads_by_priority_then_count_then_name():
    events = [
        "weird:x:",
        "omr:weight:",
        "chart:hr:",
        "micro:blood culture:",
        "lab:b:",
        "lab:a:",
        "med:heparin:start",
        "procedure:line:start",
    ]
    events += ["diagnosis:sepsis:", "icu:micu:in", "transfer:ed:", "admission:emergency:"]
    rows = [(hour, event, "1") for hour, event in enumerate(events)] + [(99, "lab:b:", "2")]
    assert [s.event for s in sort_for_judge(make_series(rows))] == [
        "admission:emergency:", "icu:micu:in", "transfer:ed:", "diagnosis:sepsis:", "procedure:line:start", "med:heparin:start",
        "lab:b:", "lab:a:", "micro:blood culture:", "chart:hr:", "omr:weight:", "weird:x:",
    ]  # fmt: skip


def test_what_does_not_fit_is_counted_and_admission_rows_stay():
    rows = [(0, f"lab:thing {i:04}:", "1") for i in range(905)] + [(0, "admission:emergency:", "")]
    lines = judge_record(make_series(rows)).splitlines()
    assert lines[1] == "rows=906; event types=906"
    assert lines[2].startswith("- admission:emergency:")
    assert sum(line.startswith("- ") for line in lines) == 900
    assert lines[-2] == "... and 6 more event types omitted."
    assert (
        sum(line.startswith("- ") for line in judge_record(make_series(rows), limit=0).splitlines())
        == 1
    )


def test_nothing_is_said_of_omissions_where_there_are_none():
    assert "omitted" not in judge_record(make_series(NUMERIC))


def test_a_value_with_line_breaks_cannot_pass_for_another_entry():
    text = judge_record(make_series([(0, "micro:culture:", "growth\n- lab:fake:: count=9")]))
    assert sum(line.startswith("- ") for line in text.splitlines()) == 1
