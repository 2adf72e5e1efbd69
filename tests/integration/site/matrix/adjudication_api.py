"""Access to the API by role.

Responses are as on the pages, with 401 for a missing sign-in, and 403 or 404 without a hint whether
the object exists. The matrix sends forms, which addresses with a JSON body refuse with 415 to those
who have access.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from django.utils.timezone import now

from adjudication.models import Assignment, PairSearch
from adjudication.packets import actions as packets
from adjudication.packets.searches import find_searchable_games
from tests.integration.site.matrix import adjudication_judging as judging
from tests.integration.site.matrix import adjudication_review as review
from tests.integration.site.matrix import curation
from tests.integration.site.matrix.world import Answer, Row, World, answers, expect_signed_in
from timelines.cases.exporting.formats import FORMATS


def _reviewers_own(answer: Answer) -> Mapping[str, Answer]:
    """The assigned person alone; nobody else learns that there is a review."""
    return answers(
        anonymous=401,
        clinician=404,
        reviewer=answer,
        admin=404,
        outsider=404,
        nobody=404,
        superuser=404,
    )


def _own_search(world: World) -> dict[str, str]:
    """A search that is not submitted, by a reviewer who has practised."""
    assignment = review._review(world)
    Assignment.objects.filter(pk=assignment.pk).update(practised_at=now())
    game = find_searchable_games(assignment.packet)[0]
    made, _ = PairSearch.objects.get_or_create(assignment=assignment, game=game)
    return {"public_id": assignment.public_id, "search_id": made.public_id}


ITEM = (
    ("put", "review_draft"),
    ("post", "review_skip"),
    ("put", "review_flag"),
    ("post", "review_decide"),
    ("post", "review_amend"),
)
REVIEW = [
    Row("adjudication_api:reviews", expect_signed_in(200, anonymous=401)),
    Row("adjudication_api:review", _reviewers_own(200), path=review._mine),
    Row("adjudication_api:review", _reviewers_own(404), path=review._draft),
    *(
        Row(f"adjudication_api:{name}", _reviewers_own(415), method="post", path=review._mine)
        for name in ("review_next", "review_undo", "review_sign", "review_unsign")
    ),
    Row("adjudication_api:review_answers", _reviewers_own(200), path=review._decide),
    Row("adjudication_api:review_practice", _reviewers_own(200), path=review._mine),
    Row(
        "adjudication_api:review_practice_case",
        _reviewers_own(200),
        path=lambda world: {**review._mine(world), "number": "1"},
    ),
    Row(
        "adjudication_api:review_practice_case",
        _reviewers_own(404),
        path=lambda world: {**review._mine(world), "number": "99"},
    ),
    Row(
        "adjudication_api:review_practice_case",
        _reviewers_own(415),
        method="post",
        path=lambda world: {**review._mine(world), "number": "1"},
    ),
    Row("adjudication_api:review_searches", _reviewers_own(200), path=review._mine),
    Row("adjudication_api:review_search", _reviewers_own(200), path=_own_search),
    Row(
        "adjudication_api:review_differences", _reviewers_own(415), method="post", path=_own_search
    ),
    # Nothing is listed.
    Row(
        "adjudication_api:review_difference",
        _reviewers_own(422),
        method="delete",
        path=lambda world: {**_own_search(world), "number": "1"},
    ),
    Row(
        "adjudication_api:review_search_submit",
        _reviewers_own(200),
        method="post",
        path=_own_search,
    ),
    Row("adjudication_api:review_check", _reviewers_own(409), path=review._mine),
    Row("adjudication_api:review_check", _reviewers_own(200), path=review._decide),
    Row("adjudication_api:review_check", _reviewers_own(415), method="post", path=review._decide),
    Row("adjudication_api:review_receipt", _reviewers_own(200), path=review._sign),
    Row("adjudication_api:review_receipt", _reviewers_own(404), path=review._mine),
    Row("adjudication_api:review_item", _reviewers_own(200), path=review._item),
    Row(
        "adjudication_api:review_series",
        _reviewers_own(200),
        path=lambda world: {**review._item(world), "number": "0"},
    ),
    Row(
        "adjudication_api:review_series",
        _reviewers_own(404),
        path=lambda world: {**review._item(world), "number": "99"},
    ),
    Row(
        "adjudication_api:review_timelines",
        _reviewers_own(200),
        method="post",
        path=review._item,
    ),
    *(
        Row(f"adjudication_api:{name}", _reviewers_own(415), method=method, path=review._item)
        for method, name in ITEM
    ),
]


def _readers(answer: Answer) -> Mapping[str, Answer]:
    """Return answers for objects that readers of the study's cases may see.

    People who read cases in another study get 404.
    """
    return answers(
        anonymous=401,
        clinician=answer,
        reviewer=403,
        admin=answer,
        outsider=404,
        nobody=403,
        superuser=403,
    )


def _admins(answer: Answer, *, outsider: Answer = 404) -> Mapping[str, Answer]:
    return answers(
        anonymous=401,
        clinician=403,
        reviewer=403,
        admin=answer,
        outsider=outsider,
        nobody=403,
        superuser=403,
    )


def _run(world: World) -> dict[str, str]:
    return {"run_id": judging._run(world).public_id}


def _acting(action: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**_run(world), "action": action}


def _game(world: World) -> dict[str, str]:
    return {"game_id": judging._game(world).public_id}


def _run_file(form: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**_run(world), "form": form}


def _run_table(name: str, form: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**_run(world), "name": name, "form": form}


def _export(form: str) -> Callable[[World], dict[str, str]]:
    """A case with timelines and the form of a file of it."""
    return lambda world: {
        "case_id": judging._comparison(world).encounter.public_id,
        "form": form,
    }


LISTS = answers(
    anonymous=401, clinician=200, reviewer=403, admin=200, outsider=200, nobody=403, superuser=403
)
JUDGING = [
    Row("adjudication_api:judge_runs", LISTS),
    Row("adjudication_api:judge_runs", _admins(415, outsider=415), method="post"),
    Row("adjudication_api:judge_choices", _admins(200, outsider=200)),
    *(
        Row(f"adjudication_api:{name}", _readers(200), path=_run)
        for name in ("judge_run", "judge_games", "findings", "judge_report")
    ),
    *(
        Row(f"adjudication_api:{name}_file", _readers(200), path=_run_file(form))
        for name in ("findings", "games")
        for form in ("csv", "jsonl", "parquet", "dictionary")
    ),
    *(
        Row(f"adjudication_api:{name}_file", _readers(404), path=_run_file("xlsx"))
        for name in ("findings", "games")
    ),
    *(
        Row("adjudication_api:judge_report_table", _readers(200), path=_run_table("ratings", form))
        for form in ("csv", "latex", "json")
    ),
    Row("adjudication_api:judge_report_table", _readers(404), path=_run_table("other", "csv")),
    Row("adjudication_api:judge_report_table", _readers(404), path=_run_table("ratings", "xlsx")),
    *(
        Row("adjudication_api:judge_run_action", _admins(200), method="post", path=_acting(action))
        for action in ("pause", "resume", "cancel", "retry", "unjudged")
    ),
    Row("adjudication_api:judge_run_action", _admins(404), method="post", path=_acting("other")),
    Row(
        "adjudication_api:judge_changes",
        _readers(200),
        path=lambda world: {
            **_run(world),
            "later_id": judging._run(world, "judged again").public_id,
        },
    ),
    Row("adjudication_api:judge_game", _readers(200), path=_game),
    Row("adjudication_api:judge_game_again", _admins(409), method="post", path=_game),
    Row(
        "adjudication_api:finding",
        _readers(200),
        path=lambda world: {"finding_id": judging._game(world).findings.get().public_id},
    ),
    Row("timelines_api:corrections", _readers(200), path=curation._corrected),
    Row("timelines_api:corrections", _readers(415), method="post", path=curation._corrected),
    Row("timelines_api:links", _readers(200), path=curation._corrected),
    Row("timelines_api:links", _readers(415), method="post", path=curation._corrected),
    Row("timelines_api:link_undo", _readers(415), method="post", path=curation._no_link),
    Row("timelines_api:comments", _readers(200), path=curation._corrected),
    Row("timelines_api:comments", _readers(415), method="post", path=curation._corrected),
    Row(
        "adjudication_api:comparison",
        _readers(200),
        path=lambda world: {"case_id": judging._comparison(world).encounter.public_id},
    ),
    *(Row("timelines_api:case_export", _readers(200), path=_export(form)) for form in FORMATS),
]


def _packet(world: World) -> dict[str, str]:
    """The reviewer's open packet."""
    return {"public_id": review._review(world).packet.public_id}


def _drawable(world: World) -> dict[str, str]:
    return {"run_id": review._review(world).packet.judge_run.public_id}


def _assign(world: World) -> dict[str, str]:
    return {**_packet(world), "assignment_id": review._review(world).public_id}


def _search(world: World) -> dict[str, str]:
    """A search that is not submitted."""
    assignment = review._review(world)
    game = find_searchable_games(assignment.packet)[0]
    made, _ = PairSearch.objects.get_or_create(assignment=assignment, game=game)
    return {**_packet(world), "search_id": made.public_id}


def _sign(world: World) -> dict[str, str]:
    review._sign(world)
    return _assign(world)


def _step(action: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**_packet(world), "action": action}


def _close_packet(world: World) -> dict[str, str]:
    found = review._review(world).packet
    packets.close_packet(packet=found, by=world.people["admin"])
    return {"public_id": found.public_id}


def _file(form: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**_packet(world), "form": form}


def _table(name: str, form: str) -> Callable[[World], Mapping[str, str]]:
    return lambda world: {**_file(form)(world), "name": name}


#: To those assigned an open packet is closed; to others without the role it does not exist.
CARD = answers(
    anonymous=401, clinician=404, reviewer=403, admin=200, outsider=404, nobody=404, superuser=404
)
PACKETS = [
    Row("adjudication_api:packets", _admins(200, outsider=200)),
    Row("adjudication_api:packet_eligible", _admins(200), path=_drawable),
    Row("adjudication_api:packet_preview", _admins(415), method="post", path=_drawable),
    Row("adjudication_api:packet_draw", _admins(415), method="post", path=_drawable),
    Row("adjudication_api:packet", _admins(200), path=_packet),
    Row("adjudication_api:packet", _admins(409), method="delete", path=_packet),
    Row("adjudication_api:packet_step", _admins(200), method="post", path=_step("close")),
    Row("adjudication_api:packet_step", _admins(409), method="post", path=_step("open")),
    Row("adjudication_api:packet_step", _admins(404), method="post", path=_step("other")),
    *(
        Row(f"adjudication_api:packet_{name}", _admins(415), method="post", path=_packet)
        for name in ("due_date", "second", "changed", "assign")
    ),
    Row("adjudication_api:packet_candidates", _admins(200), path=_packet),
    Row("adjudication_api:packet_searches", _admins(200), path=_packet),
    Row("adjudication_api:packet_searches", _admins(415), method="post", path=_packet),
    Row("adjudication_api:packet_search", _admins(204), method="delete", path=_search),
    Row("adjudication_api:packet_notes", _admins(200), path=_packet),
    Row("adjudication_api:packet_withdraw", _admins(200), method="post", path=_assign),
    Row("adjudication_api:packet_unsign", _admins(415), method="post", path=_sign),
    Row("adjudication_api:packet_report", CARD, path=_packet),
    Row("adjudication_api:packet_report", {**CARD, "reviewer": 200}, path=_close_packet),
    *(
        Row("adjudication_api:packet_report_table", CARD, path=_table("uphold", form))
        for form in ("csv", "latex", "json")
    ),
    Row(
        "adjudication_api:packet_report_table", {**CARD, "admin": 404}, path=_table("other", "csv")
    ),
    Row(
        "adjudication_api:packet_report_table",
        {**CARD, "admin": 404},
        path=_table("uphold", "xlsx"),
    ),
    *(
        Row("adjudication_api:packet_decisions", CARD, path=_file(form))
        for form in ("csv", "jsonl", "dictionary")
    ),
    Row("adjudication_api:packet_decisions", {**CARD, "admin": 404}, path=_file("xlsx")),
]
ROWS = [*REVIEW, *JUDGING, *PACKETS]
