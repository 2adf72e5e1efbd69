"""The result of a report card in a sentence, before any table. No Django."""

from __future__ import annotations

from adjudication.reports.card.values import ReportCard


def describe_card(card: ReportCard) -> str:
    """Return how often the first reviewer upheld the judge.

    Empty before that reviewer has decided an item.
    """
    found = next((r for r in card.reviewers if r.reviewer == card.primary), None)
    if found is None or not found.raw.n:
        return ""
    rate = found.raw
    share = f"{100 * rate.upheld / rate.n:.0f} %"
    interval = (
        ""
        if rate.low is None or rate.high is None
        else f", 95 % CI {100 * rate.low:.0f} to {100 * rate.high:.0f} %"
    )
    return (
        f"{found.reviewer} upheld the judge in {rate.upheld} of {rate.n} items ({share}{interval})."
    )
