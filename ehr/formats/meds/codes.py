"""Map a MEDS code to the category, name and clinical act of an event.

Codes are parts joined by "//", as the MIMIC-IV extraction writes them; a code of another kind keeps
its own words, and its time kind is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ehr.formats.mapping import CodeRule
from ehr.schema import TimeKind

SEPARATOR = "//"
ADMISSION, DISCHARGE, REGISTRATION, BIRTH = (
    "HOSPITAL_ADMISSION",
    "HOSPITAL_DISCHARGE",
    "ED_REGISTRATION",
    "MEDS_BIRTH",
)
#: Item numbers of charted observations in MIMIC-IV, which its extraction puts under LAB too.
CHARTED_ITEMS = range(220_000, 240_000)
CHARTED_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Meaning:
    """`event` in lower case."""

    event: str
    kind: TimeKind
    unit: str = ""


def find_meaning(code: str, description: str = "") -> Meaning:
    """Return the meaning of one code.

    `description` (metadata/codes.parquet) replaces the number that names an item.
    """
    head, *rest = code.split(SEPARATOR)
    if head in _RULES:
        meaning = _RULES[head](rest, description)
    else:
        name = description or " ".join(part for part in rest if part)
        meaning = Meaning(f"{head}:{name}:", TimeKind.UNKNOWN)
    return Meaning(" ".join(meaning.event.lower().split()), meaning.kind, meaning.unit)


def find_ruled_meaning(code: str, rules: Sequence[CodeRule]) -> Meaning | None:
    """Return the meaning by the first rule that fits; None without one."""
    for rule in rules:
        event = rule.find_event(code)
        if event is not None:
            return Meaning(" ".join(event.lower().split()), rule.kind)
    return None


def _make_name_rule(
    category: str, kind: TimeKind, detail: str = ""
) -> Callable[[Sequence[str], str], Meaning]:
    """Category and the last part (or the description)."""
    return lambda rest, description: Meaning(
        f"{category}:{description or (rest[-1] if rest else '')}:{detail}", kind
    )


def _make_unit_rule(category: str, kind: TimeKind) -> Callable[[Sequence[str], str], Meaning]:
    """ITEM//UNIT."""

    def rule(rest: Sequence[str], description: str) -> Meaning:
        item = rest[0] if rest else ""
        unit = rest[1] if len(rest) > 1 and rest[1] != "UNK" else ""
        if (
            category == "lab"
            and len(item) == CHARTED_DIGITS
            and item.isascii()
            and item.isdigit()
            and int(item) in CHARTED_ITEMS
        ):
            return Meaning(f"chart:{description or item}:", TimeKind.CHARTED, unit)
        return Meaning(f"{category}:{description or item}:", kind, unit)

    return rule


def _medication(rest: Sequence[str], description: str) -> Meaning:
    """Return the meaning of a medication code.

    START//DRUG and STOP//DRUG are orders; DRUG//Administered and the like are doses.
    """
    if rest and rest[0].upper() in ("START", "STOP"):
        return Meaning(f"order:{description or ' '.join(rest[1:])}:{rest[0]}", TimeKind.ORDER)
    return Meaning(
        f"med:{description or (rest[0] if rest else '')}:{' '.join(rest[1:])}",
        TimeKind.ADMINISTRATION,
    )


def _procedure(rest: Sequence[str], description: str) -> Meaning:
    """Return the meaning of a procedure code.

    ICD//VERSION//CODE is billed; START//ITEM and END//ITEM are done at the bedside.
    """
    if rest and rest[0].upper() in ("START", "END"):
        return Meaning(
            f"procedure:{description or ' '.join(rest[1:])}:{rest[0]}", TimeKind.PERFORMED
        )
    return Meaning(f"procedure:{description or ' '.join(rest)}:billed", TimeKind.ADMINISTRATIVE)


def _make_fixed_rule(event: str) -> Callable[[Sequence[str], str], Meaning]:
    return lambda rest, description: Meaning(event, TimeKind.ADMINISTRATIVE)


_RULES: Mapping[str, Callable[[Sequence[str], str], Meaning]] = {
    ADMISSION: lambda rest, _: Meaning(
        f"admission:{rest[0] if rest else 'hospital admission'}:", TimeKind.ADMINISTRATIVE
    ),
    DISCHARGE: lambda rest, _: Meaning(
        f"admission:discharge:{rest[0] if rest else ''}", TimeKind.ADMINISTRATIVE
    ),
    REGISTRATION: _make_fixed_rule("admission:ed registration:"),
    "ED_OUT": _make_fixed_rule("admission:ed out:"),
    "MEDS_DEATH": _make_fixed_rule("admission:death:"),
    "TRANSFER_TO": _make_name_rule("transfer", TimeKind.ADMINISTRATIVE),
    "ICU_ADMISSION": _make_name_rule("icu", TimeKind.ADMINISTRATIVE, "in"),
    "ICU_DISCHARGE": _make_name_rule("icu", TimeKind.ADMINISTRATIVE, "out"),
    "DIAGNOSIS": lambda rest, description: Meaning(
        f"diagnosis:{description or ' '.join(rest)}:", TimeKind.ADMINISTRATIVE
    ),
    "DRG": _make_name_rule("diagnosis", TimeKind.ADMINISTRATIVE),
    "PROCEDURE": _procedure,
    "MEDICATION": _medication,
    "INFUSION_START": _make_name_rule("med", TimeKind.ADMINISTRATION, "start"),
    "INFUSION_END": _make_name_rule("med", TimeKind.ADMINISTRATION, "end"),
    "LAB": _make_unit_rule("lab", TimeKind.COLLECTION),
    "SUBJECT_FLUID_OUTPUT": _make_unit_rule("output", TimeKind.CHARTED),
    "SUBJECT_WEIGHT_AT_INFUSION": lambda rest, _: Meaning(
        "chart:weight at infusion:", TimeKind.CHARTED, rest[0] if rest else ""
    ),
}
