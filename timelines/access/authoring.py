"""Who may write, and who may see what of a timeline that somebody writes.

* A clinician or an admin who may open the case may author it; the draft is its author's alone.
* While an unaided draft is open, nothing that a model made reaches its author for that case
  (`timelines.access.closed`).
* Another author's timeline stays hidden from an author of the same case until all of them have
  submitted.
"""

from __future__ import annotations

import re

from django.db.models import Q
from django.urls import reverse

from accounts.models import AuditEvent, Study, User
from accounts.permissions import NotAllowed, check_user_can_open_cases
from accounts.registry import veto
from ehr.models import Encounter
from ehr.record.same_stay import copies_of
from timelines.models import Authoring, Timeline

#: What the pages that show timelines of a case are called to page guards (`accounts.registry`); its
#: record is "ehr.encounter".
TIMELINE_PAGES = "timelines.case"
#: What beginning a timeline of a case is called to them.
AUTHORING_PAGES = "timelines.authoring"
SOURCE = "author:"
LONGEST_SOURCE = 90
SUPERSEDED = re.compile(r"#\d+$")
UNAIDED_REFUSAL = (
    "You are writing an unaided timeline of this case. Until you submit it, its reconstructions"
    " stay closed to you; the record is open, and your draft is under Authoring."
)
#: Audit events of a person who has had timelines of a case before their eyes.
EXPOSING = ("case.open", "case.chain", "agreement.open", "evaluation.case", "case.unblinded")


class CaseClosed(NotAllowed):
    """A case page that an unaided author must not open yet; `url` leads back to the draft."""

    def __init__(self, words: str, url: str) -> None:
        super().__init__(words)
        self.url = url


class Undecided(NotAllowed):
    """Agreement is asked for before every author of the case, at least two, has submitted."""


def check_user_can_author(user: User, study: Study) -> None:
    """Clinicians and study admins. Raises NotAllowed."""
    check_user_can_open_cases(user, study)


def source_of(author: User) -> str:
    """What pages and exports call the timelines of that author."""
    name = author.get_username()
    return f"{SOURCE}{name if len(name) <= LONGEST_SOURCE else author.public_id}"


def is_superseded(source: str) -> bool:
    """Whether the source names a submission that a later one of the same author has replaced."""
    return source.startswith(SOURCE) and SUPERSEDED.search(source) is not None


#: The same as a condition on timelines: default lists leave them out.
SUPERSEDED_TIMELINES = Q(source__startswith=SOURCE, source__regex=SUPERSEDED.pattern)


def unaided_draft(user: User, encounter_id: str) -> Authoring | None:
    """Return the person's open unaided draft of the stay, of which this is the case's public id."""
    drafts = Authoring.objects.filter(
        author=user, protocol=Authoring.Protocol.UNAIDED, state=Authoring.State.DRAFT
    )
    open_drafts = list(drafts.select_related("encounter"))
    copies = copies_of([encounter_id]) if open_drafts else set()
    return next((draft for draft in open_drafts if draft.encounter.public_id in copies), None)


def guard_unaided(user: User, object_type: str, object_id: str) -> str | None:
    """Page guard: close a case's timelines to the author of an unaided one.

    The record of the case stays open.
    """
    closed = object_type == TIMELINE_PAGES and unaided_draft(user, object_id) is not None
    return UNAIDED_REFUSAL if closed else None


def closed_to_unaided(user: User, object_type: str) -> set[str]:
    """Public ids of all cases that `guard_unaided` closes to the person."""
    if object_type != TIMELINE_PAGES:
        return set()
    drafts = Authoring.objects.filter(
        author=user, protocol=Authoring.Protocol.UNAIDED, state=Authoring.State.DRAFT
    )
    return copies_of(drafts.values_list("encounter__public_id", flat=True))


def check_user_may_see_timelines(user: User, encounter: Encounter) -> None:
    """For every page that shows something made of this case's timelines. Raises CaseClosed, or
    NotAllowed for another guard's reason.
    """
    if draft := unaided_draft(user, encounter.public_id):
        raise CaseClosed(UNAIDED_REFUSAL, reverse("timelines:authoring", args=[draft.public_id]))
    if reason := veto(user, TIMELINE_PAGES, encounter.public_id):
        raise NotAllowed(reason)


def hidden_timelines(user: User, encounter: Encounter) -> set[int]:
    """Primary keys of the timelines of a case that the person must not see.

    They are those of its other authors, if the person authors the case too and not everyone has
    submitted.
    """
    states = dict(Authoring.objects.filter(encounter=encounter).values_list("author_id", "state"))
    if user.pk not in states or set(states.values()) == {Authoring.State.SUBMITTED}:
        return set()
    own = source_of(user)
    others = Timeline.objects.filter(
        encounter=encounter, case_run__isnull=True, source__startswith=SOURCE
    )
    return {
        pk for pk, source in others.values_list("pk", "source") if SUPERSEDED.sub("", source) != own
    }


def is_agreement_open(encounter: Encounter) -> bool:
    """Return whether the case has at least two authors and all of them have submitted."""
    states = list(Authoring.objects.filter(encounter=encounter).values_list("state", flat=True))
    return len(states) > 1 and set(states) == {Authoring.State.SUBMITTED}


def was_exposed(user: User, encounter: Encounter) -> bool:
    """Whether the trail says that the person has opened a page that showed a timeline of this case.

    The page of a case that had none yet does not count.
    """
    events = AuditEvent.objects.filter(
        actor=user,
        object_type="ehr.encounter",
        object_id__in=copies_of([encounter.public_id]),
        action__in=EXPOSING,
    )
    return events.exclude(action="case.open", detail__contains={"timelines": False}).exists()
