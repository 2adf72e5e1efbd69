"""The practice round of one reviewer: their answers, and when it is done."""

from __future__ import annotations

from django.db import transaction
from django.http import Http404

from accounts.models import User
from accounts.permissions import NotAllowed
from adjudication.blinding.practice import PracticeCase, practice_cases
from adjudication.models import Assignment, Decision, PracticeAnswer
from adjudication.review.decisions import DecisionRefused
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


def find_answered(assignment: Assignment) -> set[int]:
    """Return the numbers of the answered cases."""
    answers = PracticeAnswer.objects.filter(assignment=assignment)
    return set(answers.values_list("number", flat=True))


def next_practice(assignment: Assignment) -> int | None:
    """Return the number of the first unanswered case; None after the last."""
    done = find_answered(assignment)
    return next((case.number for case in practice_cases() if case.number not in done), None)


@transaction.atomic
def answer_practice(*, assignment: Assignment, number: int, answer: str, by: User) -> bool:
    """Store the answer, replacing an earlier one; return whether it is right.

    The last case ends the round. Raises NotAllowed for another person's round, DecisionRefused for
    an answer or a case that does not exist.
    """
    if by.pk != assignment.person_id:
        raise NotAllowed("Only the reviewer can open this review.")
    case = next((c for c in practice_cases() if c.number == number), None)
    if case is None or answer not in Decision.Answer.values:
        raise DecisionRefused("Unknown answer.")
    PracticeAnswer.objects.update_or_create(
        assignment=assignment, number=number, defaults={"answer": answer}
    )
    if next_practice(assignment) is None:
        Assignment.objects.filter(pk=assignment.pk, practised_at__isnull=True).update(
            practised_at=database_time()
        )
    return answer == case.answer


def check_practised(assignment: Assignment) -> None:
    """Raise NotAllowed before the practice round is done."""
    if not assignment.practised:
        raise NotAllowed(FIRST_PRACTICE)
