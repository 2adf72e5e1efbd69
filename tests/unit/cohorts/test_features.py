"""Files of features: what is read, and what is said about a bad file."""

from __future__ import annotations

from datetime import datetime

import pytest

from cohorts.asof import features
from cohorts.asof.features import Feature, FeatureFileError, judge_feature, read_features
from cohorts.asof.states import State

CASES = {"a": datetime(2150, 3, 1, 8, 0), "b": datetime(2150, 3, 2, 0, 0)}


def test_hours_are_read_as_they_are():
    content = b'case,name,hours,note\na,fever,6,x\nb,"cough, dry",-1.5,\n'
    assert read_features(content, CASES) == [
        Feature(2, "a", "fever", 6.0),
        Feature(3, "b", "cough, dry", -1.5),
    ]


def test_clock_times_become_hours_from_admission():
    content = "\ufeffcase,name,time\na,fever,2150-03-01 14:30\n".encode()
    assert read_features(content, CASES) == [Feature(2, "a", "fever", 6.5)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "Line 1: the columns must be"),
        (b"case,hours\na,6\n", "Line 1: the columns must be"),
        (b"case,name\na,fever\n", "Line 1: the columns must be"),
        (b"case,name,hours\n", "Line 2: the file has no feature"),
        (b"case,name,hours\nz,fever,6\n", "Line 2, case: the dataset has no such case"),
        (b"case,name,hours\na,,6\n", "Line 2, name: enter a name"),
        (b"case,name,hours\na,fever,soon\n", "Line 2, hours: enter hours"),
        (b"case,name,hours\na,fever,nan\n", "Line 2, hours: enter hours"),
        (b"case,name,hours\na,fever\n", "Line 2, hours: enter hours"),
        (b"case,name,hours\na,cough, dry,6\n", "Line 2: it has more fields than the head"),
        (b"case,name,time\na,fever,14:30\n", "Line 2, time: enter a date and time"),
        (b"case,name,time\na,fever,2150-03-01T14:30Z\n", "Line 2, time: enter a date and time"),
        (b"case,name,hours\na,\xff,6\n", "not UTF-8"),
        (b"case,name,hours\na,\x00,6\n", "Line 2"),
    ],
)
def test_a_bad_file_names_line_and_field(content, said):
    with pytest.raises(FeatureFileError) as error:
        read_features(content, CASES)
    assert said in str(error.value)
    assert "fever" not in str(error.value)


def test_every_fault_is_named_up_to_a_limit():
    content = b"case,name,hours\na,ok,1\n" + b"z,fever,6\n" * 50
    with pytest.raises(FeatureFileError) as error:
        read_features(content, CASES)
    assert len(error.value.faults) == features.MOST_FAULTS
    assert error.value.faults[0].startswith("Line 3, case")


def test_a_file_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(features, "MOST_LINES", 2)
    with pytest.raises(FeatureFileError, match="more than 2 lines"):
        read_features(b"case,name,hours\n" + b"a,ok,1\n" * 3, CASES)


@pytest.mark.parametrize(
    ("states", "best"),
    [
        ([], None),
        ([State.NOT_YET], State.NOT_YET),
        ([State.NOT_YET, State.LATER], State.LATER),
        ([State.LATER, State.UNCERTAIN], State.UNCERTAIN),
        ([State.NOT_YET, State.KNOWN, State.LATER], State.KNOWN),
    ],
)
def test_the_best_occurrence_decides(states, best):
    assert judge_feature(states) is best
