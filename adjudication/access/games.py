"""Guards of a game: those of its case and of its findings."""

from __future__ import annotations

from django.http import Http404

from accounts.scoping import StudyRequest
from adjudication.access.closed import find_closed_objects
from adjudication.access.eligibility import check_user_may_see_findings
from adjudication.models import Game
from timelines.cases.opening import open_case


def check_user_may_see_game(request: StudyRequest, game: Game) -> None:
    """Raise Http404 or NotAllowed unless the person may see the game.

    The game is in one of the person's studies.
    """
    encounter = open_case(request, game.comparison.encounter.public_id)
    check_user_may_see_findings(request.user, encounter)
    if find_closed_objects(request.user).hides(game.comparison):
        raise Http404
