"""Find cases by the words of their line, for the command palette."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Case, IntegerField, Value, When

from accounts.models import Study
from timelines.access.closed import exclude_closed
from timelines.cases.listing import CaseFilter, find_cases, title_line

MAX_FOUND = 20


@dataclass(frozen=True, slots=True)
class FoundCase:
    """A case that may be opened, with what distinguishes it from others."""

    public_id: str
    label: str
    detail: str


def find_by_words(study: Study, text: str, closed: Collection[int]) -> list[FoundCase]:
    """Return at most `MAX_FOUND` cases whose line has the text.

    Case ids that are or begin with the text come first. Empty without text. Closed cases are left
    out: they cannot be opened.
    """
    if not text.strip():
        return []
    wanted = CaseFilter(text=text.strip())
    rank = Case(
        When(case_id__iexact=wanted.text, then=Value(0)),
        When(case_id__istartswith=wanted.text, then=Value(1)),
        default=Value(2),
        output_field=IntegerField(),
    )
    found = exclude_closed(find_cases(study, wanted), closed, "pk")
    return [
        FoundCase(e.public_id, title_line(e), f"{e.case_id} · {e.dataset.name}")
        for e in found.order_by(rank, "case_id", "pk")[:MAX_FOUND]
    ]
