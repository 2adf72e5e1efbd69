"""Names of LOINC, RxNorm and ATC, as FHIR and OMOP have them.

The vocabulary must find the same concepts by them as by the names of MIMIC-IV.
"""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from tests.paths import DEMO
from tests.spec.pipeline.quality.measured import reconstruct_case
from timelines.backbones.rules.querying.vocabulary import event_name, vocabulary
from timelines.backbones.rules.revision.measurements import _name_with_scale
from timelines.domain import SourceRow

#: Concept, and the name of a row of it.
SAME = [
    ("sodium", "lab:sodium [moles/volume] in serum or plasma:"),
    ("bicarbonate", "lab:carbon dioxide, total [moles/volume] in serum or plasma:"),
    ("bicarbonate", "lab:bicarbonate [moles/volume] in serum or plasma:"),
    ("urea nitrogen", "lab:urea nitrogen [mass/volume] in serum or plasma:"),
    ("creatinine", "lab:creatinine [mass/volume] in serum or plasma:"),
    ("egfr", "lab:glomerular filtration rate/1.73 sq m.predicted:"),
    ("calcium", "lab:calcium [mass/volume] in serum or plasma:"),
    ("ionized calcium", "lab:calcium.ionized [moles/volume] in blood:"),
    ("white cells", "lab:leukocytes [#/volume] in blood by automated count:"),
    ("hemoglobin", "lab:hemoglobin [mass/volume] in blood:"),
    ("platelets", "lab:platelets [#/volume] in blood by automated count:"),
    ("mcv", "lab:erythrocyte mean corpuscular volume [entitic volume] by automated count:"),
    ("rdw", "lab:erythrocyte distribution width [ratio] by automated count:"),
    ("red cells", "lab:erythrocytes [#/volume] in blood by automated count:"),
    ("inr", "lab:inr in platelet poor plasma by coagulation assay:"),
    ("pt", "lab:prothrombin time (pt):"),
    ("ptt", "lab:aptt in platelet poor plasma by coagulation assay:"),
    ("alt", "lab:alanine aminotransferase [enzymatic activity/volume] in serum or plasma:"),
    ("ast", "lab:aspartate aminotransferase [enzymatic activity/volume] in serum or plasma:"),
    ("bilirubin", "lab:bilirubin.total [mass/volume] in serum or plasma:"),
    ("total protein", "lab:protein [mass/volume] in serum or plasma:"),
    ("uric acid", "lab:urate [mass/volume] in serum or plasma:"),
    ("troponin", "lab:troponin i.cardiac [mass/volume] in serum or plasma:"),
    ("ck", "lab:creatine kinase [enzymatic activity/volume] in serum or plasma:"),
    ("ck-mb", "lab:creatine kinase.mb [mass/volume] in serum or plasma:"),
    ("bnp", "lab:natriuretic peptide b [mass/volume] in blood:"),
    ("tsh", "lab:thyrotropin [units/volume] in serum or plasma:"),
    ("pco2", "lab:carbon dioxide [partial pressure] in arterial blood:"),
    ("ph", "lab:ph of arterial blood:"),
    ("temperature", "vital:body temperature:"),
    ("heart rate", "vital:heart rate:"),
    ("respiratory rate", "vital:respiratory rate:"),
    ("systolic pressure", "vital:systolic blood pressure:"),
    ("oxygen saturation", "vital:oxygen saturation in arterial blood by pulse oximetry:"),
    ("gcs", "chart:glasgow coma score total:"),
    ("acetaminophen", "med:acetaminophen 325 mg oral tablet:administered"),
    ("acetaminophen", "med:paracetamol:start"),
    ("norepinephrine", "med:noradrenaline:start"),
    ("nitroglycerin", "order:glyceryl trinitrate:start"),
    ("albuterol", "med:salbutamol:administered"),
]
#: Names that have a word of the concept and are something else.
OTHER = [
    ("platelets", "lab:inr in platelet poor plasma by coagulation assay:"),
    ("platelets", "lab:platelet mean volume [entitic volume] in blood:"),
    ("white cells", "lab:neutrophils/100 leukocytes in blood by automated count:"),
    ("white cells", "lab:leukocytes [#/volume] in urine:"),
    ("hemoglobin", "lab:hemoglobin a1c/hemoglobin.total in blood:"),
    ("hemoglobin", "lab:erythrocyte mean corpuscular hemoglobin [entitic mass]:"),
    ("hemoglobin", "lab:methemoglobin/hemoglobin.total in blood:"),
    ("calcium", "lab:calcium.ionized [moles/volume] in blood:"),
    ("bicarbonate", "lab:carbon dioxide [partial pressure] in arterial blood:"),
    ("total protein", "lab:c reactive protein [mass/volume] in serum or plasma:"),
    ("ck", "lab:creatine kinase.mb [mass/volume] in serum or plasma:"),
    ("cholesterol", "lab:cholesterol in ldl [mass/volume] in serum or plasma:"),
    ("sodium", "lab:sodium [moles/volume] in urine:"),
    ("epinephrine", "med:noradrenaline:start"),
]


@pytest.mark.parametrize(("concept", "event"), SAME)
def test_a_concept_finds_its_code_names(concept: str, event: str) -> None:
    assert vocabulary().by_name[concept].matches(event_name(event))


@pytest.mark.parametrize(("concept", "event"), OTHER)
def test_a_concept_leaves_similar_code_names(concept: str, event: str) -> None:
    assert not vocabulary().by_name[concept].matches(event_name(event))


@pytest.mark.parametrize(
    ("event", "unit", "name"),
    [
        ("vital:body temperature:", "Cel", "vital:body temperature: temperature celsius"),
        ("vital:body temperature:", "[degF]", "vital:body temperature: temperature fahrenheit"),
        ("chart:temperature celsius:", "°C", "chart:temperature celsius:"),
        ("vital:heart rate:", "/min", "vital:heart rate:"),
    ],
)
def test_a_temperature_has_the_scale_of_its_unit(event: str, unit: str, name: str) -> None:
    assert _name_with_scale(SourceRow(0, 1.0, event, "38.6", unit)) == name


#: The names of the intro case, and those that a FHIR server gives the same rows.
RENAMED = {
    "chart:non invasive blood pressure systolic:": "vital:systolic blood pressure:",
    "chart:non invasive blood pressure diastolic:": "vital:diastolic blood pressure:",
    "chart:temperature celsius:": "vital:body temperature:",
    "chart:heart rate:": "vital:heart rate:",
    "lab:hemoglobin:blood": "lab:hemoglobin [mass/volume] in blood:blood",
    "lab:inr(pt):blood": "lab:inr in platelet poor plasma by coagulation assay:blood",
    "lab:platelet count:blood": "lab:platelets [#/volume] in blood by automated count:blood",
    "lab:creatinine:blood": "lab:creatinine [mass/volume] in serum or plasma:blood",
    "order:nicardipine:start": "order:nicardipine hydrochloride 2.5 mg/ml injection:start",
    "med:nicardipine:start": "med:nicardipine hydrochloride 2.5 mg/ml injection:start",
    "med:nicardipine:end": "med:nicardipine hydrochloride 2.5 mg/ml injection:end",
    "med:acetaminophen:administered": "med:paracetamol 325 mg oral tablet:administered",
    "order:acetaminophen:start": "order:paracetamol 325 mg oral tablet:start",
}


@pytest.mark.xdist_group("intro case")
def test_other_names_of_the_same_rows_give_the_same_times(tmp_path: Path) -> None:
    source = DEMO / "intro" / "intro-ich"
    for name in ("note.txt", "encounter.json"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    with gzip.open(source / "rows.csv.gz", "rt", newline="") as lines:
        rows = list(csv.DictReader(lines))
    renamed = sum(row["event"] in RENAMED for row in rows)
    with gzip.open(tmp_path / "rows.csv.gz", "wt", newline="") as out:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({**r, "event": RENAMED.get(r["event"], r["event"])} for r in rows)
    before, after = reconstruct_case(source), reconstruct_case(tmp_path)
    assert renamed > len(rows) / 2
    assert {e.uid: (e.time, e.adopted_rows) for e in after.revised[0].entries} == {
        e.uid: (e.time, e.adopted_rows) for e in before.revised[0].entries
    }
