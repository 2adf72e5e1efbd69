"""Comment on a case or an occurrence, and flag an occurrence.

All are further rows, and audited without their text.
"""

from __future__ import annotations

import re

from django.db import transaction

from accounts.models import Study, User
from accounts.permissions import CASE_READERS, NotAllowed, user_can_manage_study
from ehr.models import Encounter
from timelines.curation.mentions import check_mentions, notify_mentioned
from timelines.curation.opening import audit, lock_case
from timelines.drafts.values import EditRefused
from timelines.models import Comment, Flag, Mention, Occurrence

LONGEST_BODY = 4000
LONGEST_WORDS = 500
#: A user name after @, as Django allows them; a full stop at the end belongs to the sentence.
MENTION = re.compile(r"(?<![\w@.+-])@([\w@.+-]*[\w@+-])")


@transaction.atomic
def comment(
    *,
    encounter: Encounter,
    body: str,
    by: User,
    occurrence: Occurrence | None = None,
    parent: Comment | None = None,
) -> Comment:
    """Store a comment or a reply. Raises NotAllowed, EditRefused.

    A reply to a reply joins its thread.
    """
    lock_case(encounter, by)
    text = _check_text("body", body, LONGEST_BODY)
    if not text:
        raise EditRefused("body", "Write a comment.")
    if parent is not None:
        parent = parent.parent or parent
        occurrence = parent.occurrence
    _check_occurrence(encounter, occurrence)
    people = find_named(text, encounter.dataset.study)
    check_mentions(people, encounter)
    made = Comment.objects.create(
        encounter=encounter, occurrence=occurrence, parent=parent, author=by, body=text
    )
    Mention.objects.bulk_create(Mention(comment=made, person=person) for person in people)
    _audit_comment(made, by, mentions=len(people))
    notify_mentioned(made, people)
    return made


@transaction.atomic
def set_resolved(*, thread: Comment, resolved: bool, by: User) -> Comment:
    """Resolve or reopen a thread. Raises NotAllowed, EditRefused."""
    lock_case(thread.encounter, by)
    first = thread.parent or thread
    if is_resolved(first) is resolved:
        raise EditRefused("thread", f"The thread is {'resolved' if resolved else 'open'} already.")
    kind = Comment.Kind.RESOLVE if resolved else Comment.Kind.REOPEN
    return _answer(first, kind, by)


@transaction.atomic
def withdraw(*, said: Comment, by: User) -> Comment:
    """Withdraw a comment: pages no longer show its words, the row stays.

    People withdraw their own; a study admin withdraws any. Raises NotAllowed, EditRefused.
    """
    lock_case(said.encounter, by)
    if said.author_id != by.pk and not user_can_manage_study(by, said.encounter.dataset.study):
        raise NotAllowed("Only its author or a study admin can withdraw a comment.")
    if said.kind != Comment.Kind.COMMENT or said.replies.filter(kind="withdraw").exists():
        raise EditRefused("comment", "This comment is withdrawn already.")
    return _answer(said, Comment.Kind.WITHDRAW, by)


@transaction.atomic
def flag(
    *, encounter: Encounter, occurrence: Occurrence, reason: str, words: str, by: User
) -> Flag:
    """Flag an occurrence. Raises NotAllowed, EditRefused."""
    lock_case(encounter, by)
    _check_occurrence(encounter, occurrence)
    if reason not in Flag.Reason.values:
        raise EditRefused("reason", "Choose a reason.")
    text = _check_text("words", words, LONGEST_WORDS)
    if reason == Flag.Reason.OTHER and not text:
        raise EditRefused("words", "Say what is wrong.")
    standing = Flag.objects.filter(
        occurrence=occurrence, author=by, reason=reason, words=text, withdrawn_by__isnull=True
    ).first()
    if standing is not None:
        return standing
    made = Flag.objects.create(occurrence=occurrence, author=by, reason=reason, words=text)
    detail = {"step": "flag", "uid4": occurrence.uid4, "flag": made.public_id, "reason": reason}
    audit(encounter, "case.flag", by, detail)
    return made


@transaction.atomic
def withdraw_flag(*, flag: Flag, by: User) -> Flag:
    """Withdraw a flag, as `withdraw` a comment."""
    encounter = flag.occurrence.inventory.encounter
    lock_case(encounter, by)
    if flag.author_id != by.pk and not user_can_manage_study(by, encounter.dataset.study):
        raise NotAllowed("Only its author or a study admin can withdraw a flag.")
    if flag.withdraws_id is not None or Flag.objects.filter(withdraws=flag).exists():
        raise EditRefused("flag", "This flag is withdrawn already.")
    made = Flag.objects.create(occurrence_id=flag.occurrence_id, author=by, withdraws=flag)
    detail = {"step": "withdraw", "uid4": flag.occurrence.uid4, "flag": flag.public_id}
    audit(encounter, "case.flag", by, detail)
    return made


def is_resolved(thread: Comment) -> bool:
    """Return whether a thread is resolved and not reopened.

    A new comment does not reopen it.
    """
    kinds = [Comment.Kind.RESOLVE, Comment.Kind.REOPEN]
    last = thread.replies.filter(kind__in=kinds).last()
    return last is not None and last.kind == Comment.Kind.RESOLVE


def find_people(study: Study) -> list[User]:
    """Return the people of a study who can read its cases, by user name."""
    return list(
        User.objects.filter(
            is_active=True, memberships__study=study, memberships__role__in=CASE_READERS
        )
        .distinct()
        .order_by("username")
    )


def find_named(body: str, study: Study) -> list[User]:
    """Return the people of the study whom a text names with @, by user name.

    Only people who can read the study's cases are found. Names match in any case.
    """
    names = {name.casefold() for name in MENTION.findall(body)}
    return [p for p in find_people(study) if p.get_username().casefold() in names] if names else []


def _answer(parent: Comment, kind: Comment.Kind, by: User) -> Comment:
    made = Comment.objects.create(
        encounter_id=parent.encounter_id,
        occurrence_id=parent.occurrence_id,
        parent=parent,
        author=by,
        kind=kind,
    )
    _audit_comment(made, by)
    return made


def _audit_comment(made: Comment, by: User, **more: int) -> None:
    uid4 = made.occurrence.uid4 if made.occurrence else ""
    detail: dict[str, str | int] = {"step": made.kind, "uid4": uid4, "comment": made.public_id}
    audit(made.encounter, "case.comment", by, {**detail, **more})


def _check_occurrence(encounter: Encounter, occurrence: Occurrence | None) -> None:
    if occurrence is not None and (
        occurrence.inventory.encounter_id != encounter.pk or occurrence.inventory.sealed_at is None
    ):
        raise EditRefused("occurrence", "The run is not finished. Answer when it has ended.")


def _check_text(field: str, text: str, longest: int) -> str:
    if len(text) > longest or "\x00" in text:
        raise EditRefused(field, f"At most {longest} characters.")
    return text.strip()
