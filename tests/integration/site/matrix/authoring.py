"""Access to writing and reading authored timelines.

A draft is its author's alone, also against study admins.
"""

from __future__ import annotations

from django.contrib.auth import get_user_model

from accounts.models import Role
from ehr.models import Encounter
from tests import factories
from tests.integration.site.matrix.ehr import CASE_PAGE, find_encounter
from tests.integration.site.matrix.world import SIGN_IN, TIMES, Row, World, answers
from timelines.authoring.actions import start_authoring, submit
from timelines.authoring.consensus import start_consensus
from timelines.authoring.edits import Edit, apply_edit
from timelines.models import Authoring

NOTE = "Fell at home."


def _case(world: World) -> dict[str, str]:
    """A case with a note."""
    encounter = find_encounter(world)
    if not encounter.notes.exists():
        factories.make_note(encounter, NOTE)
    return {"public_id": encounter.public_id}


def _draft(world: World) -> Authoring:
    """The clinician's assisted draft with one placed occurrence."""
    _case(world)
    clinician = world.people["clinician"]
    made, new = start_authoring(
        encounter=find_encounter(world), protocol=Authoring.Protocol.ASSISTED, by=clinician
    )
    if new:
        values = {"start": 0, "end": 4, "mention": "Fell", "time": TIMES[0]}
        apply_edit(authoring=made, edit=Edit("matrix", 0, "add", values=values), by=clinician)
    return made


def _own(world: World) -> dict[str, str]:
    return {"public_id": _draft(world).public_id}


def _occurrence(world: World) -> dict[str, str]:
    draft = _draft(world)
    return {"public_id": draft.public_id, "uid": draft.inventory.occurrences.get().uid4}


def _submit(world: World) -> dict[str, str]:
    draft = _draft(world)
    submit(authoring=draft, by=draft.author)
    return {"public_id": draft.public_id}


def _submit_two(world: World) -> dict[str, str]:
    """A case that two others have authored and submitted."""
    _case(world)
    encounter = find_encounter(world)
    for name in ("first-author", "second-author"):
        author = get_user_model().objects.filter(username=name).first() or factories.make_user(
            world.study, Role.CLINICIAN, username=name
        )
        made, _ = start_authoring(
            encounter=encounter, protocol=Authoring.Protocol.UNAIDED, by=author
        )
        apply_edit(
            authoring=made,
            edit=Edit(
                "m", 0, "add", values={"start": 0, "end": 4, "mention": "Fell", "time": TIMES[1]}
            ),
            by=author,
        )
        submit(authoring=made, by=author)
    return {"public_id": encounter.public_id}


def _reconcile(world: World) -> dict[str, str]:
    """A consensus of two others."""
    encounter = Encounter.objects.get(**_submit_two(world))
    first, second = Authoring.objects.filter(
        encounter=encounter, author__username__in=("first-author", "second-author")
    )
    made = start_consensus(first=first, second=second, by=first.author)
    return {"public_id": made.public_id}


def _pair(world: World) -> dict[str, str]:
    found = Authoring.objects.filter(author__username__in=("first-author", "second-author"))
    return {"pair": "-".join(found.order_by("pk").values_list("public_id", flat=True))}


def _authors_own(answer: int, *, admin: int = 404) -> dict[str, int | str]:
    """What its author gets; nobody else learns that it exists."""
    return dict(
        answers(
            anonymous=SIGN_IN,
            clinician=answer,
            reviewer=403,
            admin=admin,
            outsider=404,
            nobody=403,
            superuser=403,
        )
    )


#: The matrix sends forms, which these addresses refuse: they take JSON
#: (tests/integration/authoring/test_edits.py has that side).
NOT_JSON = _authors_own(415)

#: People who may open the case are sent on. Others get the answer of its page.
BACK = answers(
    anonymous=SIGN_IN,
    clinician=302,
    reviewer=403,
    admin=302,
    outsider=404,
    nobody=403,
    superuser=403,
)

ROWS = [
    Row(
        "timelines:authorings",
        answers(
            anonymous=SIGN_IN,
            clinician=200,
            reviewer=403,
            admin=200,
            outsider=200,
            nobody=403,
            superuser=403,
        ),
    ),
    Row("timelines:author_start", CASE_PAGE, path=_case),
    Row(
        "timelines:author_start",
        answers(
            anonymous=SIGN_IN,
            clinician=302,
            reviewer=403,
            admin=302,
            outsider=404,
            nobody=403,
            superuser=403,
        ),
        method="post",
        path=_case,
        data=lambda world: {"protocol": "unaided"},
    ),
    Row("timelines:authoring", _authors_own(200), path=_own),
    Row("timelines:authoring_history", _authors_own(200), path=_own),
    Row("timelines:authoring_edits", NOT_JSON, method="post", path=_own),
    Row("timelines:authoring_time", NOT_JSON, method="post", path=_own),
    Row("timelines:authoring_rows", NOT_JSON, method="post", path=_own),
    Row("timelines:authoring_suggestions", _authors_own(200), path=_occurrence),
    Row(
        "timelines:authoring_suggestion",
        NOT_JSON,
        method="post",
        path=lambda world: {**_occurrence(world), "row": "0"},
    ),
    Row("timelines:authoring_submit", _authors_own(302), method="post", path=_own),
    Row(
        "timelines:authoring_download",
        _authors_own(200),
        path=lambda world: {**_submit(world), "format": "jsonl"},
    ),
    Row(
        "timelines:authoring_reopen",
        _authors_own(302, admin=302),
        method="post",
        path=_submit,
        data=lambda world: {"reason": "why"},
    ),
    Row("timelines:agreement", CASE_PAGE, path=_submit_two),
    Row("timelines:consensus_start", BACK, method="post", path=_submit_two, data=_pair),
    Row("timelines:consensus", CASE_PAGE, path=_reconcile),
    Row(
        "timelines:consensus_decide",
        BACK,
        method="post",
        path=_reconcile,
        data=lambda world: {"item": "none", "choice": "dropped", "reason": "why"},
    ),
    Row("timelines:consensus_submit", BACK, method="post", path=_reconcile),
]
