"""Load games and findings for a person, by the guards of their case."""

from __future__ import annotations

from collections.abc import Collection

from django.http import Http404
from django.shortcuts import get_object_or_404

from accounts.models import Role
from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, filter_by_role
from adjudication.access.closed import find_closed_objects
from adjudication.access.eligibility import check_user_may_see_findings
from adjudication.models import Finding, Game
from timelines.cases.opening import open_case

#: The rows that pages and the API show with a game.
RELATED = (
    "run__study",
    "comparison__encounter__dataset__study",
    "comparison__first",
    "comparison__second",
)


def find_game(
    request: StudyRequest,
    game_id: str,
    *,
    run_id: str = "",
    roles: Collection[Role] = CASE_READERS,
) -> Game:
    """Return the game if the person may see its case, findings and timelines.

    Raises Http404, NotAllowed, CaseClosed.
    """
    games = filter_by_role(
        Game.objects.select_related(*RELATED), request.user, "run__study", roles=roles
    )
    if run_id:
        games = games.filter(run__public_id=run_id)
    game = get_object_or_404(games, public_id=game_id)
    check_user_may_see_game(request, game)
    return game


def find_finding(request: StudyRequest, public_id: str) -> Finding:
    """Return the finding if the person may see its case and both timelines.

    Raises Http404, NotAllowed, CaseClosed.
    """
    rows = Finding.objects.select_related(
        *(f"game__{path}" for path in RELATED),
        "series",
        "a_entry__occurrence",
        "b_entry__occurrence",
    )
    found = get_object_or_404(
        filter_by_role(rows, request.user, "game__run__study", roles=CASE_READERS),
        public_id=public_id,
    )
    check_user_may_see_game(request, found.game)
    return found


def check_user_may_see_game(request: StudyRequest, game: Game) -> None:
    """Raise Http404 or NotAllowed unless the person may see the game.

    The game is in one of the person's studies.
    """
    encounter = open_case(request, game.comparison.encounter.public_id)
    check_user_may_see_findings(request.user, encounter)
    if find_closed_objects(request.user).hides(game.comparison):
        raise Http404
