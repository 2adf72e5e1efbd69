"""Words for shifts, lanes and rows of a timeline.

Note, plot, table and panel share them. No Django here. Times are written by
`ehr.presentation.clock`.
"""

from __future__ import annotations

from ehr.presentation.wording import NOT_PLACED, span_words
from timelines.domain import CitedAs, Lane, NoRows

LANE_WORDS: dict[Lane, str] = {
    Lane.HISTORY: "History",
    Lane.FINDING: "Symptoms, findings",
    Lane.LAB: "Labs",
    Lane.MEDICATION: "Medications",
    Lane.PROCEDURE: "Procedures, lines",
    Lane.TRANSFER: "Transfers",
    Lane.PLAN: "Plans",
}


CITED_WORDS: dict[CitedAs | None, str] = {
    CitedAs.CITED: "cited by the model",
    CitedAs.CITED_ELSEWHERE: "cited by the model, found for another occurrence",
    CitedAs.INFERRED: "inferred link: same hour",
    CitedAs.MATCHED: "matched by a rule",
    None: "used",
}


NO_ROWS_WORDS: dict[NoRows, str] = {
    NoRows.NONE_FOUND: "The search found no series with a row that has a time.",
    NoRows.BELOW_THRESHOLD: "Every series that was found is below the relevance threshold.",
    NoRows.OVER_BUDGET: "Rows were found, but the budget for printed rows was spent.",
}


def shift_words(before: float | None, after: float | None, *, cited: bool) -> str:
    """Return the change by revision: "5 h later", "unchanged".

    Also "30 min earlier" and "no longer placed". What the text did not place is "placed by
    evidence" only if a row is `cited`.
    """
    if before is None and after is None:
        return NOT_PLACED
    if before is None:
        return "placed by evidence" if cited else "placed on revision"
    if after is None:
        return "no longer placed"
    if abs(after - before) * 60 < 0.5:
        return "unchanged"
    return f"{span_words(after - before)} {'later' if after > before else 'earlier'}"


def shorten_quote(words: str, longest: int = 80) -> str:
    """Return words on one line, cut with "…" if they are longer."""
    plain = " ".join(words.split())
    return plain if len(plain) <= longest else f"{plain[:longest].rstrip()} …"
