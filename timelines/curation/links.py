"""Undo a link between notes of a chart, and link occurrences again.

Every step is a further row, and audited. Times of the groups change in the curated timelines alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.db import transaction

from accounts.models import User
from accounts.permissions import NotAllowed, user_can_manage_study
from ehr.models import NotePart
from timelines.curation.curated import refresh
from timelines.curation.opening import audit, find_base, lock_case
from timelines.domain import TimelineKind
from timelines.drafts.values import LONGEST_REASON, EditRefused
from timelines.models import Inventory, Occurrence, OccurrenceLink, Timeline, Unlinking
from timelines.pipeline.linking.grouping import choose_links
from timelines.pipeline.linking.values import Decider, Link
from timelines.runs.links import load_links
from timelines.transfer.lines import finished_timelines

#: The reason of a link that a person makes without giving one.
DEFAULT_LINK_REASON = "A clinician says that it is the same event."


@transaction.atomic
def undo_link(*, link: OccurrenceLink, reason: str, by: User) -> Unlinking:
    """Undo a link.

    Anyone who may answer undoes what rules or a model linked; people undo their own; a study admin
    undoes any. Raises NotAllowed, EditRefused.
    """
    encounter = link.inventory.encounter
    lock_case(encounter, by)
    theirs = link.author_id not in (None, by.pk)
    if theirs and not user_can_manage_study(by, encounter.dataset.study):
        raise NotAllowed("Only its author or a study admin can undo a person's link.")
    if Unlinking.objects.filter(link=link).exists():
        raise EditRefused("link", "This link is undone already. Reload the page.")
    made = Unlinking.objects.create(link=link, author=by, reason=_check_reason(reason))
    _finish(link, "undo", by)
    return made


@transaction.atomic
def link_occurrences(
    *, first: Occurrence, second: Occurrence, reason: str, by: User
) -> OccurrenceLink:
    """Link two occurrences of different notes of one chart.

    Raises NotAllowed, EditRefused.
    """
    inventory = first.inventory
    lock_case(inventory.encounter, by)
    _check_link(inventory, first, second)
    first, second = sorted((first, second), key=lambda o: o.ordinal)
    made = OccurrenceLink.objects.create(
        inventory=inventory,
        first=first,
        second=second,
        decided_by=Decider.PERSON,
        author=by,
        reason=_check_reason(reason) or DEFAULT_LINK_REASON,
    )
    _finish(made, "link", by)
    return made


def _check_link(inventory: Inventory, first: Occurrence, second: Occurrence) -> None:
    if second.inventory_id != inventory.pk or inventory.sealed_at is None:
        raise EditRefused("other", "Both must be of one chart whose run has ended.")
    parts = dict(_find_parts(inventory))
    if first.uid4 not in parts or second.uid4 not in parts:
        raise EditRefused("other", "The occurrence is in no note of the chart.")
    wanted = Link(first.uid4, second.uid4, DEFAULT_LINK_REASON) if first != second else None
    links = load_links(inventory.pk)
    # The stored links come first, so that only the new one can be left out.
    if wanted is None or wanted not in choose_links([*links, wanted], parts):
        raise EditRefused(
            "other",
            "They are linked already, or their events have two occurrences in one note. Undo the"
            " other link first.",
        )


def _find_parts(inventory: Inventory) -> Iterator[tuple[str, int]]:
    """Yield each UID with the key of its note's part."""
    parts = list(NotePart.objects.filter(chart=inventory.note_id))
    for uid, start in inventory.occurrences.values_list("uid4", "start"):
        for part in parts:
            if start is not None and part.start <= start < part.end:
                yield uid, part.pk


def _check_reason(text: str) -> str:
    if len(text) > LONGEST_REASON or "\x00" in text:
        raise EditRefused("reason", f"At most {LONGEST_REASON} characters.")
    return text.strip()


def _finish(link: OccurrenceLink, step: str, by: User) -> None:
    """Form the curated timelines, and record who did what."""
    inventory = link.inventory
    made = [refresh(base) for base in _find_bases(inventory)]
    audit(
        inventory.encounter,
        "case.link",
        by,
        {
            "step": step,
            "link": link.public_id,
            "first": link.first.uid4,
            "second": link.second.uid4,
            "curated": sum(timeline is not None for timeline in made),
        },
    )


def _find_bases(inventory: Inventory) -> list[Timeline]:
    """Return the timelines over an inventory that people correct."""
    found = finished_timelines().filter(
        inventory=inventory, case_run__isnull=False, curated__isnull=True
    )
    bases = {
        base.pk: base
        for base in map(find_base, found.exclude(kind=TimelineKind.REFERENCE).order_by("pk"))
    }
    return list(bases.values())
