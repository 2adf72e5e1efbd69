"""Read the words that say whether two mentions are about one thing."""

from __future__ import annotations

import re

_WORD = re.compile(r"[a-z][a-z0-9%+-]*")
#: Words that do not say what an event is: grammar, amounts of time, degrees and reporting verbs.
_COMMON = frozenset(
    _WORD.findall(
        "a an the this that these those his her their its and or but of in on at to by for "
        "from with without within as into over under per via than then there was were is are "
        "be been being had has have having he she they it who which patient pt man woman male "
        "female day days night nights morning afternoon evening today yesterday tomorrow last "
        "next ago hour hours week weeks month months year years old hospital stay admission "
        "admitted discharge one two three four five six seven eight nine ten few several "
        "about around approximately since until during after before overnight mild mildly "
        "moderate moderately severe severely large small slight slightly trace minimal marked "
        "new newly noted shows showed shown showing seen found reported reports reporting "
        "revealed revealing complains complained complaint presented presenting developed "
        "likely possible still some any no not denies denied started began given gave placed "
        "also "
    )
)
#: What excludes each other if one mention has the one and the other mention the other.
_OPPOSITES = (
    (
        r"\bleft\b|(?-i:\bL(?:t\.?|LL|UL|IJ|SC|LE|UE)\b)",
        r"\bright\b|(?-i:\bR(?:t\.?|LL|ML|UL|IJ|SC|LE|UE)\b)",
    ),
    (r"\bupper\b|(?-i:\b[RL]U[LE]\b)", r"\blower\b|(?-i:\b[RL]L[LE]\b)"),
    (r"\bproximal\b", r"\bdistal\b"),
    (r"\banterior\b", r"\bposterior\b"),
    (r"\bsystolic\b", r"\bdiastolic\b"),
    (r"\bimprov\w*", r"\bworse\w*"),
    (r"\bincreas\w*|\bup\b", r"\bdecreas\w*|\bdown\b"),
    (r"\bpositive\b|\bgrew\b|\bgrowing\b", r"\bnegative\b|\bno growth\b"),
    (r"\bacute\b(?! on chronic)", r"(?<!acute on )\bchronic\b"),
)
_PATTERNS = tuple(
    (re.compile(one, re.IGNORECASE), re.compile(other, re.IGNORECASE)) for one, other in _OPPOSITES
)
_BOTH_SIDES = re.compile(r"\bbilateral\w*|\bboth\b|\bb/l\b", re.IGNORECASE)
_ONE_SIDE = re.compile(f"{_OPPOSITES[0][0]}|{_OPPOSITES[0][1]}", re.IGNORECASE)
_AGAIN = re.compile(
    r"\brepeat\w*|\bagain\b|\bsecond\b|\bthird\b|\banother\b|\bfollow-?up\b"
    r"|\bre-?(?:intubat|start|bolus|scan|insert|plac|explor|admit|admission)\w*",
    re.IGNORECASE,
)
_ONGOING = re.compile(
    r"\bin (?:situ|place)\b|\bremain\w*|\bstill\b|\bcontinu\w*|\bongoing\b|\bpersist\w*",
    re.IGNORECASE,
)
#: Regions of the body and specimens: one concept of the vocabulary, such as "ct", has several.
_REGIONS = {
    "head": r"head|brain|cranial|intracranial|NCHCT",
    "chest": r"chest|thora\w+|lungs?|pulmonary|CTPA|CXR",
    "abdomen": r"abd\w*|pelvi\w+|liver|hepatic|RUQ|gallbladder|biliary",
    "neck": r"neck|carotid|cervical",
    "spine": r"spine|spinal|lumbar|sacral",
    "kidney": r"renal|kidneys?",
    "heart": r"cardiac|heart|coronary|transthoracic|transesophageal",
    "arm": r"arms?|hands?|wrists?|elbows?|shoulders?|upper extremit\w+|[RL]UE",
    "leg": r"legs?|foot|feet|ankles?|knees?|hips?|lower extremit\w+|[RL]LE|LENIs?",
    "blood": r"blood|serum",
    "urine": r"urine|urinary",
    "sputum": r"sputum|tracheal|bronchoalveolar|BAL",
    "wound": r"wounds?|abscess\w*",
    "stool": r"stools?|fecal",
}
_REGION_PATTERNS = {
    name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in _REGIONS.items()
}


def find_content(text: str) -> frozenset[str]:
    """Return the words that say what an event is, without plural endings."""
    words = (w.strip("-") for w in _WORD.findall(text.lower()))
    return frozenset(w.removesuffix("s") for w in words if len(w) > 1 and w not in _COMMON)


def find_opposites(first: str, second: str) -> str:
    """Return words of two texts that exclude each other; "" without any."""
    for one, other in _PATTERNS:
        for left, right in ((one, other), (other, one)):
            has, lacks = left.search(first), right.search(second)
            if has and lacks and not right.search(first) and not left.search(second):
                return f"“{has.group()}” and “{lacks.group()}”"
    for both, single in ((first, second), (second, first)):
        sides, side = _BOTH_SIDES.search(both), _ONE_SIDE.search(single)
        if sides and side and not _BOTH_SIDES.search(single) and not _is_both(single):
            return f"“{sides.group()}” and “{side.group()}”"
    return ""


def _is_both(text: str) -> bool:
    left, right = _PATTERNS[0]
    return bool(left.search(text) and right.search(text))


def find_regions(text: str) -> frozenset[str]:
    """Return the regions of the body and the specimens that a text names."""
    return frozenset(name for name, words in _REGION_PATTERNS.items() if words.search(text))


def is_again(text: str) -> bool:
    """Return whether a text says that something was done once more."""
    return _AGAIN.search(text) is not None


def is_ongoing(text: str) -> bool:
    """Return whether a text says that something was there already."""
    return _ONGOING.search(text) is not None
