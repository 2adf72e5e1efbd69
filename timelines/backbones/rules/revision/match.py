"""How well a row matches an occurrence, and how far away it may be."""

from __future__ import annotations

from dataclasses import dataclass

#: Hours beyond the text's bounds at which a match is accepted: the same value is strong, the same
#: act weaker, a mere reading weakest.
REACH_VALUE = 30.0
REACH_ACT = 18.0
REACH_WEAK = 6.0
#: A result is written when it is known, days after its specimen was taken.
REACH_RESULT = 72.0
#: The only row of the record with a stated value prevails over a text time that is days off.
REACH_UNIQUE = 72.0


@dataclass(frozen=True, slots=True)
class Match:
    """The agreement of a row's content with an occurrence.

    `cost` 0 fits perfectly; `reach` in hours beyond the text's bounds; `reason` in a clinician's
    words. `exact`: the very value that the text states. `repeats`: such acts recur, so two
    occurrences at different times should not share the row; a value, a specimen or a move may be
    mentioned twice. `borrowed`: the subject was named before, not by the occurrence itself.
    """

    cost: float
    reach: float
    reason: str
    exact: bool = False
    repeats: bool = False
    borrowed: bool = False
