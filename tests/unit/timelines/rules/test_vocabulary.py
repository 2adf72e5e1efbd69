"""The vocabulary finds the longest term and knows how records name it."""

import pytest

from timelines.backbones.rules.querying.reading import Act, read_note
from timelines.backbones.rules.querying.vocabulary import Kind, event_name, vocabulary
from timelines.domain import Inventory, Occurrence, Polarity, TaggedNote


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("calcium gluconate", ["calcium gluconate"]),
        ("ionized calcium 0.8", ["ionized calcium"]),
        ("C. diff PCR", ["c difficile"]),
        ("4-factor PCC", ["prothrombin complex concentrate"]),
        ("K 2.7, Mg 1.4", ["potassium", "magnesium"]),
        ("a ward of k and na", ["ward transfer"]),
        ("T2 signal", []),
        ("U/A", ["urinalysis"]),
        ("systolics", ["systolic pressure"]),
        ("D5 1/2NS at 50", ["d5 half-normal saline"]),
        ("1/2NS at 50", ["half-normal saline"]),
        ("Prevnar, flu shot", ["pneumococcal vaccine", "influenza vaccine"]),
        ("K runs x2", ["potassium chloride"]),
        ("vit K 10", ["phytonadione"]),
        ("intra-abdominal pressure 12", ["bladder pressure"]),
        ("BMP and coags", ["creatinine", "inr"]),
        ("labs at six", ["laboratory tests"]),
        ("Minnesota tube", ["balloon tamponade"]),
        ("RVP negative", ["influenza test"]),
        ("DuoNeb", ["ipratropium-albuterol"]),
    ],
)
def test_longest_term_wins(text: str, found: list[str]) -> None:
    assert [hit.concept.name for hit in vocabulary().find(text)] == found


@pytest.mark.parametrize(
    ("concept", "event", "matches"),
    [
        ("sodium", "lab:sodium:blood", True),
        ("sodium", "lab:sodium, urine:urine", False),
        ("furosemide", "med:furosemide (lasix) 250/50:start", True),
        ("sodium chloride 0.9%", "med:nacl 0.9%:start", True),
        ("sodium chloride 0.9%", "med:nacl 0.45%:start", False),
        ("pressor", "med:vasopressin:end", True),
        ("pressor", "med:furosemide (lasix):end", False),
        ("heart rate", "chart:heart rate alarm - high:", False),
        ("central venous pressure", "chart:central venous pressure:", True),
        ("influenza vaccine", "order:pneumococcal vac polyvalent:start", False),
        ("ward transfer", "transfer:vascular:", True),
        ("service change", "service:surg:", True),
        ("laboratory tests", "lab:hematocrit:blood", True),
    ],
)
def test_event_names_of_a_concept(concept: str, event: str, matches: bool) -> None:
    assert vocabulary().by_name[concept].matches(event_name(event)) is matches


def test_every_class_member_and_pattern_resolves() -> None:
    for concept in vocabulary().by_name.values():
        assert concept.patterns
        if concept.kind is Kind.DRUG_CLASS:
            assert set(concept.members) <= set(vocabulary().by_name)
        elif concept.kind is not Kind.DRUG:
            assert concept.queries


@pytest.mark.parametrize(
    ("note", "span", "concept", "act", "values"),
    [
        (
            "Levophed was weaned off on HD 3.",
            "Levophed was weaned off on HD 3",
            "norepinephrine",
            Act.END,
            set(),
        ),
        ("Vancomycin was ordered.", "Vancomycin was ordered", "vancomycin", Act.ORDER, set()),
        ("Lactate 2.3 after ERCP.", "Lactate 2.3 after ERCP", "lactate", Act.STATE, {2.3}),
        ("Magnesium 2 g IV was given.", "Magnesium 2 g IV", "magnesium sulfate", Act.BEGIN, {2.0}),
        (
            "Temperature 98.2 in the ED.",
            "Temperature 98.2 in the ED",
            "temperature",
            Act.STATE,
            {98.2},
        ),
        ("Transferred to the MICU.", "Transferred to the MICU", "icu arrival", Act.BEGIN, set()),
        ("Seen on HD 3 at 14:30.", "Seen on HD 3 at 14:30", None, Act.BEGIN, set()),
    ],
)
def test_reading_of_an_occurrence(
    note: str, span: str, concept: str | None, act: Act, values: set[float]
) -> None:
    occurrence = Occurrence("0a1b", 0, span, note.index(span), note.index(span) + len(span))
    reading = read_note(TaggedNote(note, Inventory((occurrence,))))["0a1b"]
    assert (reading.concept.name if reading.concept else None) == concept
    assert reading.act is act
    assert reading.values == values


def test_a_finding_carries_its_study() -> None:
    note = "CXR showed bilateral opacities."
    occurrence = Occurrence("0a1b", 0, "bilateral opacities", 11, 30, Polarity.PRESENT)
    reading = read_note(TaggedNote(note, Inventory((occurrence,))))["0a1b"]
    assert reading.carrier is vocabulary().by_name["chest x-ray"]


@pytest.mark.parametrize(
    ("event", "concept"),
    [
        ("lab:haemoglobin:result", "hemoglobin"),
        ("lab:Haematocrit:result", "hematocrit"),
        ("lab:hemoglobin:result", "hemoglobin"),
    ],
)
def test_the_name_of_a_row_may_have_a_british_spelling(event: str, concept: str) -> None:
    assert vocabulary().by_name[concept].matches(event_name(event))
    assert event_name("lab:haemophilus influenzae").words == ("haemophilus", "influenzae")
