"""Requests and answers as files, and the models that are asked by them."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable
from pathlib import Path

import pytest

from llm_runtime.base import Message, ModelReply, ModelRequest, ProviderError
from llm_runtime.calls.calling import Asker, MemoryLedger, gather_results
from llm_runtime.calls.exchange_files import (
    AnswerRefused,
    PostedRequest,
    parse_request,
    read_answer,
    scan_folder,
    write_requests,
)
from llm_runtime.errors import (
    AnswerRejected,
    AttemptsExhausted,
    Pending,
    RequestRefused,
    Unavailable,
)
from llm_runtime.prompts import Rendered
from llm_runtime.providers.exchange import ExchangeModel, ReplayModel
from llm_runtime.roles import ModelRoles

REQUEST = ModelRequest(
    (Message("system", "be exact"), Message("user", "naïve \ud800 note")),
    200,
    schema={"type": "object"},
    seed=3,
    extra={"priority": 1},
)
POSTED = PostedRequest(
    REQUEST, "strong@exchange", "timer", "timelines/infer", "f" * 64, "infer batch 1 of 2"
)


def test_a_request_file_holds_all_that_its_digest_is_made_of(tmp_path: Path) -> None:
    assert write_requests(tmp_path / "new" / "out", [POSTED]) == 1
    path = tmp_path / "new" / "out" / f"r01-infer-001-{POSTED.sha256}.json"
    request = json.loads(path.read_text(encoding="utf-8"))
    assert parse_request(request) == REQUEST
    assert parse_request(request).sha256(request["model"]) == POSTED.sha256
    assert (request["format"], request["role"], request["part"]) == (
        "occurrent-exchange-1",
        "timer",
        "infer batch 1 of 2",
    )
    assert request["prompt"] == {"name": "timelines/infer", "sha256": "f" * 64}
    assert "naïve" in path.read_text(encoding="utf-8"), "people read these files"
    assert "NAME.answer.txt" in (path.parent / "README.txt").read_text(encoding="utf-8")
    assert {p.name for p in path.parent.iterdir()} == {path.name, "README.txt", "UNANSWERED.txt"}


@pytest.mark.parametrize(
    ("name", "content", "text", "finish_reason", "model"),
    [
        ("x.answer.txt", "plain | text\n", "plain | text\n", "stop", None),
        (
            "x.answer.txt",
            '\ufeff{"text": "not an envelope here"}',
            '{"text": "not an envelope here"}',
            "stop",
            None,
        ),
        ("x.answer.json", '{"text": "é"}', "é", "stop", None),
        (
            "x.answer.json",
            '{"text": "cut", "finish_reason": "length", "model": "big"}',
            "cut",
            "length",
            "big",
        ),
    ],
)
def test_an_answer_is_plain_text_or_text_with_what_became_of_it(
    tmp_path: Path, name, content, text, finish_reason, model
) -> None:
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    reply = read_answer(path)
    assert (reply.text, reply.finish_reason, reply.raw.get("model"), reply.raw["file"]) == (
        text,
        finish_reason,
        model,
        name,
    )


@pytest.mark.parametrize(
    "change",
    [
        {"max_tokens": "200"},
        {"max_tokens": 200.0},
        {"seed": True},
        {"temperature": None},
        {"messages": "be exact"},
        {"schema": []},
        {"extra": None},
        {"messages": [{"role": "user"}]},
    ],
)
def test_no_value_of_a_request_is_converted(tmp_path: Path, change: dict[str, object]) -> None:
    """No value is converted: a changed file must not get the old digest."""
    write_requests(tmp_path, [POSTED])
    (path,) = tmp_path.glob("*.json")
    request = json.loads(path.read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match=next(iter(change))) as refused:
        parse_request({**request, **change})
    assert "be exact" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.answer.txt", b"\xff\xfe", "x.answer.txt: cannot be read as UTF-8"),
        ("x.answer.txt", b" \n", "x.answer.txt: the answer is empty"),
        ("x.answer.json", b"{", "x.answer.json: not valid JSON"),
        (
            "x.answer.json",
            b'{"reasoning": "r", "3f0c": {}}',
            "an answer that is JSON itself goes into .answer.txt",
        ),
        ("x.answer.json", b"[1]", "x.answer.json: not"),
        ("x.answer.json", b'{"text": 1}', "text is not a text"),
        ("x.answer.json", b'{"finish_reason": "stop"}', "missing text"),
        (
            "x.answer.json",
            b'{"text": "a", "finish_reason": "tired"}',
            "finish_reason is none of stop, length",
        ),
        ("x.answer.json", b'{"text": "a", "model": null}', "model is not a text"),
        ("x.answer.json", b"[" * 100_000, "x.answer.json: not valid JSON"),
    ],
)
def test_an_invalid_answer_file_is_refused_by_name(tmp_path: Path, name, content, message) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(AnswerRefused, match=re.escape(message)):
        read_answer(tmp_path / name)


def test_two_answers_and_changed_requests_are_refused(tmp_path: Path) -> None:
    write_requests(tmp_path, [POSTED])
    name, sha256 = f"r01-infer-001-{POSTED.sha256}", POSTED.sha256
    (tmp_path / f"{name}.answer.txt").write_text("a")
    (tmp_path / "note.txt").write_text("no answer")
    assert [path.name for path in scan_folder(tmp_path).answers[sha256]] == [f"{name}.answer.txt"]
    assert scan_folder(tmp_path).find_answer(sha256).text == "a"
    request = tmp_path / f"{name}.json"
    for changed in (
        request.read_text(encoding="utf-8").replace("be exact", "be quick"),
        "{}",
        "no JSON",
    ):
        request.write_text(changed, encoding="utf-8")
        with pytest.raises(
            AnswerRefused, match=f"{name}.answer.txt: its request {name}.json was changed"
        ):
            scan_folder(tmp_path).find_answer(sha256)
    request.unlink()
    assert scan_folder(tmp_path).find_answer(sha256).text == "a", "answers may come back alone"
    (tmp_path / f"{sha256}.answer.json").write_text('{"text": "b"}')
    with pytest.raises(AnswerRefused, match="there is another answer"):
        scan_folder(tmp_path).find_answer(sha256)


def posted(text: str, prompt: str = "timelines/infer") -> PostedRequest:
    request = ModelRequest((Message("user", text),), 200)
    return PostedRequest(request, "strong@exchange", "timer", prompt)


def names(folder: Path) -> list[str]:
    """The names of all requests, without their digests."""
    return sorted(path.name.rpartition("-")[0] for path in folder.glob("*.json"))


def unanswered(folder: Path) -> list[str]:
    lines = (folder / "UNANSWERED.txt").read_text(encoding="utf-8").splitlines()
    return [line.rpartition("-")[0] for line in lines]


def test_each_export_with_new_requests_is_a_round(tmp_path: Path) -> None:
    first = [posted("a", "timelines/tag"), posted("b", "timelines/tag"), posted("c")]
    assert write_requests(tmp_path, first) == 3
    begun = ["r01-infer-001", "r01-tag-001", "r01-tag-002"]
    assert names(tmp_path) == unanswered(tmp_path) == begun
    assert write_requests(tmp_path, first) == 3
    assert names(tmp_path) == begun, "nothing is new"
    answered = next(tmp_path.glob("r01-tag-001-*.json"))
    answered.with_name(f"{answered.stem}.answer.txt").write_text("a")
    write_requests(tmp_path, [*first, posted("d")])
    assert names(tmp_path) == [*begun, "r02-infer-001"]
    assert unanswered(tmp_path) == ["r01-infer-001", "r01-tag-002", "r02-infer-001"]


def test_requests_written_one_by_one_join_the_round_that_is_open(tmp_path: Path) -> None:
    for text in "ab":
        write_requests(tmp_path, [posted(text, "")], join=True)
    assert names(tmp_path) == ["r01-request-001", "r01-request-002"]
    for path in list(tmp_path.glob("*.json")):
        path.with_name(f"{path.stem}.answer.txt").write_text("a")
    write_requests(tmp_path, [posted("c", "")], join=True)
    assert names(tmp_path)[-1] == "r02-request-001"


def test_a_folder_of_the_older_form_is_read(tmp_path: Path) -> None:
    write_requests(tmp_path, [POSTED])
    (path,) = tmp_path.glob("*.json")
    path.rename(tmp_path / f"{POSTED.sha256}.json")
    (tmp_path / f"{POSTED.sha256}.answer.txt").write_text("a")
    assert scan_folder(tmp_path).find_answer(POSTED.sha256).text == "a"
    write_requests(tmp_path, [POSTED])
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_a_model_asked_by_files_never_answers_itself() -> None:
    model = ModelRoles(
        {
            "language_model": {
                "provider": "exchange",
                "model": "strong",
                "output": "table",
                "context": 9000,
            }
        }
    ).language_model("timer")
    assert (model.name, model.limits.schema, model.limits.context) == (
        "strong@exchange",
        False,
        9000,
    )
    with pytest.raises(Pending):
        asyncio.run(model.generate(REQUEST))
    assert (Pending.retryable, Pending.outage, Pending.patient) == (True, True, True)
    assert asyncio.run(model.count_tokens([Message("user", "x" * 25)])) == 18
    with pytest.raises(ProviderError, match="schema or table"):
        ExchangeModel(model="strong", output="poem")


def ask(model: ExchangeModel, text: str = "note") -> str:
    def validate(reply: ModelReply) -> str:
        return reply.text

    prompt = Rendered("p", "0" * 64, (Message("user", text),))
    return asyncio.run(
        Asker("timer", model, MemoryLedger()).ask(prompt, validate, max_tokens=10, part="it")
    )


def test_a_folder_is_recorded_and_then_replayed(tmp_path: Path) -> None:
    model = ReplayModel(folder=str(tmp_path), model="strong")
    with pytest.raises(Pending):
        ask(model)
    (request,) = tmp_path.glob("*.json")
    assert json.loads(request.read_text())["messages"] == [{"role": "user", "content": "note"}]
    (tmp_path / f"{request.stem}.answer.txt").write_text("answered")
    assert ask(model) == "answered"
    (tmp_path / f"{request.stem}.answer.txt").write_text("")
    with pytest.raises(RequestRefused, match="the answer is empty"):
        ask(model)
    with pytest.raises(ProviderError, match="folder"):
        ReplayModel(folder=str(tmp_path / "none"), model="strong")
    cut = json.dumps({"text": "x", "finish_reason": "length"})
    for path in tmp_path.glob("*.answer.txt"):
        path.unlink()
    (tmp_path / f"{request.stem}.answer.json").write_text(cut)
    with pytest.raises(Pending):  # an answer that was cut is asked for again, with another seed
        ask(model)
    assert sorted(
        json.loads(p.read_text())["seed"] for p in tmp_path.glob("*.json") if "answer" not in p.name
    ) == [1, 2]


def test_whoever_waits_for_outside_stops_no_other() -> None:
    ledger, model = MemoryLedger(), ExchangeModel(model="strong")
    asker = Asker("timer", model, ledger)
    finished: list[str] = []

    def waiting(text: str) -> Awaitable[str]:
        prompt = Rendered("p", "0" * 64, (Message("user", text),))
        return asker.ask(prompt, lambda reply: reply.text, max_tokens=10, part=text)

    async def slow() -> str:
        await asyncio.sleep(0.05)
        finished.append("slow")
        return "slow"

    with pytest.raises(Pending):
        asyncio.run(_run([waiting("a"), slow(), waiting("b"), waiting("c")]))
    assert [call.part for call in ledger.calls] == ["a", "b", "c"]
    assert finished == ["slow"]

    async def broken() -> str:
        raise Unavailable("gone")

    with pytest.raises(Unavailable):
        asyncio.run(_run([waiting("d"), broken(), slow()]))
    assert finished == ["slow"], "any other error still stops the others"
    assert asyncio.run(_run([])) == []


async def _run(waiting: list[Awaitable[str]]) -> list[str]:
    return await gather_results(waiting)


def test_an_answer_is_checked_like_any_other(tmp_path: Path) -> None:
    model = ReplayModel(folder=str(tmp_path), model="strong")

    def refuse(reply: ModelReply) -> str:
        raise AnswerRejected(["no"])

    prompt = Rendered("p", "0" * 64, (Message("user", "x"),))
    asker = Asker("timer", model, MemoryLedger())
    for _ in range(3):
        with pytest.raises(Pending):
            asyncio.run(asker.ask(prompt, refuse, max_tokens=10, part="it"))
        for request in tmp_path.glob("*.json"):
            (tmp_path / f"{request.stem}.answer.txt").write_text("wrong")
    with pytest.raises(AttemptsExhausted):
        asyncio.run(asker.ask(prompt, refuse, max_tokens=10, part="it"))
