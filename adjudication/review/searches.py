"""A reviewer searches two timelines for differences, without the judge's.

Drafts and submissions have the judge's labels and keys of entries, never a source. The words that a
reviewer types are the comment of the submission's link, so files without text leave them out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db import transaction
from django.http import Http404

from accounts.ids import new_public_id
from accounts.models import User
from accounts.permissions import NotAllowed
from adjudication.models import Assignment, Decision, PairSearch
from adjudication.packets.chain import storage as chain_storage
from adjudication.packets.digests import game_digest
from adjudication.review import slots
from adjudication.review.decisions import EARLIEST, LATEST, DecisionRefused
from adjudication.searching.matching import Kind

MOST, LONGEST_WORDS = 200, 500
FIRST_SEARCH = "Search the assigned timelines for differences first. The items open afterwards."


@dataclass(frozen=True, slots=True)
class Listed:
    """One listed difference: keys of the entries of the judge's A and B.

    `time` is the person's own, in hours from admission.
    """

    kind: str
    a: int | None
    b: int | None
    time: float | None = None
    words: str = ""


def read_listed(plain: Sequence[dict[str, Any]]) -> list[Listed]:
    """Return stored differences."""
    return [Listed(**one) for one in plain]


def find_own_search(assignment: Assignment, public_id: str) -> PairSearch:
    """Return a search of this assignment, or raise Http404."""
    joined = ("game__comparison__encounter", "game__comparison__first", "game__comparison__second")
    found = PairSearch.objects.select_related(*joined, "submission")
    search = found.filter(assignment=assignment, public_id=public_id).first()
    if search is None:
        raise Http404
    return search


def check_searched(assignment: Assignment) -> None:
    """Raise NotAllowed while a search is not submitted."""
    if PairSearch.objects.filter(assignment=assignment, submission__isnull=True).exists():
        raise NotAllowed(FIRST_SEARCH)


@transaction.atomic
def add_difference(*, search: PairSearch, listed: Listed, by: User) -> None:
    """Add a difference to the draft.

    Raises NotAllowed, DecisionRefused, InvalidTransition.
    """
    mine = _lock_draft(search, by)
    _check(listed)
    if len(mine.draft) >= MOST:
        raise DecisionRefused(f"A search can list at most {MOST} differences.")
    if any((one.kind, one.a, one.b) == (listed.kind, listed.a, listed.b) for one in _drafted(mine)):
        raise DecisionRefused("You have listed this difference already.")
    _store(mine, [*mine.draft, asdict(listed)])


@transaction.atomic
def remove_difference(*, search: PairSearch, number: int, by: User) -> None:
    """Remove a difference from the draft; `number` counts from 1.

    Raises NotAllowed, DecisionRefused, InvalidTransition.
    """
    mine = _lock_draft(search, by)
    if not 1 <= number <= len(mine.draft):
        raise DecisionRefused("The list has changed. Reload the page.")
    _store(mine, mine.draft[: number - 1] + mine.draft[number:])


@transaction.atomic
def submit_search(*, search: PairSearch, by: User) -> Decision:
    """Store the differences as a link of the chain; they cannot change.

    Raises NotAllowed, DecisionRefused, InvalidTransition.
    """
    packet = chain_storage.lock_packet(search.assignment.packet_id)
    mine = _lock_draft(search, by)
    listed = _drafted(mine)
    words = "\n".join(f"{n}. {one.words}" for n, one in enumerate(listed, 1) if one.words)
    link = chain_storage.append(
        packet,
        assignment=mine.assignment,
        kind=Decision.Kind.SEARCH,
        token=new_public_id(),
        comment=words,
        detail={
            "search": mine.public_id,
            "game": mine.game.public_id,
            "findings_sha256": game_digest(mine.game),
            "differences": [_without_words(one) for one in listed],
        },
    )
    PairSearch.objects.filter(pk=mine.pk).update(submission=link, draft=[])
    return link


def _lock_draft(search: PairSearch, by: User) -> PairSearch:
    """Lock a search that is not submitted, in an open packet."""
    mine = (
        PairSearch.objects.select_for_update(of=("self",))
        .select_related("assignment__packet__study", "assignment__person", "game")
        .get(pk=search.pk)
    )
    if by.pk != mine.assignment.person_id or not by.is_active:
        raise NotAllowed("Only the reviewer can open this review.")
    slots.check_can_decide(mine.assignment)
    if mine.submission_id is not None:
        raise DecisionRefused("The search is submitted and cannot change.")
    return mine


def _drafted(search: PairSearch) -> list[Listed]:
    return read_listed(search.draft)


def _store(search: PairSearch, draft: list[dict[str, Any]]) -> None:
    PairSearch.objects.filter(pk=search.pk).update(draft=draft)


def _without_words(listed: Listed) -> dict[str, Any]:
    return {key: value for key, value in asdict(listed).items() if key != "words"}


def _check(listed: Listed) -> None:
    if listed.kind not in list(Kind):
        raise DecisionRefused("Choose what the difference is about.")
    rows = sum(row is not None for row in (listed.a, listed.b))
    if rows != Kind(listed.kind).rows:
        wanted = "a row of one side" if Kind(listed.kind).rows == 1 else "a row of each side"
        raise DecisionRefused(f"This kind of difference needs {wanted}.")
    time = listed.time
    if time is not None and not (math.isfinite(time) and EARLIEST <= time <= LATEST):
        raise DecisionRefused("Your own time must be a plausible number of hours from admission.")
    if len(listed.words) > LONGEST_WORDS or "\x00" in listed.words:
        raise DecisionRefused(f"Enter at most {LONGEST_WORDS} characters of your own words.")
