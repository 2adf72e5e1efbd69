"""Ask a person before a page shows them timelines of a case.

Upper apps register the question (`accounts.registry`). A page of one case asks when it opens the
case, a page of several before it records that they were shown.
"""

from __future__ import annotations

from collections.abc import Iterable

from accounts.models import User
from accounts.permissions import NotAllowed
from accounts.registry import OpeningQuestion, find_opening_question
from timelines.access.authoring import TIMELINE_PAGES


class AskFirst(NotAllowed):
    """Nothing is shown before the person has answered a question.

    The words are for partials and programs; a page asks the question.
    """

    def __init__(self, question: OpeningQuestion) -> None:
        super().__init__(
            f"{question.words} Nothing was opened. To open it, go to the page of the case and"
            " confirm there."
        )
        self.question = question


def ask_first(user: User, case_ids: Iterable[str]) -> None:
    """Raise AskFirst if the person has to answer before they see these cases.

    The cases are public ids.
    """
    question = find_opening_question(user, TIMELINE_PAGES, sorted(set(case_ids)))
    if question is not None:
        raise AskFirst(question)
