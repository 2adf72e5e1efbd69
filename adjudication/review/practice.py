"""The practice round of one reviewer: its steps are those of real items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404

from accounts.models import User
from accounts.permissions import NotAllowed
from adjudication.blinding.practice import PracticeCase, practice_cases
from adjudication.models import Assignment, Decision, PracticeAnswer
from adjudication.review.decisions import DecisionRefused
from adjudication.review.searches import check_searched
from jobs.leases.clock import database_time

FIRST_PRACTICE = (
    "Start with the practice: a few short made-up cases that show what each answer means."
)


def find_case(number: int) -> PracticeCase:
    """Return a case of the round, or raise Http404."""
    found = next((case for case in practice_cases() if case.number == number), None)
    if found is None:
        raise Http404
    return found


@dataclass(frozen=True, slots=True)
class PracticeState:
    """A case's choice and mark; `answered` unless its answer was undone."""

    answer: str = ""
    answered: bool = False
    flagged: bool = False


def load_practice_state(assignment: Assignment, number: int) -> PracticeState:
    """Return what the person chose in a case."""
    found = _rows(assignment).filter(number=number).first()
    if found is None:
        return PracticeState()
    return PracticeState(found.answer, bool(found.answer) and not found.undone, found.flagged)


def find_answered(assignment: Assignment) -> set[int]:
    """Return the numbers of the answered cases."""
    return set(_answered(assignment).values_list("number", flat=True))


def next_practice(assignment: Assignment) -> int | None:
    """Return the number of the first unanswered case; None after the last.

    Skipped cases come last, in the order in which they were skipped.
    """
    done = find_answered(assignment)
    skipped = dict(
        _rows(assignment)
        .filter(skipped_at__isnull=False)
        .order_by("skipped_at")
        .values_list("number", "skipped_at")
    )
    left = [case.number for case in practice_cases() if case.number not in done]
    later = list(skipped)
    left.sort(key=lambda n: (n in skipped, later.index(n) if n in skipped else n))
    return left[0] if left else None


@transaction.atomic
def answer_practice(*, assignment: Assignment, number: int, answer: str, by: User) -> bool:
    """Store the answer, replacing an earlier one; return whether it is right.

    The last case ends the round. Raises NotAllowed for another person's round, DecisionRefused for
    an answer or a case that does not exist.
    """
    _check_own(assignment, by)
    case = next((c for c in practice_cases() if c.number == number), None)
    if case is None or answer not in Decision.Answer.values:
        raise DecisionRefused("Unknown answer.")
    PracticeAnswer.objects.update_or_create(
        assignment=assignment,
        number=number,
        defaults={"answer": answer, "undone": False, "skipped_at": None},
    )
    if next_practice(assignment) is None:
        Assignment.objects.filter(pk=assignment.pk, practised_at__isnull=True).update(
            practised_at=database_time()
        )
    return answer == case.answer


@transaction.atomic
def undo_practice(*, assignment: Assignment, by: User) -> int | None:
    """Undo the person's last answer; return its case, None without an answer.

    The case shows the choice again. A finished round stays finished.
    """
    _check_own(assignment, by)
    last = _answered(assignment).order_by("-at", "-pk").first()
    if last is None:
        return None
    PracticeAnswer.objects.filter(pk=last.pk).update(undone=True)
    return last.number


@transaction.atomic
def skip_practice(*, assignment: Assignment, number: int, by: User) -> int | None:
    """Set a case aside; return the next one, None if all are answered."""
    _check_own(assignment, by)
    _mark(assignment, number, skipped_at=database_time())
    return next_practice(assignment)


@transaction.atomic
def flag_practice(*, assignment: Assignment, number: int, flagged: bool, by: User) -> None:
    """Mark a case, or remove the mark, as with real items."""
    _check_own(assignment, by)
    _mark(assignment, number, flagged=flagged)


def check_practised(assignment: Assignment) -> None:
    """Raise NotAllowed before the practice round and own searches are done."""
    if not assignment.practised:
        raise NotAllowed(FIRST_PRACTICE)
    check_searched(assignment)


def _check_own(assignment: Assignment, by: User) -> None:
    if by.pk != assignment.person_id:
        raise NotAllowed("Only the reviewer can open this review.")


def _rows(assignment: Assignment) -> QuerySet[PracticeAnswer]:
    return PracticeAnswer.objects.filter(assignment=assignment)


def _answered(assignment: Assignment) -> QuerySet[PracticeAnswer]:
    return _rows(assignment).filter(undone=False).exclude(answer="")


def _mark(assignment: Assignment, number: int, **marks: Any) -> None:
    """Set marks without changing the time of the answer."""
    made, _ = PracticeAnswer.objects.get_or_create(
        assignment=assignment, number=find_case(number).number
    )
    PracticeAnswer.objects.filter(pk=made.pk).update(**marks)
