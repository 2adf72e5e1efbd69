"""Access to packets and report cards.

Admins have it, and reviewers of a packet once it is revealed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adjudication.models import JudgeRun, Packet
from tests.integration.site.matrix.world import SIGN_IN, Row, World, answers

LIST = answers(
    anonymous=SIGN_IN,
    clinician=403,
    reviewer=403,
    admin=200,
    outsider=200,
    nobody=403,
    superuser=403,
)
PAGE = answers(
    anonymous=SIGN_IN,
    clinician=403,
    reviewer=403,
    admin=200,
    outsider=404,
    nobody=403,
    superuser=403,
)
STEER = answers(
    anonymous=SIGN_IN,
    clinician=403,
    reviewer=403,
    admin=302,
    outsider=404,
    nobody=403,
    superuser=403,
)
#: Only an admin learns that there is a packet they are not in.
CARD = answers(
    anonymous=SIGN_IN,
    clinician=404,
    reviewer=404,
    admin=200,
    outsider=404,
    nobody=403,
    superuser=403,
)


def make_judge_run(world: World) -> JudgeRun:
    """A judge run of the world's study that has judged nothing."""
    found = JudgeRun.objects.filter(study=world.study, label="matrix").first()
    sources = [["one", "revised", 1], ["two", "revised", 1]]
    return found or JudgeRun.objects.create(
        study=world.study,
        label="matrix",
        sources=sources,
        judge="rules",
        judge_name="rules",
        judge_version="1",
    )


def make_packet(world: World) -> Packet:
    """A draft without items."""
    found = Packet.objects.filter(study=world.study, label="matrix").first()
    return found or Packet.objects.create(
        study=world.study, label="matrix", judge_run=make_judge_run(world), seed=1
    )


def _path(world: World) -> dict[str, str]:
    return {"public_id": make_packet(world).public_id}


def _build_path(**further: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**_path(world), **further}


ROWS = [
    Row("adjudication:packets", LIST),
    Row(
        "adjudication:packet_new",
        PAGE,
        path=lambda world: {"run_id": make_judge_run(world).public_id},
    ),
    # An empty form comes back with its errors and draws nothing.
    Row(
        "adjudication:packet_new",
        PAGE,
        method="post",
        path=lambda world: {"run_id": make_judge_run(world).public_id},
    ),
    Row("adjudication:packet", PAGE, path=_path),
    *(
        Row("adjudication:packet_action", STEER, method="post", path=_build_path(action=action))
        for action in (
            "guess",
            "open",
            "close",
            "assign",
            "due",
            "search",
            "second",
            "delete",
        )
    ),
    # The forms name no assignment and no search.
    *(
        Row(
            "adjudication:packet_action",
            {**STEER, "admin": 404},
            method="post",
            path=_build_path(action=action),
        )
        for action in ("own-due", "unsearch")
    ),
    Row("adjudication:report_card", CARD, path=_path),
    Row("adjudication:report_table", CARD, path=_build_path(name="uphold", format="csv")),
    Row("adjudication:packet_download", CARD, path=_build_path(format="csv")),
]
