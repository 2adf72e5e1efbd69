"""What a person says about files that are not named as a format expects.

The pattern of the files' names (text), the names of columns (csv), the meaning of codes (meds). No
Django here.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import StringConstraints, ValidationError

from ehr.formats.base import LONGEST_EVENT, FormatError, is_storable
from ehr.formats.note_files import make_case_patterns
from ehr.formats.row_files import OPTIONAL, REQUIRED
from ehr.schema import TimeKind
from llm_runtime.schema import Strict, field_faults

PATTERN_FORMATS, COLUMN_FORMATS, CODE_FORMATS = ("text",), ("csv",), ("meds",)
#: Formats with something to map.
MAPPED_FORMATS = (*PATTERN_FORMATS, *COLUMN_FORMATS, *CODE_FORMATS)
COLUMNS = (*REQUIRED, *OPTIONAL)
MOST_RULES = 5_000
#: More stars could make a match take very long.
MOST_STARS = 3
#: `LAB//* = lab:{1}: | collection`; the time kind may be left out.
RULE = re.compile(r"(?P<pattern>.+?)\s+=\s+(?P<event>.+?)(?:\s+\|\s+(?P<kind>\S+))?")
RULE_FORM = "CODE = category:name:act | time kind"


@dataclass(frozen=True, slots=True)
class CodeRule:
    """Codes that fit `pattern` are this event; `*` fits any characters.

    `{1}` in the event is what the first `*` fits.
    """

    pattern: str
    event: str
    kind: TimeKind = TimeKind.UNKNOWN

    def __post_init__(self) -> None:
        stars = self.pattern.count("*")
        if stars > MOST_STARS or "**" in self.pattern:
            raise FormatError(f"The pattern {self.pattern} has too many stars, or two together.")
        numbers = [int(n) for n in re.findall(r"\{(\d{1,2})\}", self.event)]
        if any(not 1 <= n <= stars for n in numbers):
            raise FormatError(f"The pattern {self.pattern} has {stars} stars; {{1}} is the first.")
        if not self.event.strip() or len(self.event.encode()) > LONGEST_EVENT:
            raise FormatError(f"The event of {self.pattern} is empty or too long.")

    def find_event(self, code: str) -> str | None:
        """Return the event of a code, None if the pattern does not fit."""
        expression = "(.*?)".join(map(re.escape, self.pattern.split("*")))
        found = re.fullmatch(expression, code, re.DOTALL)
        if found is None:
            return None
        return re.sub(r"\{(\d{1,2})\}", lambda m: found.group(int(m.group(1))), self.event)

    def __str__(self) -> str:
        return f"{self.pattern} = {self.event} | {self.kind.value}"


@dataclass(frozen=True)
class ImportMapping:
    """What is mapped in one import; by default nothing.

    `columns` are pairs of our name and the name in the files.
    """

    pattern: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    codes: tuple[CodeRule, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.pattern or self.columns or self.codes)

    @property
    def digest(self) -> str:
        """Return what distinguishes the mapping; "" for none."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest() if self else ""

    def as_values(self) -> dict[str, Any]:
        """Return it as plain values, which `parse_mapping` reads."""
        return {k: v for k, v in asdict(self).items() if v}


NO_MAPPING = ImportMapping()

_Text = Annotated[str, StringConstraints(max_length=LONGEST_EVENT)]


class _Rule(Strict):
    pattern: _Text
    event: _Text
    kind: str = TimeKind.UNKNOWN.value


class _Values(Strict):
    pattern: _Text = ""
    columns: list[list[_Text]] = []
    codes: list[_Rule] = []


def parse_mapping(format: str, values: Mapping[str, Any]) -> ImportMapping:
    """Return the mapping of plain values. Raises FormatError."""
    try:
        found = _Values.model_validate(json.loads(json.dumps(values)))
        columns = tuple((ours, theirs) for ours, theirs in found.columns)
        codes = tuple(CodeRule(r.pattern, r.event, TimeKind(r.kind)) for r in found.codes)
    except ValidationError as error:
        fault = next(iter(field_faults(error)))
        raise FormatError(f"The mapping cannot be read: {fault.path}: {fault.reason}.") from None
    except (TypeError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError("The mapping cannot be read. Send pattern, columns or codes.") from None
    mapping = ImportMapping(found.pattern, columns, codes)
    check_mapping(format, mapping)
    return mapping


def check_mapping(format: str, mapping: ImportMapping) -> None:
    """Raise FormatError if the format has no such mapping, or for a fault."""
    for said, formats, what in (
        (mapping.pattern, PATTERN_FORMATS, "pattern of names"),
        (mapping.columns, COLUMN_FORMATS, "mapping of columns"),
        (mapping.codes, CODE_FORMATS, "map of codes"),
    ):
        if said and format not in formats:
            raise FormatError(f"Only the {formats[0]} format has a {what}.")
    make_case_patterns(mapping.pattern)
    _check_columns(mapping.columns)
    if len(mapping.codes) > MOST_RULES:
        raise FormatError(f"The map has more than {MOST_RULES:,} codes.")
    if not is_storable(json.dumps(mapping.as_values(), ensure_ascii=False)):
        raise FormatError("The mapping has a character that cannot be stored.")


def parse_rules(text: str) -> tuple[CodeRule, ...]:
    """Return the rules of a text with one on each line.

    Empty lines and lines that begin with # are comments. Raises FormatError with the line.
    """
    rules = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = RULE.fullmatch(line.strip())
        if found is None:
            raise FormatError(f"Line {number} of the map is not of the form {RULE_FORM}.")
        kind = found["kind"] or TimeKind.UNKNOWN.value
        if kind not in set(TimeKind):
            known = ", ".join(TimeKind)
            raise FormatError(f"Line {number} of the map has no known time kind: {known}.")
        try:
            rules.append(CodeRule(found["pattern"], found["event"], TimeKind(kind)))
        except FormatError as error:
            raise FormatError(f"Line {number} of the map: {error}") from None
    return tuple(rules)


def _check_columns(columns: tuple[tuple[str, str], ...]) -> None:
    ours, theirs = [c for c, _ in columns], [c for _, c in columns]
    if unknown := next((c for c in ours if c not in COLUMNS), None):
        raise FormatError(f"The column {unknown} is unknown. Known: {', '.join(COLUMNS)}.")
    if any(not name.strip() for name in theirs):
        raise FormatError("A column of the files has no name.")
    if len(set(ours)) < len(ours) or len(set(theirs)) < len(theirs):
        raise FormatError("A column is mapped twice.")
    if needed := next((c for c in REQUIRED if c in theirs and c not in ours), None):
        raise FormatError(f"Name the column of the files that is {needed} as well.")
