"""What ACES and a window cannot both say is refused with the reason."""

from __future__ import annotations

import pytest

from cohorts.engine.aces.exporting import write_aces
from cohorts.engine.aces.importing import read_aces
from cohorts.engine.language import All, Event, Picked, Window
from cohorts.engine.reading import read_window
from cohorts.engine.relations import Interval, Within
from cohorts.engine.values import WindowError

CODES = {"fever": ["FEVER"], "given": ["A", "B"], "potassium": ["K"], "without codes": []}
TASK = """\
description: from a paper
predicates:
  fever: {code: FEVER}
  high: {code: K, value_min: 5, value_max: 9, value_min_inclusive: true}
  unused: {code: {regex: X.*}}
  given: {code: {any: [B, A]}}
trigger: fever
windows:
  soon:
    start: trigger
    end: start + 1 day, 6h
    start_inclusive: false
    end_inclusive: true
    has:
      given: (1, None)
      high: (None, 2)
    label: given
    index_timestamp: end
"""


def test_a_task_is_a_window():
    found = read_aces(TASK, codes=CODES, name="task")
    hours = Within(Interval(0, 30, low_open=True), "anchor")
    high = Picked("potassium", Interval(5, 9, high_open=True))
    assert found.window == Window(
        "task",
        Picked("fever"),
        All((Event(Picked("given"), (hours,)), Event(high, (hours,), 0, 2))),
    )
    assert found.notes == (
        "soon: label is left out; it does not change which stays are members.",
        "soon: index_timestamp is left out; it does not change which stays are members.",
    )


def test_a_predicate_may_have_the_name_of_a_concept_with_other_codes():
    text = TASK.replace("code: FEVER", "code: SYMPTOM//R50")
    found = read_aces(text, codes=CODES, name="task")
    assert found.window.anchor == Picked("fever")
    assert found.notes[-1] == (
        "fever: the concept of this name is used; its codes are not those of the task."
    )


REFUSED = [
    ("trigger: fever", "trigger: _ANY_EVENT", "line 7, _ANY_EVENT: no concept means every event"),
    ("trigger: fever", "trigger: other", "line 7, other: not among the predicates."),
    ("trigger: fever", "", "line 1, trigger: missing."),
    ("description:", "patient_demographics:", "line 1, patient_demographics: a window cannot say this."),
    ("code: FEVER", "code: {regex: F.*}", "line 3, code: only a code or any: [codes] can be a concept"),
    ("{code: FEVER}", "{expr: 'and(given, high)'}", "line 3, expr: only or(…) can be a concept."),
    ("{code: FEVER}", "{expr: 'or(given, high)'}", "line 3, expr: high is no predicate with a code alone."),
    ("{code: FEVER}", "{code: FEVER, static: true}", "line 3, static: a concept cannot ask for this."),
    ("{code: FEVER}", "{code: FEVER, unit: C}", "line 3, unit: a concept cannot ask for this."),
    ("{any: [B, A]}", "{any: [B, C]}", ""),
    ("  high: {code: K", "  high: {code: Z", "line 4, high: no concept has exactly these codes (Z)"),
    ("value_min: 5", "value_min: low", "line 4, value_min: write a number."),
    ("value_min: 5", "value_min: 50", "line 4, value_min: nothing is in it"),
    ("end: start + 1 day, 6h", "end: start -> given", "line 11, end: a window that ends at the next event"),
    ("end: start + 1 day, 6h", "end: start + soon", "line 11, end: write a duration such as 24h or 2 days."),
    ("end: start + 1 day, 6h", "end: start", "line 9, soon: it starts and ends at one moment"),
    ("end: start + 1 day, 6h", "end: end + 1h", "line 9, soon: its end cannot be found from the trigger."),
    ("end: start + 1 day, 6h", "end: later.end + 1h", "line 11, later.end: no window has this name."),
    ("end: start + 1 day, 6h", "end: (a)", "line 11, end: write for example"),
    ("end: start + 1 day, 6h", "end: trigger - 6h", "line 9, soon: nothing is in it: it ends before it starts."),
    ("start: trigger", "start: null", "line 11, end: start has no hour: it is an end of the record."),
    ("    end_inclusive: true\n", "", "line 9, soon: end_inclusive is missing."),
    ("given: (1, None)", "given: some", "line 15, given: write its least and greatest number"),
    ("given: (1, None)", "given: (None, None)", "line 15, given: write its least and greatest number"),
    ("given: (1, None)", "given: (2, 1)", "line 15, given: no number of events fits"),
    ("    label: given", "    colour: red", "line 17, colour: not a key of ACES. Remove it."),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), REFUSED)
def test_what_a_window_cannot_say_is_refused(old, new, message):
    text = TASK.replace(old, new)
    assert text != TASK
    if not message:
        # The name is enough.
        assert len(read_aces(text, codes=CODES, name="task").notes) == 3
        return
    with pytest.raises(WindowError) as refused:
        read_aces(text, codes=CODES, name="task")
    assert str(refused.value).startswith(message)


def test_several_of_a_derived_predicate_are_refused():
    text = TASK.replace("{any: [B, A]}}", "A}\n  b: {code: B}\n  both: {expr: 'or(given, b)'}")
    text = text.replace("      given: (1, None)", "      both: (2, None)")
    with pytest.raises(WindowError, match="both: ACES counts moments of or"):
        read_aces(text, codes=CODES, name="task")


def test_a_trigger_that_counts_itself_is_moved_by_one():
    text = TASK.replace("start_inclusive: false", "start_inclusive: true")
    counted = text.replace("given: (1, None)", "fever: (2, 3)")
    event = read_aces(counted, codes=CODES, name="task").window.where.parts[0]
    assert isinstance(event, Event)
    assert (event.at_least, event.at_most) == (1, 2)
    with pytest.raises(WindowError, match="fever: no number of events fits"):
        read_aces(text.replace("given: (1, None)", "fever: (None, 0)"), codes=CODES, name="task")
    other = counted.replace("trigger: fever", "trigger: high").replace(
        "fever: (2, 3)", "low: (1, 2)"
    )
    other = other.replace("predicates:\n", "predicates:\n  low: {code: K, value_max: 6}\n")
    with pytest.raises(WindowError, match="low: the trigger may or may not count here"):
        read_aces(other, codes=CODES, name="task")


def read(anchor: str, criterion: str) -> Window:
    text = f"name: x\nanchor: {anchor}\nwhere: [{criterion}]"
    return read_window(text, concepts=list(CODES))


def test_a_window_is_a_task():
    window = read(
        "fever", "{not: {event: given, at least: 3, within: over 0 h to 1.5 h after anchor}}"
    )
    assert (
        write_aces(window, codes=CODES)
        == """\
description: x
predicates:
  fever:
    code: FEVER
  given:
    code:
      any:
      - A
      - B
trigger: fever
windows:
  window_1:
    start: trigger
    end: start + 5400 seconds
    start_inclusive: false
    end_inclusive: true
    has:
      given: (None, 2)
"""
    )


@pytest.mark.parametrize(
    ("anchor", "criterion", "message"),
    [
        ("admission", "{event: fever}", "anchor: ACES has no admission."),
        ("{concept: fever, which: first}", "{event: given}", "fever: ACES takes every occurrence"),
        (
            "without codes",
            "{event: fever}",
            "without codes: the concept has no codes in MEDS data.",
        ),
        ("fever", "{stay: age, at least: 18}", "where: ACES cannot say a fact of the stay."),
        ("fever", "{any: [{event: given}]}", "where: ACES cannot say any of several"),
        (
            "fever",
            "{not: {any: [{event: given}]}}",
            "where: ACES cannot say not, except of an event",
        ),
        ("fever", "{event: given, where: [{event: fever}]}", "given: ACES has no criteria inside"),
        (
            "fever",
            "{event: given, before: discharge}",
            "given: ACES counts hours from the trigger.",
        ),
        ("fever", "{event: given}", "given: ACES needs a start or an end"),
        ("fever", "{event: given, before: anchor, after: anchor}", "given: nothing is in it"),
    ],
)
def test_what_aces_cannot_say_is_refused(anchor, criterion, message):
    with pytest.raises(WindowError) as refused:
        write_aces(read(anchor, criterion), codes=CODES)
    assert str(refused.value).startswith(message)
