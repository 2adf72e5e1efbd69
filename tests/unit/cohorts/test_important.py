"""Which rows are important, and which mentions explain them."""

from __future__ import annotations

import pytest

from cohorts.attention.important import find_concerned, load_kinds

KINDS = {kind.name: kind for kind in load_kinds()}


@pytest.mark.parametrize(
    ("event", "value", "number", "unit", "expected"),
    [
        ("lab:potassium:blood", "6.5", 6.5, "mEq/L", ["potassium, high"]),
        ("lab:potassium:blood", "6.4", 6.4, "mEq/L", []),
        ("lab:potassium:blood", "2.5", 2.5, "", ["potassium, low"]),
        ("lab:potassium, urine:urine", "54", 54.0, "mEq/L", []),
        ("lab:glucose:blood", "40", 40.0, "mg/dL", ["glucose, low"]),
        # 4 mmol/L is a normal glucose: the limit is not compared in another unit.
        ("lab:glucose:blood", "4", 4.0, "mmol/L", []),
        ("lab:lactate:blood", "4", 4.0, "mmol/L", ["lactate"]),
        ("lab:lactate dehydrogenase (ld):blood", "413", 413.0, "IU/L", []),
        ("lab:hemoglobin:blood", "7", 7.0, "g/dL", ["haemoglobin"]),
        ("lab:% hemoglobin a1c:blood", "5", 5.0, "%", []),
        ("chart:ph:arterial", "7.2", 7.2, "units", ["acidosis"]),
        ("lab:ph:urine", "5.5", 5.5, "units", []),
        ("chart:inr", "5.1", 5.1, "", ["inr"]),
        ("lab:platelet count:blood", "19", 19.0, "K/uL", ["platelets, low"]),
        ("lab:sodium:blood", "120", 120.0, "mEq/L", ["sodium"]),
        ("lab:sodium:blood", "161", 161.0, "mEq/L", ["sodium, high"]),
        ("lab:troponin t:blood", "0.5", 0.5, "ng/mL", ["troponin"]),
        ("lab:troponin t:blood", "<0.01", None, "ng/mL", []),
        ("med:or packed rbc intake:start", "350", 350.0, "", ["red cells"]),
        ("med:packed red blood cells:end", "350", 350.0, "", []),
        ("med:fresh frozen plasma:start", "400", 400.0, "", ["plasma or platelets"]),
        ("med:norepinephrine:start", "0.2", 0.2, "", ["vasopressor"]),
        ("order:norepinephrine:start", "8", 8.0, "mg", []),
        ("procedure:intubation:start", "", None, "", ["intubation"]),
        ("procedure:extubation:start", "", None, "", ["extubation"]),
        ("procedure:invasive ventilation:start", "", None, "", ["invasive ventilation"]),
        ("procedure:non-invasive ventilation:start", "", None, "", []),
        ("procedure:dialysis - crrt:start", "", None, "", ["dialysis"]),
        ("procedure:dialysis catheter:start", "", None, "", []),
        ("micro:urine culture (urine):", "ESCHERICHIA COLI", None, "", ["positive culture"]),
        ("micro:blood culture, routine:blood", "NO GROWTH.  ", None, "", []),
        ("micro:wound culture (swab):", "MIXED BACTERIAL FLORA", None, "", []),
        ("micro:gram stain (sputum):", "GRAM POSITIVE COCCI", None, "", []),
        ("chart:arterial line tip cultured", "1", 1.0, "", []),
    ],
)
def test_rows_are_of_the_kinds_that_a_clinician_would_say(event, value, number, unit, expected):
    kinds = find_concerned([event]).get(event, ())
    assert [kind.name for kind in kinds if kind.includes(value, number, unit)] == expected


@pytest.mark.parametrize(
    ("kind", "mention", "expected"),
    [
        ("red cells", "Transfused two units of packed red blood cells", True),
        ("red cells", "The wound was red", False),
        ("vasopressor", "Started on levophed", True),
        ("positive culture", "Urine grew E. coli", True),
        ("positive culture", "Chest X-ray was clear", False),
        ("death", "Pronounced dead; the patient expired", True),
        ("potassium, high", "Hyperkalaemia to 6.7", True),
        ("intubation", "Intubated for airway protection", True),
    ],
)
def test_mentions_explain_rows_of_the_same_thing(kind, mention, expected):
    assert KINDS[kind].explains(mention) is expected
