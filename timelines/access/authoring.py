"""Who may author a timeline, and who may see it.

* A clinician or an admin who may open the case may author it; only the author sees the draft.
* While an unaided draft is open, its author sees nothing that a model made for that case
  (`timelines.access.closed`).
* Another author's timeline stays hidden from an author of the same case until all of them have
  submitted.
"""

from __future__ import annotations

import hashlib
import re

from django.db.models import Q
from django.urls import reverse

from accounts.models import AuditEvent, Study, User
from accounts.permissions import NotAllowed, check_user_can_open_cases
from accounts.registry import veto
from ehr.models import Encounter
from ehr.record.same_stay import find_copies
from timelines.models import Authoring, Timeline

#: The object type, for page guards (`accounts.registry`), of pages that show timelines of a case.
#: The case's record is "ehr.encounter".
TIMELINE_PAGES = "timelines.case"
#: The object type, for page guards, of starting a timeline of a case.
AUTHORING_PAGES = "timelines.authoring"
SOURCE = "author:"
#: Sources of timelines made of a base and people's corrections (`timelines.curation`).
CURATED = "curated:"
#: Sources of timelines that reconcile two authors' (`timelines.authoring.consensus`).
CONSENSUS = "consensus:"
#: Prefixes of the sources of timelines that people made.
PEOPLES = (SOURCE, CURATED, CONSENSUS)
#: Follows an author's name in the source of a timeline begun from a machine's. It cannot be part
#: of a name, so that such timelines are never counted with the author's other ones.
ASSISTED_BY = "/assisted by "
LONGEST_SOURCE = 90
SUPERSEDED = re.compile(r"#\d+$")
UNAIDED_REFUSAL = (
    "You are writing an unaided timeline of this case. Its reconstructions are closed to you until"
    " you submit it. You can open the record, and your draft under Authoring."
)
#: Audit events of a person who has seen timelines of a case.
EXPOSING = (
    "case.open",
    "case.chain",
    "case.export",
    "case.answers",
    "case.correct",
    "case.comment",
    "case.flag",
    "case.link",
    "case.lanes",
    "case.search",
    "cohort.case",
    "agreement.open",
    "authoring.base",
    "evaluation.case",
    "evaluation.funnel",
    "case.unblinded",
)


class CaseClosed(NotAllowed):
    """A case page that an unaided author must not open yet.

    `url` leads back to the draft.
    """

    def __init__(self, words: str, url: str) -> None:
        super().__init__(words)
        self.url = url


class Undecided(NotAllowed):
    """Agreement was requested before the authors have finished.

    At least two authors are needed, and every author of the case must have submitted.
    """


def check_user_can_author(user: User, study: Study) -> None:
    """Clinicians and study admins. Raises NotAllowed."""
    check_user_can_open_cases(user, study)


def make_source(author: User, assisted_by: str = "") -> str:
    """Return the source of that author's timelines in pages and exports.

    `assisted_by` is the source of the timeline that the author began from, if any.
    """
    name = author.get_username()
    own = f"{SOURCE}{name if len(name) <= LONGEST_SOURCE else author.public_id}"
    if not assisted_by:
        return own
    whole = f"{own}{ASSISTED_BY}{assisted_by}"
    if len(whole) <= LONGEST_SOURCE:
        return whole
    short = hashlib.sha256(assisted_by.encode()).hexdigest()[:8]
    return f"{SOURCE}{author.public_id}{ASSISTED_BY}{assisted_by[:40]}~{short}"


def source_words(source: str) -> str:
    """Return how pages name the source of a person's timeline."""
    words = source.removeprefix(SOURCE).removeprefix(CONSENSUS)
    return words.replace(ASSISTED_BY, ", assisted by ")


def is_superseded(source: str) -> bool:
    """Return whether a later submission or correction replaced this one.

    `source` names the timeline.
    """
    return source.startswith(PEOPLES) and SUPERSEDED.search(source) is not None


#: The same as a condition on timelines: default lists leave them out.
_BY_PEOPLE = (
    Q(source__startswith=SOURCE) | Q(source__startswith=CURATED) | Q(source__startswith=CONSENSUS)
)
SUPERSEDED_TIMELINES = Q(source__regex=SUPERSEDED.pattern) & _BY_PEOPLE


def unaided_draft(user: User, encounter_id: str) -> Authoring | None:
    """Return the person's open unaided draft of a stay.

    `encounter_id` is the stay's public id. Copies of the stay count, too.
    """
    drafts = Authoring.objects.filter(
        author=user, protocol=Authoring.Protocol.UNAIDED, state=Authoring.State.DRAFT
    )
    open_drafts = list(drafts.select_related("encounter"))
    copies = find_copies([encounter_id]) if open_drafts else set()
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
    return find_copies(drafts.values_list("encounter__public_id", flat=True))


def check_user_may_see_timelines(user: User, encounter: Encounter) -> None:
    """Check that the person may see what is made of this case's timelines.

    Every page that shows something of them calls this. Raises CaseClosed, or NotAllowed for another
    guard's reason.
    """
    reason = veto(user, TIMELINE_PAGES, encounter.public_id)
    if reason is None:
        return
    if draft := unaided_draft(user, encounter.public_id):
        raise CaseClosed(UNAIDED_REFUSAL, reverse("timelines:authoring", args=[draft.public_id]))
    raise NotAllowed(reason)


def hidden_timelines(user: User, encounter: Encounter) -> set[int]:
    """Primary keys of the timelines of a case that the person must not see.

    They are those of its other authors, the curated ones and those reconciled, if the person
    authors the case too and not everyone has submitted.
    """
    if not is_writing_unseen(user, encounter):
        return set()
    mine = Authoring.objects.filter(encounter=encounter, author=user).first()
    own = {make_source(user), make_source(user, mine.assisted_by if mine else "")}
    others = Timeline.objects.filter(_BY_PEOPLE, encounter=encounter, case_run__isnull=True)
    return {
        pk
        for pk, source in others.values_list("pk", "source")
        if SUPERSEDED.sub("", source) not in own
    }


def is_writing_unseen(user: User, encounter: Encounter) -> bool:
    """Return whether the person authors the case with drafts still open.

    Until then they see nothing that another person says about its times.
    """
    states = dict(Authoring.objects.filter(encounter=encounter).values_list("author_id", "state"))
    return user.pk in states and set(states.values()) != {Authoring.State.SUBMITTED}


def is_agreement_open(encounter: Encounter) -> bool:
    """Return whether at least two authors wrote and all have submitted."""
    states = list(Authoring.objects.filter(encounter=encounter).values_list("state", flat=True))
    return len(states) > 1 and set(states) == {Authoring.State.SUBMITTED}


def was_exposed(user: User, encounter: Encounter) -> bool:
    """Return whether the person opened a page with a timeline of this case.

    The audit trail decides. Opening the page of a case that had no timeline yet does not count.
    """
    events = AuditEvent.objects.filter(
        actor=user,
        object_type="ehr.encounter",
        object_id__in=find_copies([encounter.public_id]),
        action__in=EXPOSING,
    )
    return events.exclude(action="case.open", detail__contains={"timelines": False}).exists()
