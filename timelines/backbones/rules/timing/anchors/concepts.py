"""Canonical tokens of clinical phrases.

References and repeats use them to decide whether two wordings mean the same.
"""

from __future__ import annotations

import re
from functools import lru_cache

#: Wordings that mean one thing, each group under its first name. Matched on lower-case text,
#: longest first.
_GROUPS: tuple[tuple[str, ...], ...] = (
    ("extubat", "extubated", "extubation", "extubate", "tube out", "ett out", "decannulated",
      "tube came out", "tube was removed", "endotracheal tube removed", "breathing tube out"),
    ("intubat", "intubated", "intubation", "intubate", "tubed", "endotracheal intubation"),
    ("ett", "endotracheal tube", "breathing tube"),
    ("lp", "lumbar puncture", "spinal tap", "csf", "cerebrospinal fluid"),
    ("cvl", "central line", "central venous line", "central venous catheter", "cvc", "ij line", "triple lumen", "cordis", "introducer"),
    ("aline", "a-line", "arterial line", "art line"),
    ("swan", "swan-ganz", "pa catheter", "pa line", "pulmonary artery catheter"),
    ("crrt", "cvvh", "cvvhd", "cvvhdf", "rrt", "renal replacement", "dialysis", "hemodialysis", "ihd"),
    ("egd", "upper endoscopy", "endoscopy", "endoscopic", "scope", "esophagogastroduodenoscopy"),
    ("ct", "cat scan", "computed tomography", "nchct", "ctap", "cta"),
    ("mri", "magnetic resonance"),
    ("cxr", "chest x-ray", "chest xray", "chest film", "chest radiograph", "chest x ray", "portable chest"),
    ("echo", "tte", "tee", "echocardiogram", "echocardiography"),
    ("eeg", "ltm", "electroencephalogram"),
    ("ekg", "ecg", "electrocardiogram"),
    ("us", "ultrasound", "duplex", "doppler", "sonogram"),
    ("surgery", "operation", "operative", "operating room", "surgical", "or"),
    ("cabg", "coronary artery bypass", "bypass grafting"),
    ("bypass", "cardiopulmonary bypass", "on pump"),
    ("furosemide", "lasix", "diuretic", "diuresis"),
    ("norepinephrine", "levophed", "levo", "norepi"),
    ("phenylephrine", "neo", "neosynephrine"),
    ("epinephrine", "epi"),
    ("vasopressin", "vaso"),
    ("dobutamine", "dobut"),
    ("fentanyl", "fent"),
    ("midazolam", "midaz", "versed"),
    ("vancomycin", "vanc", "vanco"),
    ("pip-tazo", "zosyn", "piperacillin"),
    ("phenytoin", "dilantin", "pht", "fosphenytoin"),
    ("diltiazem", "dilt"),
    ("metoprolol", "metop", "lopressor", "toprol"),
    ("amiodarone", "amio"),
    ("digoxin", "dig"),
    ("heparin", "hep", "heparin gtt"),
    ("warfarin", "coumadin"),
    ("antibiotic", "antibiotics", "abx", "antimicrobials"),
    ("bolus", "boluses", "fluid resuscitation"),
    ("transfus", "transfusion", "transfused", "prbc", "packed cells", "red cells", "packed red"),
    ("platelet", "platelets", "plt", "plts"),
    ("afib", "atrial fibrillation", "af", "fibrillated", "a fib", "a-fib", "paf"),
    ("vt", "ventricular tachycardia", "v-tach"),
    ("chf", "heart failure", "hf", "adhf"),
    ("mi", "myocardial infarction", "stemi", "nstemi"),
    ("htn", "hypertension", "hypertensive"),
    ("hld", "hyperlipidemia", "dyslipidemia"),
    ("dm", "diabetes", "dm2", "t2dm", "iddm", "niddm", "type 2 diabetes", "diabetes mellitus"),
    ("ckd", "chronic kidney disease"),
    ("aki", "acute kidney injury", "acute renal failure", "arf", "renal failure", "atn"),
    ("copd", "chronic obstructive pulmonary disease"),
    ("osa", "obstructive sleep apnea"),
    ("dvt", "deep vein thrombosis", "deep venous thrombosis"),
    ("pe", "pulmonary embolism", "pulmonary embolus"),
    ("gerd", "gastroesophageal reflux"),
    ("dyspnea", "sob", "shortness of breath", "doe"),
    ("respfailure", "resp failure", "respiratory failure", "acute respiratory failure", "hypercapnic failure"),
    ("seizure", "seizures", "sz", "convulsion", "gtc", "status epilepticus"),
    ("pneumonia", "pna"),
    ("uti", "urinary tract infection"),
    ("stroke", "cva", "cerebrovascular accident"),
    ("ich", "intracranial hemorrhage", "intracerebral hemorrhage"),
    ("arrest", "cardiac arrest", "pea arrest", "code blue"),
    ("gib", "gi bleed", "gastrointestinal bleed", "gastrointestinal bleeding", "hematemesis"),
    ("cxtube", "chest tube", "chest tubes"),
    ("trach", "tracheostomy", "tracheotomy"),
    ("peg", "gastrostomy", "g-tube"),
    ("hypotens", "hypotension", "hypotensive", "low bp", "low blood pressure"),
    ("foley", "urinary catheter"),
    ("hct", "hematocrit"),
    ("hgb", "hemoglobin", "hb"),
    ("wbc", "white count", "white blood cell", "leukocytosis", "white blood cells"),
    ("cr", "creatinine", "creat"),
    ("k", "potassium"),
    ("na", "sodium"),
    ("hco3", "bicarbonate", "bicarb"),
    ("mg", "magnesium"),
    ("inr", "international normalized ratio"),
    ("bili", "bilirubin", "tbili"),
    ("echo", "ef", "lvef", "ejection fraction"),
    ("fever", "febrile", "temperature", "tmax"),
    ("culture", "cultures", "cx", "bcx", "ucx"),
)  # fmt: skip
_CANON = {wording: group[0] for group in _GROUPS for wording in group}
_WORDING = re.compile(
    r"(?<![\w-])(?:"
    + "|".join(re.escape(w) for w in sorted(_CANON, key=len, reverse=True))
    + r")(?![\w-])"
)
_STOP_WORDS = (
    "the a an of to and or with without in on at by for from as was were is are be been being had"
    " has have he she they it his her their its this that these those there then no not never new"
    " old more less some any all further again once first second third patient pt during after"
    " before given started stopped status time mg ml cc l day days hour hours via w s p per x acute"
    " severe year years month months week weeks ago since one two three four five six seven eight"
    " nine ten place placed previous left right history prior repeat final initial last admission"
    " discharge hospital course problem outside into out off down up "
)
_STOP = frozenset(_STOP_WORDS.split())
_SUFFIX = re.compile(r"(?:ations?|ated|ates?|ings?|ions?|ed|es|s|al|ic)$")


@lru_cache(maxsize=8192)
def concepts(text: str) -> frozenset[str]:
    """Return the canonical content tokens of a phrase, without numbers.

    "PA catheter placed" gives {swan, plac}.
    """
    lowered = re.sub(r"\s+", " ", text.lower().replace("’", "'"))
    found: set[str] = set()

    def canonical(match: re.Match[str]) -> str:
        found.add(_CANON[match.group()])
        return " "

    rest = _WORDING.sub(canonical, lowered)
    for word in re.findall(r"[a-z][a-z'-]{1,}", rest):
        if word not in _STOP:
            found.add(stem(word))
    return frozenset(found)


@lru_cache(maxsize=8192)
def numbers(text: str) -> frozenset[str]:
    """Return the figures of a phrase: "HCO3-20*" gives {20}.

    Decimals lose trailing zeros.
    """
    found = re.findall(r"\d+(?:\.\d+)?", text)
    return frozenset(f.rstrip("0").rstrip(".") if "." in f else f for f in found)


def stem(word: str) -> str:
    """A word without its common endings, at least four letters of it."""
    shorter = _SUFFIX.sub("", word)
    return shorter if len(shorter) >= 4 else word
