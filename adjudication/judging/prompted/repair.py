"""Ask again for the invalid findings of an answer; valid ones stay.

Protocol section 4, "Input". No Django.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from adjudication.domain import FindingType, Side
from adjudication.judging.input import JudgedFinding, JudgeInput
from adjudication.judging.validation import InvalidFinding, Tolerance, sort_findings
from llm_runtime.calls.calling import ask_again_whole
from llm_runtime.errors import AnswerRejected
from llm_runtime.prompts import delimit

#: Findings that one message asks for again. Their descriptions fit the tokens that
#: `llm_runtime.calls.budget` reserves; the others are asked for in the next attempt.
MOST_ASKED = 30
MOST_CHARACTERS = 60


class Repair:
    """The findings of one game over the attempts of one request.

    An answer without any valid finding is asked for again as a whole.
    """

    def __init__(self, given: JudgeInput, tolerance: Tolerance) -> None:
        self.given, self.tolerance = given, tolerance
        self.valid: list[JudgedFinding] = []
        self.invalid: list[InvalidFinding] = []

    @property
    def dropped(self) -> tuple[str, ...]:
        """The type and the faults of each finding that is still invalid."""
        return tuple(f"{_type_of(one.raw)}: {'; '.join(one.reasons)}" for one in self.invalid)

    def validate(self, raw: Sequence[object]) -> list[JudgedFinding]:
        """Return all valid findings once none is invalid.

        Raises AnswerRejected with the faults of the others.
        """
        asked = len(self.invalid[:MOST_ASKED])
        if self.invalid and len(raw) > asked:
            raise AnswerRejected([f"there are {len(raw)} findings, at most {asked} were asked for"])
        valid, invalid = sort_findings(raw, self.given, self.tolerance, self.valid)
        if invalid and not valid and not self.valid:
            raise AnswerRejected([reason for one in invalid for reason in one.numbered_reasons])
        self.valid += valid
        self.invalid = [*self.invalid[asked:], *invalid]
        if self.invalid:
            raise AnswerRejected(
                [reason for one in self.invalid for reason in one.numbered_reasons]
            )
        return self.valid

    def complain(self, reasons: Sequence[str]) -> str:
        """Return the message that asks again.

        It asks for the invalid findings alone if any were valid.
        """
        if not self.invalid:
            return ask_again_whole(reasons)
        asked = self.invalid[:MOST_ASKED]
        listed = "\n".join(f"{self._describe(one.raw)}: {'; '.join(one.reasons)}" for one in asked)
        said = [reason for one in self.invalid for reason in one.numbered_reasons]
        others = "".join(f"\n- {reason}" for reason in reasons[:5] if reason not in said)
        return (
            "Your earlier answers had valid findings, which are stored. A program refused these"
            f" findings, each with its faults:\n{delimit('findings', listed)}{others}\nAnswer in"
            f" the same form with these findings alone, corrected, at most {len(asked)}. Leave out"
            " a finding that you cannot correct."
        )

    def _describe(self, raw: object) -> str:
        """Return the type and rows of a finding, and the words of an unknown row."""
        said: dict[str, Any] = raw if isinstance(raw, dict) else {}
        named = {"type": said.get("type")}
        for side in Side:
            number = said.get(f"{side.lower()}_row")
            named[f"{side.lower()}_row"] = number
            if not isinstance(number, int) or number not in self.given.by_row:
                named[f"{side.lower()}_event"] = said.get(f"{side.lower()}_event")
        return json.dumps({name: _shorten(value) for name, value in named.items()})


def _shorten(value: object) -> int | str | None:
    if value is None or (isinstance(value, int) and abs(value) < 10**9):
        return value
    return str(value)[:MOST_CHARACTERS]


def _type_of(raw: object) -> str:
    kind = raw.get("type") if isinstance(raw, dict) else None
    return kind if kind in list(FindingType) else "finding"
