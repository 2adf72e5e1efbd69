"""Pages of the list of cases that continue after a case, for programs."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q
from django.shortcuts import get_object_or_404

from accounts.models import Study
from ehr.models import Encounter
from timelines.cases.listing import CaseFilter, find_cases


def load_case_page(
    study: Study, wanted: CaseFilter, closed: Collection[int], after: str, limit: int
) -> tuple[list[Encounter], str | None]:
    """Return at most `limit` cases in order, and the next `after`.

    `after` is the public id of a case, which may have left the list since. Raises Http404 if it is
    not of the study.
    """
    found = find_cases(study, wanted, closed)
    if after:
        everything = find_cases(study, CaseFilter(sort=wanted.sort))
        last = get_object_or_404(everything, public_id=after)
        side = "lt" if wanted.sort.startswith("-") else "gt"
        key = getattr(last, "sort_key")  # noqa: B009  # annotated
        found = found.filter(
            Q(**{f"sort_key__{side}": key}) | Q(**{"sort_key": key, f"pk__{side}": last.pk})
        )
    cases = list(found[: limit + 1])
    page = cases[:limit]
    return page, page[-1].public_id if len(cases) > limit else None
