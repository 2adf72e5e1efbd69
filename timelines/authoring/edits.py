"""Edits of a draft.

Each edit locks the draft, is checked against the revision it was made on, and is stored once, with
everything it touches before and after.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from ehr.models import Encounter, SourceRow
from timelines.authoring.storage import load_document, save_change
from timelines.drafts import document as edits
from timelines.drafts.document import Change, Document
from timelines.drafts.reading import read_fields
from timelines.drafts.undoing import BASE, REDO, UNDO, Stacks, stacks
from timelines.drafts.values import DraftOccurrence, EditRefused
from timelines.models import Authoring, AuthoringEdit
from timelines.pipeline.uids import UidsUsedUp, draw_uid
from timelines.runs.storage import uids_in_use

TOKEN = re.compile(r"[0-9A-Za-z_-]{1,64}")
#: Kinds that give new UIDs; the log of these knows every UID that the authoring ever had.
GIVING = ("add", "split", BASE)
UNCHANGED = Change()


class Locked(RuntimeError):
    """The timeline is submitted: it takes no edit until it is opened again."""

    log_safe = True


class Conflict(RuntimeError):
    """The draft has changed since the revision that the edit was made on.

    The exception carries the current draft.
    """

    log_safe = True

    def __init__(self, revision: int, document: Document) -> None:
        super().__init__("the draft was changed meanwhile")
        self.revision = revision
        self.document = document


@dataclass(frozen=True)
class Edit:
    """An edit as the page sent it.

    `timelines.drafts.reading` checks the values.
    """

    token: str
    revision: int
    kind: str
    uid: str = ""
    uids: Sequence[str] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Applied:
    """The effect of an edit and the state of the draft after it."""

    revision: int
    change: Change
    document: Document
    stacks: Stacks


def locked_draft(authoring_id: int, by: User) -> Authoring:
    """Return the author's own authoring, locked until the transaction ends.

    Raises Authoring.DoesNotExist for anyone else.
    """
    found = Authoring.objects.select_for_update(of=("self",)).select_related(
        "encounter__dataset__study", "inventory"
    )
    return found.get(pk=authoring_id, author=by)


@transaction.atomic
def apply_edit(*, authoring: Authoring, edit: Edit, by: User) -> Applied:
    """Store one edit of the draft.

    The same token again returns the same answer and stores nothing. Raises Locked once submitted,
    Conflict for an edit made on another revision, EditRefused if the draft would become invalid.
    """
    mine = locked_draft(authoring.pk, by)
    if not TOKEN.fullmatch(edit.token):
        raise EditRefused("token", "An edit needs a token of 1 to 64 letters, digits and hyphens.")
    document = load_document(mine.inventory)
    if earlier := mine.edits.filter(token=edit.token).first():
        return Applied(earlier.number, stored_change(earlier), document, find_stacks(mine))
    if mine.state != Authoring.State.DRAFT:
        raise Locked("a submitted timeline cannot be edited")
    if edit.revision != mine.revision:
        raise Conflict(mine.revision, document)
    change, undoes = _change(mine, document, edit)
    after = edits.apply_change(document, change)
    save_change(mine.inventory, change)
    log(mine, edit.kind, edit.token, change=change, undoes=undoes)
    return Applied(mine.revision, change, after, find_stacks(mine))


def log(
    authoring: Authoring,
    kind: str,
    token: str,
    *,
    change: Change = UNCHANGED,
    undoes: AuthoringEdit | None = None,
    reason: str = "",
) -> AuthoringEdit:
    """Append to the log and increment the revision.

    The caller has locked the authoring.
    """
    authoring.revision += 1
    Authoring.objects.filter(pk=authoring.pk).update(
        revision=authoring.revision, updated_at=timezone.now()
    )
    return AuthoringEdit.objects.create(
        authoring=authoring,
        number=authoring.revision,
        kind=kind,
        before=[o.to_dict() for o in change.before],
        after=[o.to_dict() for o in change.after],
        undoes=undoes,
        reason=reason,
        token=token,
    )


def stored_change(edit: AuthoringEdit) -> Change:
    """Return the change of a stored edit."""
    return Change(
        tuple(map(DraftOccurrence.from_dict, edit.before)),
        tuple(map(DraftOccurrence.from_dict, edit.after)),
    )


def find_stacks(authoring: Authoring) -> Stacks:
    """Return the edits that can be undone and redone now."""
    return stacks(load_log(authoring))


def load_log(authoring: Authoring) -> Iterable[tuple[int, str, int | None]]:
    """Return (number, kind, number of the edit undone or redone).

    All edits are included, in order.
    """
    return authoring.edits.order_by("number").values_list("number", "kind", "undoes__number")


def _change(
    authoring: Authoring, document: Document, edit: Edit
) -> tuple[Change, AuthoringEdit | None]:
    """Return the change that an edit asks for, and the edit it concerns.

    The latter is the earlier edit that it undoes or redoes, else None.
    """
    if edit.kind in (UNDO, REDO):
        return _step(authoring, edit.kind)
    encounter = authoring.encounter
    if edit.kind == "add":
        return edits.add_occurrence(
            document,
            _new_uids(authoring, document, 1)[0],
            _complete(_fields(encounter, edit.values)),
        ), None
    if edit.kind == "change":
        return edits.change_occurrence(document, edit.uid, _fields(encounter, edit.values)), None
    if edit.kind == "remove":
        return edits.remove_occurrence(document, edit.uid), None
    if edit.kind == "split":
        parts = [_fields(encounter, part) for part in edit.parts]
        return edits.split_occurrence(
            document, edit.uid, parts, _new_uids(authoring, document, max(len(parts) - 1, 0))
        ), None
    if edit.kind == "merge":
        return edits.merge_occurrences(document, edit.uids, _fields(encounter, edit.values)), None
    raise EditRefused("kind", "Unknown kind of edit.")


def _step(authoring: Authoring, kind: str) -> tuple[Change, AuthoringEdit]:
    found = find_stacks(authoring)
    numbers = found.undo if kind == UNDO else found.redo
    if not numbers:
        raise EditRefused("kind", f"There is nothing to {kind}.")
    target = authoring.edits.get(number=numbers[-1])
    change = stored_change(target)
    return (change.inverse if kind == UNDO else change), target


def _fields(encounter: Encounter, data: Mapping[str, Any]) -> dict[str, Any]:
    given = read_fields(data, encounter.admitted_at, encounter.discharged_at)
    if given.get("rows"):
        check_rows(encounter, given["rows"])
    return given


def check_rows(encounter: Encounter, rows: Sequence[int]) -> None:
    """Raises EditRefused for a row that the record of this stay does not have."""
    found = SourceRow.objects.filter(
        dataset_id=encounter.dataset_id, encounter_id=encounter.pk, row_index__in=rows
    ).count()
    if found != len(set(rows)):
        raise EditRefused("rows", "The record does not have this row.")


def _complete(values: dict[str, Any]) -> dict[str, Any]:
    if missing := next((name for name in ("start", "end", "mention") if name not in values), None):
        raise EditRefused(missing, "An occurrence needs a selection in the note and a mention.")
    return values


def _new_uids(authoring: Authoring, document: Document, count: int) -> list[str]:
    """Return UIDs that are not in use.

    Neither this authoring has ever had them nor has another inventory of the note.
    """
    logged = authoring.edits.filter(kind__in=GIVING).values_list("after", flat=True)
    taken = {*document.occurrences, *(o["uid"] for after in logged for o in after)}
    if count:
        taken |= uids_in_use(authoring.inventory.note_id).keys()
    drawn: list[str] = []
    for _ in range(count):
        try:
            drawn.append(draw_uid(random.SystemRandom(), taken))
        except UidsUsedUp as error:
            raise EditRefused("uid", str(error)) from None
        taken.add(drawn[-1])
    return drawn
