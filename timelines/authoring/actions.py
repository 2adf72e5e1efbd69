"""Start, submit and reopen a clinician's timeline.

Every step is audited.
"""

from __future__ import annotations

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from accounts.audit.trail import record
from accounts.ids import new_public_id
from accounts.models import User
from accounts.permissions import NotAllowed, check_user_can_open, user_can_manage_study
from accounts.wording import format_count
from ehr.models import Encounter, Note
from ehr.record.charts import find_note
from timelines import domain, models
from timelines.access.authoring import (
    AUTHORING_PAGES,
    check_user_can_author,
    make_source,
    was_exposed,
)
from timelines.authoring.bases import copy_entries, find_bases
from timelines.authoring.edits import Conflict, Locked, locked_draft, log
from timelines.authoring.storage import insert, load_document, renumber
from timelines.drafts.document import Change, Document, make_document
from timelines.drafts.undoing import BASE
from timelines.drafts.values import LONGEST_REASON, EditRefused
from timelines.models import Authoring, Inventory, Timeline
from timelines.pipeline.uids import escape_mention
from timelines.runs import storage

DECIDED_BY = "reference author"


class NotReady(ValueError):
    """A draft that cannot be submitted.

    It lists the occurrences that are not placed yet; an empty list means that there are none at
    all.
    """

    log_safe = True

    def __init__(self, unplaced: list[str]) -> None:
        super().__init__("the draft is not complete")
        self.unplaced = unplaced

    @property
    def message(self) -> str:
        if not self.unplaced:
            return "Mark at least one occurrence before you submit."
        count = len(self.unplaced)
        return f"{format_count(count, 'occurrence')} not placed yet. Enter a time for each, or N/A."


@transaction.atomic
def start_authoring(
    *, encounter: Encounter, protocol: Authoring.Protocol, by: User, base: str = ""
) -> tuple[Authoring, bool]:
    """Return the person's authoring of this case, and whether it is new.

    An existing one does not change. `base` is the public id of a timeline that is copied as the
    draft; an unaided one has none. Raises NotAllowed, NoteChanged, EditRefused for a timeline that
    is not offered, LookupError for a case without a note.
    """
    study = encounter.dataset.study
    check_user_can_author(by, study)
    check_user_can_open(by, study, "ehr.encounter", encounter.public_id)
    check_user_can_open(by, study, AUTHORING_PAGES, encounter.public_id)
    # Two clicks at once wait for each other here, not at the unique constraint.
    Encounter.objects.select_for_update(no_key=True).get(pk=encounter.pk)
    if found := Authoring.objects.filter(encounter=encounter, author=by).first():
        return found, False
    note = find_note(encounter)
    if note is None:
        raise LookupError("a case without a note has nothing to author")
    text = storage.checked_text(note)
    copied = _find_base(encounter, note, protocol, base, by) if base else None
    inventory = Inventory.objects.create(
        encounter=encounter, note=note, origin=Inventory.Origin.REFERENCE
    )
    made = Authoring.objects.create(
        encounter=encounter,
        author=by,
        protocol=protocol,
        assisted_by=copied.source if copied else "",
        base=copied,
        inventory=inventory,
        exposed=was_exposed(by, encounter),
    )
    if copied is not None:
        _begin_from(made, copied, len(text), by)
    _audit(
        made,
        "authoring.start",
        by,
        protocol=protocol.value,
        assisted_by=made.assisted_by,
        exposed=made.exposed,
    )
    return made, True


@transaction.atomic
def submit(*, authoring: Authoring, by: User, revision: int | None = None) -> Timeline:
    """Lock the draft: seal its inventory and create its timeline.

    An earlier submission becomes superseded. Raises Locked if it is submitted already, Conflict if
    `revision` is given and old, NotReady, NoteChanged.
    """
    mine = locked_draft(authoring.pk, by)
    if mine.state != Authoring.State.DRAFT:
        raise Locked("submitted already")
    document = load_document(mine.inventory)
    if revision is not None and revision != mine.revision:
        raise Conflict(mine.revision, document)
    if not document.occurrences or document.unplaced:
        raise NotReady(document.unplaced)
    storage.checked_text(mine.inventory.note)
    _supersede(mine)
    timeline = _seal(mine, document)
    log(mine, "submit", new_public_id())
    Authoring.objects.filter(pk=mine.pk).update(
        state=Authoring.State.SUBMITTED, timeline=timeline, submitted_at=timezone.now()
    )
    _audit(
        mine, "authoring.submit", by, occurrences=len(document.occurrences), revision=mine.revision
    )
    return timeline


@transaction.atomic
def reopen(*, authoring: Authoring, reason: str, by: User) -> Authoring:
    """Open a submitted timeline again.

    The draft is a copy with the same UIDs; the submitted timeline stays until the next submission.
    Only its author or a study admin may do this. Raises NotAllowed, Locked if it is open already,
    EditRefused without a reason.
    """
    found = (
        Authoring.objects.select_for_update(of=("self",))
        .select_related("encounter__dataset__study", "inventory")
        .get(pk=authoring.pk)
    )
    study = found.encounter.dataset.study
    if by.pk != found.author_id and not user_can_manage_study(by, study):
        raise NotAllowed("Only its author or a study admin can reopen a submitted timeline.")
    if found.state != Authoring.State.SUBMITTED:
        raise Locked("open already")
    if not reason.strip() or len(reason) > LONGEST_REASON or "\x00" in reason:
        raise EditRefused("reason", f"Enter a reason of at most {LONGEST_REASON} characters.")
    document = load_document(found.inventory)
    copy = Inventory.objects.create(
        encounter=found.encounter,
        note_id=found.inventory.note_id,
        origin=Inventory.Origin.REFERENCE,
    )
    insert(copy, document.ordered)
    exposed = found.exposed or was_exposed(found.author, found.encounter)
    Authoring.objects.filter(pk=found.pk).update(
        state=Authoring.State.DRAFT, inventory=copy, exposed=exposed
    )
    log(found, "reopen", new_public_id(), reason=reason.strip())
    _audit(found, "authoring.reopen", by, by_author=by.pk == found.author_id, exposed=exposed)
    found.refresh_from_db()
    return found


def _find_base(
    encounter: Encounter, note: Note, protocol: Authoring.Protocol, base: str, by: User
) -> Timeline:
    if protocol != Authoring.Protocol.ASSISTED:
        raise EditRefused("base", "An unaided timeline begins empty.")
    offered = {o.timeline.public_id: o.timeline for o in find_bases(by, encounter, note)}
    if base not in offered:
        raise EditRefused("base", "This timeline cannot be begun from. Choose another.")
    return offered[base]


def _begin_from(authoring: Authoring, base: Timeline, length: int, by: User) -> None:
    """Copy the timeline. The log begins with it, and it cannot be undone."""
    document = make_document(length, copy_entries(base))
    insert(authoring.inventory, document.ordered)
    log(authoring, BASE, new_public_id(), change=Change(after=tuple(document.ordered)))
    # The author now has its times: to other rules, they have seen the case.
    record(
        actor=by,
        study=authoring.encounter.dataset.study,
        action="authoring.base",
        object_type="ehr.encounter",
        object_id=authoring.encounter.public_id,
        detail={"timeline": base.public_id, "occurrences": len(document.occurrences)},
    )


def _seal(authoring: Authoring, document: Document) -> Timeline:
    """Seal the inventory and return its complete timeline.

    Mentions are escaped as in stage 2.
    """
    renumber(authoring.inventory, document)
    for o in document.ordered:
        if (escaped := escape_mention(o.mention)) != o.mention:
            models.Occurrence.objects.filter(inventory=authoring.inventory, uid4=o.uid).update(
                mention=escaped
            )
    entries = [
        domain.Entry(
            o.uid, o.time, o.lower, o.upper, o.known, o.context, DECIDED_BY, o.reason, o.rows
        )
        for o in document.ordered
    ]
    complete = domain.Timeline.complete(
        storage.load_inventory(authoring.inventory_id), entries, domain.TimelineKind.REFERENCE
    )
    timeline = storage.save_timeline(
        timeline=complete, inventory=authoring.inventory, source=_source(authoring)
    )
    Inventory.objects.filter(pk=authoring.inventory_id).update(sealed_at=Now())
    return timeline


def _supersede(authoring: Authoring) -> None:
    """Move the last submission to a numbered source.

    Default lists exclude such sources.
    """
    if authoring.timeline_id is None:
        return
    source = _source(authoring)
    before = Timeline.objects.filter(
        encounter=authoring.encounter, source__startswith=f"{source}#"
    ).count()
    Timeline.objects.filter(pk=authoring.timeline_id).update(source=f"{source}#{before + 1}")


def _source(authoring: Authoring) -> str:
    return make_source(authoring.author, authoring.assisted_by)


def _audit(authoring: Authoring, action: str, by: User, **detail: str | int | bool) -> None:
    record(
        actor=by,
        study=authoring.encounter.dataset.study,
        action=action,
        object_type="timelines.authoring",
        object_id=authoring.public_id,
        detail={"case": authoring.encounter.public_id, **detail},
    )
