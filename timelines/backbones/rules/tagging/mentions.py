"""Write mentions that are clear without the rest of the note.

A mention has the span's own words, with abbreviations expanded and implied words added: the analyte
of a bare value, the drug of "restarted", the negation of a list, the heading above it, the time or
place that opens its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from timelines.backbones.rules.tagging.chunks import (
    Chunk,
    Clause,
    concepts,
    has_value,
    is_bare_value,
    names_something,
)
from timelines.backbones.rules.tagging.lexicon import Concept
from timelines.backbones.rules.tagging.tokens import Token, tokenize
from timelines.backbones.rules.tagging.vocabulary import (
    ACTIONS,
    COURSE_ACTS,
    TREATMENT_ACTS,
    TREND_ACTS,
)
from timelines.domain import Lane

_CONTEXT = {
    "results_admission": "{} (admission labs)",
    "results_discharge": "{} (discharge labs)",
    "exam_admission": "{} (admission exam)",
    "exam_discharge": "{} (discharge exam)",
    "exam": "{} (exam)",
    "medications_admission": "home medication {}",
    "medications_discharge": "discharge medication {}",
    "allergies": "allergy: {}",
    "chief_complaint": "{} (chief complaint)",
    "procedures": "{} (procedure list)",
    "pmh": "history of {}",
    "family": "family history: {}",
    "discharge_diagnosis": "{} (discharge diagnosis)",
    "admission_diagnosis": "{} (admission diagnosis)",
    "discharge_condition": "{} at discharge",
    "disposition": "disposition: {}",
    "followup": "planned: {}",
    "instructions": "instruction: {}",
    "transitional": "planned: {}",
}
#: The hyphen of a lab string: "WBC-14.2", but not the sign of "RASS -2".
_LABEL = re.compile(r"^([A-Za-z%/. ]*(?:[A-Za-z]|HCO3|CO2|B12|T4))(?:-|\s+-\s+)(?=\d)")
#: The colon of a measure: "HR: 78".
_COLON = re.compile(r"(?<=[A-Za-z])\s*:\s+(?=\d)")
_DENIED = re.compile(r"(?:no|none|not|never|denies|denied|without|nkda)\b", re.IGNORECASE)
#: "b/l" is bilateral, but baseline before a value.
_BASELINE = re.compile(r"\bb/l(?= (?:[A-Z]\w+ )?\d)")
#: Leading words that point to something outside the mention.
_POINTERS = re.compile(
    r"^(?:(?:she|he|they|it|his|her|their|its|the|a|an|this|that)\s+)+(?=\S)", re.IGNORECASE
)
_SIDES = {"L": "left", "R": "right"}
#: Names of a route, not of a substance.
_GENERIC = frozenset({"gtt", "gtts", "drip", "drips", "infusion", "infusions", "bolus", "boluses"})
_UNNAMED = frozenset({"procedure", "procedures", "surgery", "operation", "medications", "meds"})
_TREATMENTS = frozenset({Concept.DRUG, Concept.FLUID, Concept.DEVICE, Concept.PROCEDURE})


@dataclass
class Thread:
    """The names that later elliptical words of the same problem refer to."""

    measure: str = ""
    treatment: str = ""
    finding: str = ""
    lane: Lane | None = None


def build_mention(
    clause: Clause,
    chunk: Chunk,
    section_kind: str,
    thread: Thread,
    *,
    negated: bool,
    lead: str,
    heading: bool,
) -> str:
    """Return a non-empty standalone mention of the chunk.

    `lead` is the time or place that opens its line.
    """
    text = _expand(
        clause.text[clause.tokens[chunk.first].start : clause.tokens[chunk.last - 1].end]
    )
    if chunk.shared:
        name = clause.text[clause.tokens[chunk.first].start : clause.tokens[chunk.named - 1].end]
        act = chunk.shared - 1
        while clause.in_time[act] and clause.in_time[act - 1]:
            act -= 1
        rest = clause.text[clause.tokens[act].start : clause.tokens[chunk.shared - 1].end]
        text = _expand(f"{name} {rest}")
    if chunk.repeat:
        given = thread.lane in {Lane.MEDICATION, Lane.PROCEDURE}
        name = thread.treatment if given else thread.measure or thread.treatment or thread.finding
        return _small_initial(f"{name} again {text}".strip().replace("again again", "again"))
    text = _small_initial(_restore_name(clause, chunk, _POINTERS.sub("", text) or text, thread))
    if negated and not _DENIED.match(text):
        text = f"no {text}"
    if heading:
        return f"{text} (problem)"
    if lead and not any(clause.in_time[chunk.first : chunk.last]):
        text = f"{text}, {_small_initial(lead)}"
    if section_kind.startswith("results_") and not concepts(clause, chunk.first, chunk.last) <= {
        Concept.LAB,
        Concept.DRUG,
    }:
        section_kind = "results"
    template = _CONTEXT.get(section_kind, "{}")
    if section_kind in {"allergies", "pmh", "disposition"} and (
        _DENIED.match(text) or _has_act(clause, chunk)
    ):
        template = "{}"
    return template.format(text)


def remember(clause: Clause, chunk: Chunk, lane: Lane, thread: Thread) -> None:
    """Keep the chunk's names for the elliptical words that follow."""
    for term in clause.terms:
        if not chunk.first <= term.first < chunk.last:
            continue
        if clause.tokens[term.first].lower in _GENERIC | _UNNAMED:
            continue
        name = _expand(
            clause.text[clause.tokens[term.first].start : clause.tokens[term.last - 1].end]
        )
        if term.concept in {Concept.LAB, Concept.VITAL}:
            thread.measure, thread.lane = name, lane
        elif term.concept in _TREATMENTS:
            thread.treatment, thread.lane = name, lane
        elif term.concept is Concept.FINDING:
            thread.finding, thread.lane = name, lane


def _has_act(clause: Clause, chunk: Chunk) -> bool:
    return any(
        clause.parts[i] == "VERB" or clause.tokens[i].lower in ACTIONS
        for i in range(chunk.first, chunk.last)
    )


def _restore_name(clause: Clause, chunk: Chunk, text: str, thread: Thread) -> str:
    """Put the name back that an elliptical chunk leaves out."""
    terms = [t for t in clause.terms if chunk.first <= t.first < chunk.last]
    if terms and all(clause.tokens[t.first].lower in _GENERIC for t in terms):
        return f"{thread.treatment} {text}" if thread.treatment else text
    if terms or names_something(clause, chunk):
        return text
    words = {clause.tokens[i].lower for i in range(chunk.first, chunk.last)}
    given = thread.lane in {Lane.MEDICATION, Lane.PROCEDURE} and not (
        thread.measure and words & {"was", "were", "is"}
    )
    if is_bare_value(clause, chunk):
        name = thread.treatment if given else thread.measure or thread.finding or thread.treatment
        return f"{name} {text}" if name else text
    if has_value(clause, chunk.first, chunk.last) and words & TREND_ACTS:
        name = thread.treatment if given else thread.measure
        return f"{name} {text}" if name else text
    name = (
        thread.finding
        if words & COURSE_ACTS
        else thread.treatment
        if words & TREATMENT_ACTS
        else ""
    )
    return f"{name} {text}" if name else text


def _small_initial(text: str) -> str:
    """Write a capital that only opens a sentence in lower case.

    Abbreviations do not change.
    """
    word = text.split(" ", 1)[0]
    return text[0].lower() + text[1:] if len(word) > 1 and word[1:].islower() else text


def _expand(text: str) -> str:
    """Expand abbreviations, collapse white space and remove lab marks.

    "WBC-14.2*" becomes "white blood cell count 14.2".
    """
    table = _abbreviations()
    plain = _BASELINE.sub("baseline", re.sub(r"\s+", " ", text).replace("*", ""))
    for phrase, spelled in _phrases().items():
        plain = plain.replace(phrase, spelled)
    plain = _COLON.sub(" ", _LABEL.sub(lambda m: f"{m[1]} ", plain))
    out, last = [], 0
    tokens = tokenize(plain)
    for i, token in enumerate(tokens):
        full = (
            table.get(token.text)
            or (table.get(token.lower) if len(token.text) > 3 else None)
            or _side(tokens, i)
        )
        if (
            full
            and not (len(token.text) == 1 and plain[token.end : token.end + 1] == ".")
            and "/"
            not in plain[max(0, token.start - 1) : token.start] + plain[token.end : token.end + 1]
        ):
            glued = plain[token.end : token.end + 1] not in {"", " ", ",", "-", ")"}
            out.append(plain[last : token.start] + full + (" " if glued else ""))
            last = token.end
    return ("".join(out) + plain[last:]).strip(" .,;:-#") or plain.strip() or text


def _side(tokens: list[Token], i: int) -> str | None:
    """ "L arm" is the left arm, "2 L" is two litres."""
    if (
        tokens[i].text not in _SIDES
        or i + 1 >= len(tokens)
        or not tokens[i + 1].is_word
        or (i and tokens[i - 1].is_number)
    ):
        return None
    return _SIDES[tokens[i].text]


@lru_cache(maxsize=1)
def _phrases() -> dict[str, str]:
    """The abbreviations of more than one word."""
    return {
        short: full
        for short, full in _abbreviations().items()
        if " " in short and short[0].isupper()
    }


@lru_cache(maxsize=1)
def _abbreviations() -> dict[str, str]:
    lines = (
        (Path(__file__).with_name("lexicon") / "abbreviations.txt")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    pairs = [line.split(" = ") for line in lines if line and not line.startswith("#")]
    table = {short.strip(): full.strip() for short, full in pairs}
    table.update({short.lower(): full for short, full in table.items() if len(short) > 3})
    return table
