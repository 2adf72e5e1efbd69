"""How well the content of a row matches an occurrence, and how far from the text's time that is
believed.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Hours beyond the text's bounds that a match is believed: the same value is strong, the same act
#: weaker, a mere reading weakest.
REACH_VALUE = 30.0
REACH_ACT = 18.0
REACH_WEAK = 6.0
#: A result is written when it is known, days after its specimen was taken.
REACH_RESULT = 72.0
#: The only row of the record with a stated value is believed over a text time that is days off.
REACH_UNIQUE = 72.0


@dataclass(frozen=True, slots=True)
class Match:
    """`cost` 0 fits perfectly; `reach` in hours; `reason` in a clinician's words.

    `exact`: the very value that the text states.

    `repeats`: such acts recur, so two occurrences at different times should not share the row;
    a value, a specimen or a move may well be mentioned twice.
    """

    cost: float
    reach: float
    reason: str
    exact: bool = False
    repeats: bool = False
