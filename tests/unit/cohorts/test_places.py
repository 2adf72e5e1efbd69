"""Criteria at places of a window: found, changed, removed, renamed."""

from __future__ import annotations

import pytest

from cohorts.engine.language import find_concepts
from cohorts.engine.places import change_at, find_at, rename_concepts, walk_places
from cohorts.engine.reading import read_window
from cohorts.engine.words import describe_alone
from cohorts.engine.writing import write_window

YAML = """name: w
anchor:
  concept: arrival
where:
- event: drug
  as: dose
  where:
  - no: transfer
    before: dose
- any:
  - stay: sex
    is: female
  - not:
      event: drug
"""
NAMES = {"arrival", "drug", "transfer"}


@pytest.fixture
def window():
    return read_window(YAML, concepts=NAMES)


def test_every_criterion_has_a_place(window):
    assert [(place, describe_alone(part)) for place, part in walk_places(window.where)] == [
        ((0,), "any “drug” happens (call it dose)"),
        ((0, 0), "no “transfer” happens before dose"),
        ((1,), "at least one of these is true:"),
        ((1, 0), "sex is “female”"),
        ((1, 1), "it is not true that:"),
        ((1, 1, 0), "any “drug” happens"),
    ]
    assert find_at(window, (0, 0)).picked.concept == "transfer"
    assert find_at(window, (7,)) is None


@pytest.mark.parametrize(
    ("place", "gone"),
    [
        ((0, 0), "  where:\n  - no: transfer\n    before: dose\n"),
        ((1, 0), "  - stay: sex\n    is: female\n"),
        # A "not" without its part leaves too, and so does a group.
        ((1, 1, 0), "  - not:\n      event: drug\n"),
        ((5, 0), ""),
    ],
)
def test_a_removed_criterion_leaves_the_others(window, place, gone):
    assert write_window(change_at(window, place, lambda old: None)) == YAML.replace(gone, "")


def test_the_last_part_takes_its_group_along(window):
    for place in ((1, 0), (1, 0), (0,)):
        window = change_at(window, place, lambda old: None)
    assert write_window(window) == "name: w\nanchor:\n  concept: arrival\n"


def test_concepts_are_renamed_at_any_depth_and_can_be_swapped(window):
    names = {"drug": "transfer", "transfer": "drug", "arrival": "came"}
    renamed = rename_concepts(window, names)
    assert find_concepts(renamed) == ["came", "transfer", "drug"]
    assert rename_concepts(renamed, {new: old for old, new in names.items()}) == window
