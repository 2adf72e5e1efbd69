"""Reviewers who use the API and always answer the same.

They are for the exports of the demo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from accounts.models import User
from tests import factories
from tests.support.api import ApiClient

ANSWERS = ("A", "B", "A", "BOTH", "B", "UNCLEAR", "A", "NEITHER")


def review_all(people: Mapping[str, User], packets: Sequence[str]) -> dict[str, Any]:
    """Let everybody in turn decide on all their items and sign.

    Returns each response of the API by name.
    """
    seen: dict[str, Any] = {}
    for name, person in people.items():
        person.set_password(factories.PASSWORD)
        person.save()
        client = ApiClient(person)
        mine = {review["packet"]: review["id"] for review in request_body(client, "get", "review/")}
        for number, packet in enumerate(packets, start=1):
            if packet in mine:
                seen |= review_one(client, mine[packet], f"review/{name}-{number}")
    return seen


def review_one(client: ApiClient, review: str, name: str) -> dict[str, Any]:
    """Practise, decide, correct, guess and sign; return the responses."""
    seen: dict[str, Any] = {f"{name}/practice.json": practise(client, f"review/{review}/")}
    seen[f"{name}/items.json"] = decide_all(client, f"review/{review}/")
    seen[f"{name}/answers-before.json"] = answers = request_body(
        client, "get", f"review/{review}/answers/"
    )
    if answers:
        amend_first(client, f"review/{review}/", answers)
        guess(client, f"review/{review}/")
        seen[f"{name}/check.json"] = request_body(client, "get", f"review/{review}/check/")
        seen[f"{name}/receipt.json"] = request_body(
            client, "post", f"review/{review}/sign/", password=factories.PASSWORD
        )
    seen[f"{name}/review.json"] = request_body(client, "get", f"review/{review}/")
    return seen


def practise(client: ApiClient, address: str) -> list[Any]:
    """Answer every made-up case; return the cases and the responses."""
    seen = []
    for line in request_body(client, "get", f"{address}practice/"):
        case = f"{address}practice/{line['number']}/"
        seen += [request_body(client, "get", case), request_body(client, "post", case, answer="A")]
    return seen


def decide_all(client: ApiClient, address: str) -> list[Any]:
    """Decide on each item of the queue; return the items as shown.

    One is put aside first, and one answer is undone.
    """
    seen: list[Any] = []
    for number in count():
        item = request_body(client, "post", f"{address}next/")["item"]
        if item is None:
            return seen
        seen.append(item)
        if number == 2:
            request_body(
                client,
                "post",
                f"{address}items/{item['id']}/skip/",
                comment="later",
                active_seconds=2,
            )
            continue
        request_body(
            client, "post", f"{address}items/{item['id']}/decide/", **choose_answer(number)
        )
        if number == 4:
            seen.append(request_body(client, "post", f"{address}undo/", token=f"undo-{number}"))
    raise AssertionError


def choose_answer(number: int) -> Mapping[str, Any]:
    """What is answered to the item that came at this place."""
    answer: dict[str, Any] = {
        "token": f"answer-{number}",
        "answer": ANSWERS[number % len(ANSWERS)],
        "active_seconds": 5 + number % 30,
    }
    if number % 7 == 0:
        answer |= {"comment": f"=comment {number}", "own_time": number / 4, "flagged": True}
    return answer


def amend_first(client: ApiClient, address: str, answers: Sequence[Mapping[str, Any]]) -> None:
    """Answer the first item otherwise."""
    first = answers[0]
    change = {
        "token": "amendment",
        "answer": "UNCLEAR",
        "comment": "on second thoughts",
        "expects": first["decision"],
    }
    request_body(client, "post", f"{address}items/{first['item']}/amend/", **change)


def guess(client: ApiClient, address: str) -> None:
    """Guess at every item that is asked about which side a clinician wrote."""
    for number, line in enumerate(request_body(client, "get", f"{address}check/")):
        body = {"token": f"guess-{number}", "item": line["item"], "guess": "AB"[number % 2]}
        request_body(client, "post", f"{address}check/", **body)


def request_body(client: ApiClient, method: str, address: str, **body: Any) -> Any:
    """The body of an answer, which must be a good one."""
    status, taken = getattr(client, method)(address, **body)
    assert status < 300, (method, address, status, taken)
    return taken
