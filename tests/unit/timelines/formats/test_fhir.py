"""FHIR resources by hand, and every Bundle is valid."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime

import pytest
from fhir.resources.R4B.bundle import Bundle
from hypothesis import given, settings
from hypothesis import strategies as st

from timelines.domain import Anchor, Lane, Polarity
from timelines.formats.fhir.resources import make_resource
from timelines.formats.fhir.times import choose_time, say_point
from timelines.formats.fhir.values import FhirStay, FhirTimeline
from timelines.formats.fhir.writer import write_fhir
from timelines.formats.lines import Cited, Line

ADMITTED = datetime(2150, 3, 4, 9, 30)
STAY = FhirStay("staystaystay", "patient1", ADMITTED, datetime(2150, 3, 6, 9, 30))
TIMELINE = FhirTimeline("timelinetime", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "rules")
GIVEN = Cited(4, "med:heparin:start", "5000", "units", 6.5, "administration")
STOPPED = Cited(5, "med:heparin:stop", "", "", 9.0, "administration")
SODIUM = Cited(7, "lab:sodium:", "131", "mmol/L", 6.5, "collection")


def make_line(lane="finding", polarity="present", **values):
    given = {
        "case_id": "20338077", "source": "rules", "kind": "revised", "alternative": 1, "uid4": "0a1b", "mention": "chest pain",
        "start": 3, "end": 13, "time": 6.5, "lower": None, "upper": None, "known": True, "context": (), "evidence": (),
        "polarity": polarity, "lane": lane, "span_text": None,
    }  # fmt: skip
    rows = tuple(row.row_index for row in values.get("evidence", ()))
    return Line(**{**given, "rows": rows, **values})


@pytest.mark.parametrize(
    ("line", "kind", "expected"),
    [
        (make_line("finding", "present"), "Observation", {"status": "final", "value": "Present"}),
        (make_line("finding", "absent"), "Observation", {"status": "final", "value": "Absent"}),
        (make_line("lab", "present"), "Observation", {"status": "final", "category": "laboratory"}),
        (
            make_line("lab", "present", evidence=(SODIUM,)),
            "Observation",
            {"quantity": (131.0, "mmol/L")},
        ),
        (make_line("lab", "present", evidence=(SODIUM, GIVEN)), "Observation", {"quantity": None}),
        (make_line("lab", "absent"), "Observation", {"value": "Absent", "quantity": None}),
        (make_line("medication", "present"), "MedicationAdministration", {"status": "completed"}),
        (
            make_line("medication", "present", evidence=(STOPPED,)),
            "MedicationAdministration",
            {"status": "stopped"},
        ),
        (make_line("medication", "absent"), "MedicationAdministration", {"status": "not-done"}),
        (
            make_line("medication", "present", time=-20.0),
            "MedicationStatement",
            {"status": "unknown"},
        ),
        (
            make_line("medication", "present", evidence=(GIVEN,), time=-0.5),
            "MedicationAdministration",
            {},
        ),
        (
            make_line("medication", "present", time=48.5),
            "MedicationStatement",
            {"status": "unknown"},
        ),
        (
            make_line("medication", "absent", time=None),
            "MedicationStatement",
            {"status": "not-taken"},
        ),
        (
            make_line("medication", "planned"),
            "MedicationRequest",
            {"status": "unknown", "intent": "plan"},
        ),
        (make_line("procedure", "present"), "Procedure", {"status": "completed"}),
        (make_line("procedure", "absent"), "Procedure", {"status": "not-done"}),
        (
            make_line("procedure", "planned"),
            "ServiceRequest",
            {"status": "unknown", "intent": "plan"},
        ),
        (
            make_line("transfer", "present"),
            "Procedure",
            {"category": "14734007", "status": "completed"},
        ),
        (make_line("plan", "present"), "ServiceRequest", {"intent": "plan", "doNotPerform": None}),
        (make_line("plan", "absent"), "ServiceRequest", {"intent": "plan", "doNotPerform": True}),
        (make_line("history", "present"), "Condition", {"verification": "confirmed"}),
        (make_line("history", "absent"), "Condition", {"verification": "refuted", "onset": False}),
        (make_line("history", "family"), "FamilyMemberHistory", {"status": "completed"}),
        (make_line("finding", "family"), "FamilyMemberHistory", {"status": "completed"}),
        (make_line("", ""), "Observation", {"status": "final", "value": None}),
    ],
)
def test_each_kind_of_occurrence_has_its_resource(line, kind, expected):
    made = make_resource(line, STAY, "urn:p", "urn:e")
    categories = made.get("category", {})
    category = categories[0] if isinstance(categories, list) else categories
    quantity = made.get("valueQuantity")
    said = {
        **made,
        "value": made.get("valueCodeableConcept", {}).get("coding", [{}])[0].get("display"),
        "quantity": quantity and (quantity["value"], quantity["unit"]),
        "category": category.get("coding", [{}])[0].get("code"),
        "verification": made.get("verificationStatus", {}).get("coding", [{}])[0].get("code"),
        "onset": any(key.startswith("onset") for key in made),
    }  # fmt: skip
    assert made["resourceType"] == kind
    assert {key: said.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("time", "lower", "upper", "expected"),
    [
        (6.5, None, None, "2150-03-04T16:00:00Z"),
        (6.5, 6.5, 6.5, "2150-03-04T16:00:00Z"),
        (6.5, 0.0, 23.0, "2150-03-04T16:00:00Z"),
        (6.5, 0.0, 24.0, "2150-03-04"),
        (-71.0, None, None, "2150-03-01T10:30:00Z"),
        (-720.0, None, None, "2150-02-02"),
        (-2 * 8760.0, None, None, "2148-03"),
        (-10 * 8760.0, None, None, "2140"),
        (-10 * 8760.0, -90000.0, -85000.0, "2140-03"),
        (-1e9, None, None, None),
        (None, None, None, None),
    ],
)
def test_a_time_is_as_precise_as_its_bounds_or_its_distance(time, lower, upper, expected):
    assert say_point(make_line(time=time, lower=lower, upper=upper), Anchor(ADMITTED)) == expected


def test_bounds_are_a_period_if_there_is_no_point_or_the_element_says_sometime():
    anchor = Anchor(ADMITTED)
    period = {"start": "2150-03-04T07:30:00Z", "end": "2150-03-04T12:30:00Z"}
    unplaced = make_line(time=None, lower=-2.0, upper=3.0)
    inferred = make_line(time=1.0, lower=-2.0, upper=3.0, known=False)
    stated = make_line(time=1.0, lower=-2.0, upper=3.0)
    assert choose_time(unplaced, anchor, "effective") == {"effectivePeriod": period}
    assert choose_time(inferred, anchor, "onset", imprecise=True) == {"onsetPeriod": period}
    point = {"onsetDateTime": "2150-03-04T10:30:00Z"}
    assert choose_time(inferred, anchor, "onset") == point
    assert choose_time(stated, anchor, "onset", imprecise=True) == point
    assert choose_time(make_line(time=None, upper=3.0), anchor, "effective") == {
        "effectivePeriod": {"end": "2150-03-04T12:30:00Z"}
    }
    assert choose_time(make_line(time=None), anchor, "effective") == {}


def test_provenance_names_the_program_the_span_and_the_rows_by_id():
    line = make_line(
        evidence=(GIVEN,), rows=(4, 9), near_rows=(7,), span_text="given heparin", reason="same dose",
        decided_by="rules/medication",
    )  # fmt: skip
    for with_note_text, display in ((True, "given heparin"), (False, "Note")):
        bundle = json.loads(write_fhir([line], STAY, TIMELINE, with_note_text=with_note_text))
        *_, device, occurrence, provenance = bundle["entry"]
        assert provenance["resource"]["target"] == [{"reference": occurrence["fullUrl"]}]
        assert provenance["resource"]["agent"][0]["who"] == {"reference": device["fullUrl"]}
        assert provenance["resource"]["reason"] == [{"text": "same dose"}]
        assert [
            (e["role"], e["what"]["identifier"]["value"], e["what"]["display"])
            for e in provenance["resource"]["entity"]
        ] == [
            ("quotation", "staystaystay#char=3,13", display),
            ("source", "staystaystay/4", "med:heparin:start 5000 units at +6.5 h (administration)"),
            ("source", "staystaystay/9", "Row 9"),
            ("derivation", "staystaystay/7", "Row 7"),
        ]
    person = FhirTimeline("t" * 12, TIMELINE.made_at, "vega", is_person=True)
    bundle = json.loads(write_fhir([line], STAY, person, with_note_text=False))
    assert bundle["entry"][-1]["resource"]["agent"][0]["who"] == {"display": "vega"}


hours = st.none() | st.floats(-1e6, 1e6)
text = st.text(max_size=30)


@st.composite
def lines(draw):
    lower, time, upper = sorted(draw(st.tuples(*[st.floats(-1e6, 1e6)] * 3)))
    row = st.builds(
        Cited, st.integers(0, 99), text, text | st.just("1.5"), text, st.floats(-1e4, 1e4),
        st.sampled_from(["administration", "order", "collection"]),
    )  # fmt: skip
    start = draw(st.none() | st.integers(0, 50))
    return make_line(
        draw(st.sampled_from([*Lane, ""])), draw(st.sampled_from([*Polarity, ""])),
        uid4=draw(st.none() | st.integers(0, 2**16 - 1).map("{:04x}".format)), mention=draw(text),
        time=draw(st.sampled_from([None, time])), lower=draw(st.sampled_from([None, lower])),
        upper=draw(st.sampled_from([None, upper])), known=draw(st.sampled_from([True, False, None])),
        evidence=tuple(draw(st.lists(row, max_size=3))), near_rows=tuple(draw(st.lists(st.integers(0, 9), max_size=2))),
        start=start, end=None if start is None else start + 3,
        span_text=None if start is None else "PLANTED", reason=draw(text), decided_by=draw(text),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(lines(), max_size=4, unique_by=lambda line: line.uid4 or id(line)))
def test_any_timeline_is_a_valid_bundle_with_every_occurrence_once(timeline):
    content = write_fhir(timeline, STAY, TIMELINE, with_note_text=False)
    assert b"PLANTED" not in content
    assert b"20338077" not in content
    assert content == write_fhir(timeline, STAY, TIMELINE, with_note_text=False)
    bundle = Bundle.model_validate_json(content)
    resources = [entry.resource for entry in bundle.entry]
    kinds = Counter(type(r).__name__ for r in resources)
    assert kinds.pop("Provenance", 0) == len(timeline)
    assert [kinds.pop(name) for name in ("Patient", "Encounter", "Device")] == [1, 1, 1]
    assert kinds.total() == len(timeline)
    addresses = [entry.fullUrl for entry in bundle.entry]
    assert len(set(addresses)) == len(addresses)
    references = {
        value
        for entry in json.loads(content)["entry"]
        for value in _find_references(entry["resource"])
    }
    assert references <= set(addresses)


def _find_references(value):
    if isinstance(value, dict):
        yield from [value["reference"]] if isinstance(value.get("reference"), str) else []
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _find_references(part)
