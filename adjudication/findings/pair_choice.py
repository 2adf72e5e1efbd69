"""The two compared timelines, and the judge run whose findings are shown."""

from __future__ import annotations

from django.http import Http404

from accounts.permissions import CASE_READERS, NotAllowed
from accounts.scoping import StudyRequest, filter_by_role
from adjudication.access.eligibility import check_user_may_see_findings
from adjudication.findings.compare import find_games
from adjudication.models import Finding, JudgeRun
from ehr.models import Encounter
from timelines.cases.choices import Choice, Choices

#: In the address: show no findings.
NO_RUN = "none"


def choose_pair(
    request: StudyRequest, choices: Choices, labels: list[tuple[Choice, str]]
) -> tuple[Choice, Choice]:
    """Return timelines A and B, as requested or by default.

    By default A is the case's first timeline, and B its reference or else another one. Raises
    Http404.
    """
    asked = [request.GET.get(name, "") for name in ("a", "b")]
    found = [choices.find(name) if name else None for name in asked]
    if any(name and choice is None for name, choice in zip(asked, found, strict=True)):
        raise Http404
    a = found[0] or next(c for c in (choices.default, *(c for c, _ in labels)) if c is not found[1])
    others = [*choices.references, *([g.best for g in choices.groups]), *(c for c, _ in labels)]
    b = (
        found[1]
        if found[1] is not None and found[1] is not a
        else next(c for c in others if c is not a)
    )
    return a, b


def find_pair_runs(
    request: StudyRequest, encounter: Encounter, a: Choice, b: Choice
) -> list[JudgeRun]:
    """Return the judge runs with a judged game of these two, newest first.

    None for a person who may not see the case's findings.
    """
    try:
        check_user_may_see_findings(request.user, encounter)
    except NotAllowed:
        return []
    games = find_games(a, b).filter(outcome="judged")
    return list(
        filter_by_role(JudgeRun.objects.filter(games__in=games), request.user, roles=CASE_READERS)
        .distinct()
        .order_by("-created_at")
    )


def choose_run(request: StudyRequest, runs: list[JudgeRun]) -> JudgeRun | None:
    """Return the requested run, else the requested finding's, else the newest."""
    wanted = request.GET.get("run", "")
    if wanted == NO_RUN:
        return None
    if not wanted and (focused := request.GET.get("f")):
        wanted = (
            Finding.objects.filter(public_id=focused)
            .values_list("game__run__public_id", flat=True)
            .first()
            or ""
        )
    return next((r for r in runs if r.public_id == wanted), runs[0] if runs else None)
