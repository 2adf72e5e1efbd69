"""Drug classes, as clinicians ask for them: "all antibiotics, and when".

The classes are those of the project's own drug table `drugs.psv`, under the repository's licence
(`docs/adr/0052-lanes.md`). Narrow classes count for their broad ones, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files

from timelines.backbones.rules.querying.vocabulary import Concept, Kind, vocabulary

_TABLE = "timelines.backbones.rules.querying"
#: What a class of the table is called on pages; several may have one name.
_NAMES = {
    "antibiotic": "Antibiotics", "cephalosporin": "Antibiotics", "carbapenem": "Antibiotics", "macrolide": "Antibiotics",
    "fluoroquinolone": "Antibiotics", "aminoglycoside": "Antibiotics", "tetracycline": "Antibiotics",
    "antifungal": "Antifungals", "antiviral": "Antivirals",
    "pressor": "Vasopressors", "oral pressor": "Vasopressors", "inotrope": "Inotropes",
    "sedative": "Sedatives", "induction": "Sedatives", "barbiturate": "Sedatives", "paralytic": "Paralytics",
    "opioid": "Opioids", "benzodiazepine": "Benzodiazepines", "analgesic": "Analgesics", "NSAID": "Analgesics", "antipyretic": "Analgesics",
    "anticoagulant": "Anticoagulants", "DOAC": "Anticoagulants", "antiplatelet": "Antiplatelets", "thrombolytic": "Thrombolytics",
    "reversal agent": "Reversal agents", "reversal": "Reversal agents", "anticoagulant reversal": "Reversal agents",
    "antifibrinolytic": "Reversal agents", "blood product": "Blood products", "transfusion": "Blood products",
    "antihypertensive": "Blood pressure lowering", "beta blocker": "Blood pressure lowering", "ACE inhibitor": "Blood pressure lowering",
    "ARB": "Blood pressure lowering", "calcium channel blocker": "Blood pressure lowering", "vasodilator": "Blood pressure lowering",
    "nitrate": "Blood pressure lowering",
    "antiarrhythmic": "Rate and rhythm", "rate control": "Rate and rhythm",
    "diuretic": "Diuretics", "loop diuretic": "Diuretics", "steroid": "Steroids", "antiepileptic": "Antiepileptics",
    "antipsychotic": "Antipsychotics", "antidepressant": "Antidepressants", "immunosuppressant": "Immunosuppressants",
    "chemotherapy": "Chemotherapy", "antihyperglycemic": "Glucose lowering", "statin": "Statins", "bronchodilator": "Bronchodilators",
    "inhaled steroid": "Bronchodilators", "acid suppression": "Acid suppression", "PPI": "Acid suppression", "antiemetic": "Antiemetics",
    "bowel regimen": "Laxatives", "laxative": "Laxatives", "fluid": "Fluids", "fluid bolus": "Fluids", "fluid resuscitation": "Fluids",
    "colloid": "Fluids", "electrolyte": "Electrolytes", "osmotherapy": "Osmotherapy",
}  # fmt: skip


@lru_cache(maxsize=1)
def _table() -> dict[str, tuple[str, ...]]:
    """Return the page's class names of every drug, in the table's order."""
    text = files(_TABLE).joinpath("data", "drugs.psv").read_text(encoding="utf-8")
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, classes, _ = (cell.strip() for cell in line.split("|"))
            named = (_NAMES.get(part.strip(), "") for part in classes.split(";"))
            found[name] = tuple(dict.fromkeys(n for n in named if n))
    return found


def drug_classes(concept: Concept) -> tuple[str, ...]:
    """Return the classes of a drug, or of a class of drugs."""
    if concept.kind is Kind.DRUG:
        return _table().get(concept.name, ())
    if concept.kind is Kind.DRUG_CLASS:
        return tuple(filter(None, [_NAMES.get(concept.name)]))
    return ()


def group_by_class(drugs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the keys of each class.

    `drugs` are pairs of a key and the name of its drug. Classes are in order of their names, keys in the given order.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for key, name in drugs:
        for group in drug_classes(vocabulary().by_name[name]):
            found[group].append(key)
    return dict(sorted(found.items()))
