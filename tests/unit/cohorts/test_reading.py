"""Windows are read, written back equal, and refused with the line."""

from __future__ import annotations

import pytest

from cohorts.engine.language import Event, Not, Picked, Stay, Window, find_concepts
from cohorts.engine.reading import read_window
from cohorts.engine.relations import Before, Interval, Within
from cohorts.engine.values import WindowError
from cohorts.engine.words import describe_window
from cohorts.engine.writing import write_window

CONCEPTS = ["haemorrhage", "reversal agent given", "anticoagulant given", "transfer out"]
REVERSAL = """\
name: Reversal agent within 6 h
anchor:
  concept: haemorrhage
  which: first
where:
- stay: age
  at least: 18
- event: reversal agent given
  within: 0 h to 6 h after anchor
  as: reversal
  where:
  - no: anticoagulant given
    between: anchor and reversal
- not:
    event: transfer out
"""


def read(text: str) -> Window:
    return read_window(text, concepts=CONCEPTS)


def test_the_whole_language_is_read():
    window = read(REVERSAL)
    age, reversal, out = window.where.parts
    assert (window.name, window.anchor) == (
        "Reversal agent within 6 h",
        Picked("haemorrhage", None, 1),
    )
    assert age == Stay("age", Interval(low=18))
    assert isinstance(reversal, Event)
    assert reversal.relations == (Within(Interval(0, 6), "anchor"),)
    assert reversal.where.parts[0].at_most == 0
    assert out == Not(Event(Picked("transfer out")))
    assert find_concepts(window) == CONCEPTS


def test_writing_returns_the_text_that_was_read():
    assert write_window(read(REVERSAL)) == REVERSAL


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("within: 90 min to 1 d after anchor", Within(Interval(1.5, 24), "anchor")),
        ("within: over -1 h to any before admission", Within(Interval(-1, low_open=True), "admission", True)),
        ("before: discharge", Before("discharge")),
    ],
)  # fmt: skip
def test_phrases(written, meant):
    window = read(f"name: x\nanchor: admission\nwhere: [{{event: haemorrhage, {written}}}]")
    assert window.where.parts[0].relations == (meant,)
    assert read(write_window(window)) == window


@pytest.mark.parametrize("name", ["no", "null", "12", "1e3", "ja: nein", "“x” & <b>", "- a", "# a"])
def test_names_of_any_kind_are_written_and_read(name):
    window = Window(name, Picked(name))
    assert read_window(write_window(window), concepts=[name]) == window


def event(rest: str) -> str:
    return f"name: x\nanchor: haemorrhage\nwhere:\n- event: transfer out\n  {rest}\n"


#: What is wrong, where, and what to do.
REFUSED = {
    "": "The text is empty. Write at least name, anchor and where.",
    "name: x": "line 1, anchor: missing. Add a line that starts with anchor:.",
    "- x": "line 1, window: give keys and values: name, anchor, where.",
    "name: [": "line 1: the text is not YAML",
    "name: x\nanchor: stroke": "line 2, anchor: no concept “stroke”. Use one of the study, or add it first.",
    "name: x\nanchor: {which: first}": "line 2, anchor: name a concept, admission or discharge.",
    "name: x\nanchor: [admission]": "line 2, anchor: give keys and values: concept, which, nth, value.",
    "name: x\nanchor: admission\ncolour: red": "line 3, colour: unknown here. Use: name, anchor, where.",
    "name: x\nname: y": "line 2, name: given twice. Remove one.",
    "name:\nanchor: admission": "line 1, name: write a word or a number here.",
    event("within: 6 h to 0 h after anchor"): "line 5, within: nothing is in it: it ends before it starts.",
    event("within: over 6 h to 6 h after anchor"): "line 5, within: nothing is in it: it ends before it starts.",
    event("within: 6 hours after anchor"): 'line 5, within: write for example "0 h to 6 h after anchor"',
    event("within: under 0 h to 6 h after anchor"): "line 5, within: write for example",
    event("within: 0 h to 6 h after reversal"): "line 5, within: nothing around it is called “reversal”. "
    "Use one of: anchor, admission, discharge.",
    event("between: anchor"): "line 5, between: write two names, for example",
    event("before: [anchor]"): "line 5, before: write a word or a number here.",
    event("value: high"): 'line 5, value: write for example "> 5.5"',
    event("value: '> 1e999'"): "line 5, value: use a smaller number.",
    event("which: third"): "line 5, which: write first, last or any; or use nth: 2.",
    event("nth: 0"): "line 5, nth: count from 1.",
    event("nth: 2\n  which: first"): "line 5, nth: give which or nth, not both.",
    event("at least: some"): "line 5, at least: write a whole number, such as 2.",
    event("at least: 3\n  at most: 2"): "line 4, event: no number of occurrences fits.",
    event("as: anchor"): "line 5, as: “anchor” is already used. Choose another name.",
    event("as: a b"): "line 4, event: use another name: a word of letters, digits, - and _.",
    event("at: 5"): "line 5, at: unknown here. Use: event, within,",
    "name: x\nanchor: admission\nwhere: [{no: transfer out, at least: 2}]": "line 3, at least: no means none.",
    "name: x\nanchor: admission\nwhere: [5]": "line 3, where: a criterion starts with event, no,",
    "name: x\nanchor: admission\nwhere: [{evnt: x}]": "line 3, evnt: unknown. Start with event, no,",
    "name: x\nanchor: admission\nwhere: [{any: []}]": "line 3, any: list its criteria",
    "name: x\nanchor: admission\nwhere: [{stay: weight, is: 5}]": "line 3, stay: use age, length, sex,",
    "name: x\nanchor: admission\nwhere: [{stay: age, at least: old}]": "line 3, stay: write for example",
    "name: x\nanchor: admission\nwhere: [{stay: age, at least: 9, at most: 8}]": "line 3, stay: nothing is in it",
    "name: x\nanchor: admission\nwhere: [{stay: age}]": "line 3, stay: say what age is",
    "name: x\nanchor: admission\nwhere: [{stay: sex, at least: F}]": "line 3, stay: say what sex is",
    "name: &x a\nanchor: *x": "line 1: & and * are not allowed. Write it again.",
    "name: !!python/name:os.system x": "line 1: tags (!) are not allowed. Remove the tag.",
    "name: x\n---\nname: y": "line 2: the text is not YAML",
    "name: \x07": "The text is not YAML: it has a character that YAML forbids.",
    "name: " + "[" * 50: "line 1: nested too deep. Use fewer levels.",
    "[" * 60_000: "line 1: nested too deep. Use fewer levels.",
    "name: " + "x" * 70_000: "The text is longer than 64 kB. Shorten it.",
    "? [a]\n: b": "line 1: a key is not a word. Write key: value.",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_a_refusal_names_line_and_key_and_what_to_do(text):
    with pytest.raises(WindowError) as refused:
        read(text)
    assert str(refused.value).startswith(REFUSED[text])


def test_five_levels_of_events_are_too_deep():
    criterion = "{event: transfer out}"
    for _ in range(3):
        criterion = f"{{event: transfer out, where: [{criterion}]}}"
    text = "name: x\nanchor: admission\nwhere: [%s]"
    assert read(text % criterion)
    with pytest.raises(WindowError, match="line 3, event: more than 4 events inside each other"):
        read(text % f"{{event: transfer out, where: [{criterion}]}}")


def test_too_many_criteria_are_refused():
    text = "name: x\nanchor: admission\nwhere:\n"
    assert read(text + "- event: transfer out\n" * 60)
    with pytest.raises(WindowError, match="where: more than 60 criteria"):
        read(text + "- event: transfer out\n" * 61)


def test_a_window_is_described():
    assert describe_window(read(REVERSAL)) == (
        "Stays with the first “haemorrhage” as the anchor, such that all of these are true:\n"
        "- age is at least 18\n"
        "- any “reversal agent given” happens 0 to 6 h after the anchor (call it reversal), such"
        " that no “anticoagulant given” happens between the anchor and reversal\n"
        "- it is not true that any “transfer out” happens"
    )


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        ("event: transfer out, at least: 2, before: discharge", "at least 2 “transfer out” happen before discharge"),
        ("event: transfer out, at most: 3", "at most 3 “transfer out” happen"),
        ("event: transfer out, nth: 2, value: over 1 to 2", "occurrence 2 of “transfer out” with a value of more than 1 and at most 2"
         " happens"),
        ("no: transfer out, which: last", "the last “transfer out” does not happen"),
        ("event: transfer out, within: any to under 2 d before anchor", "any “transfer out” happens less than 48 h before the anchor"),
        ("event: transfer out, within: over 1 h to 2 h after anchor", "any “transfer out” happens more than 1 to 2 h after the anchor"),
        ("event: transfer out, during: admission and discharge", "any “transfer out” happens from admission to discharge, both included"),
        ("stay: sex, is not: F", "sex is not “F”"),
        ("stay: age, is: 50", "age is 50"),
    ],
)  # fmt: skip
def test_each_criterion_is_described(criterion, words):
    window = read(f"name: x\nanchor: admission\nwhere: [{{{criterion}}}]")
    assert describe_window(window) == f"Stays, counted from admission, such that {words}."
