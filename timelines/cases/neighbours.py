"""The previous and the next case of the list that a person came from.

The session has the list's filter and order. A list that was found by words is stored as public ids:
the session never has searched text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from accounts.models import Study
from ehr.models import Encounter
from timelines.access.closed import closed_encounters, exclude_closed
from timelines.cases.listing import CaseFilter, find_cases

SESSION_KEY = "case_list"
#: Maximum number of public ids that a session stores of a list found by words.
MAX_IDS = 500


def remember_list(
    request: HttpRequest, study: Study, wanted: CaseFilter, found: QuerySet[Encounter]
) -> None:
    """Store the list that the person sees: its filter, or its cases."""
    if wanted.text:
        remember_cases(request, study, found.values_list("public_id", flat=True)[:MAX_IDS])
        return
    _store(request, {"study": study.public_id, "filter": wanted.parameters})


def remember_cases(request: HttpRequest, study: Study, public_ids: Iterable[str]) -> None:
    """Store these cases in their order, for example those that a search found."""
    ids = list(dict.fromkeys(public_ids))[:MAX_IDS]
    _store(request, {"study": study.public_id, "ids": ids})


def neighbours(request: HttpRequest, encounter: Encounter) -> tuple[str | None, str | None]:
    """Return the public ids of the previous and the next case.

    They follow the list that the person came from. Without one, or for a case that is not in it,
    they follow all cases of the study. Cases that are closed to the person are left out. None at an
    end of the list.
    """
    study = encounter.dataset.study
    closed = closed_encounters(request.user)
    listed = request.session.get(SESSION_KEY, {})
    if listed.get("study") != study.public_id:
        listed = {}
    if encounter.public_id in (ids := listed.get("ids", ())):
        opened = exclude_closed(Encounter.objects.filter(dataset__study=study), closed, "pk")
        return _around_in_ids(ids, encounter.public_id, opened)
    wanted = CaseFilter.parse(listed.get("filter", {}))
    if wanted.dataset not in ("", encounter.dataset.public_id):
        wanted = CaseFilter()
    cases = exclude_closed(find_cases(study, wanted, closed), closed, "pk")
    everything = find_cases(study, CaseFilter(sort=wanted.sort))
    key = getattr(everything.get(pk=encounter.pk), "sort_key")  # noqa: B009  # annotated
    return _around_in_order(cases, key, encounter.pk, down=wanted.sort.startswith("-"))


def _store(request: HttpRequest, listed: dict[str, Any]) -> None:
    if request.session.get(SESSION_KEY) != listed:
        request.session[SESSION_KEY] = listed


def _around_in_ids(
    ids: Sequence[str], current: str, opened: QuerySet[Encounter]
) -> tuple[str | None, str | None]:
    known = {*opened.filter(public_id__in=ids).values_list("public_id", flat=True), current}
    order = [public_id for public_id in ids if public_id in known]
    at = order.index(current)
    return order[at - 1] if at else None, order[at + 1] if at + 1 < len(order) else None


def _around_in_order(
    cases: QuerySet[Encounter], key: Any, pk: int, *, down: bool
) -> tuple[str | None, str | None]:
    """Return the nearest cases on both sides of a place in the order.

    The case of that place may have left the list, for example because it has been reviewed since.
    """
    larger = Q(sort_key__gt=key) | Q(sort_key=key, pk__gt=pk)
    smaller = Q(sort_key__lt=key) | Q(sort_key=key, pk__lt=pk)
    before, after = (larger, smaller) if down else (smaller, larger)
    ids = cases.values_list("public_id", flat=True)
    return ids.filter(before).reverse().first(), ids.filter(after).first()
