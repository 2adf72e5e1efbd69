"""The files of the exchange (docs/reference/exchange.md).

A request is `SHA256.json`, its answer `SHA256.answer.txt` or `.answer.json`. SHA256 is the
request's own digest, so that an answer can belong to no other request.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, InstanceOf, ValidationError

from llm_runtime.base import Message, ModelReply, ModelRequest
from llm_runtime.schema import FaultMessage, Strict, faults

FORMAT = "occurrent-exchange-1"
#: A model of the exchange has this in its name, in place of host and port.
ENDPOINT = "exchange"
_ANSWER = re.compile(r"(?P<sha256>.+)\.answer\.(?:txt|json)")
_README = """Requests to a language model, one per file, and the place for their answers.

Each NAME.json is one request: `messages` (send them unchanged), `schema` (a JSON schema for the answer, or null), `max_tokens`,
`temperature` and `seed`. Requests are independent: send each in its own conversation.

Store the answer beside the request, unchanged:
  NAME.answer.txt    the text of the answer and nothing else, or
  NAME.answer.json   {"text": "the text of the answer", "finish_reason": "stop" or "length", "model": "what answered"}

"length" means that the answer was cut off. Do not change a request: its name is its digest. Answers are validated when they are
imported. A rejected answer leads to a new request with the errors.

The requests contain text of patients' notes and records. Protect this folder as you protect those.
"""


#: Any text, also one with half a surrogate pair: the validator of the answer rejects that.
Text = Annotated[InstanceOf[str], FaultMessage("is not a text")]


class MessageFile(Strict, extra="ignore"):
    """A message of a request."""

    role: Literal["system", "user", "assistant"]
    content: Text


class RequestFile(Strict, extra="ignore"):
    """The parts of a request that its digest covers.

    The other fields of a file say what it is for. Numbers are not converted, so that the digest of
    an unchanged file is its name.
    """

    model: Text = ""
    messages: list[MessageFile]
    max_tokens: int
    constrained_to: InstanceOf[dict[str, Any]] | None = Field(alias="schema")
    temperature: int | float
    seed: int | None
    extra: InstanceOf[dict[str, Any]]


class AnswerFile(Strict):
    """`.answer.json`."""

    text: Text
    finish_reason: Literal["stop", "length"] = "stop"
    model: Text = ""


class AnswerRefused(ValueError):
    """An answer file cannot be used.

    The message names the file and quotes nothing from it.
    """

    log_safe = True


@dataclass(frozen=True, slots=True)
class PostedRequest:
    """A request that was sent out, with its purpose.

    The texts of the purpose contain nothing about a patient.
    """

    request: ModelRequest
    model: str
    role: str = ""
    prompt: str = ""
    prompt_sha256: str = ""
    part: str = ""

    @property
    def sha256(self) -> str:
        return self.request.sha256(self.model)


def write_requests(folder: Path, posted: Iterable[PostedRequest]) -> int:
    """Write a file for each new request, and a README; return the count.

    The count includes requests that have a file already. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "README.txt", _README)
    count = 0
    for one in posted:
        path = folder / f"{one.sha256}.json"
        if not path.exists():
            _write(path, _text(one))
        count += 1
    return count


def answer_files(folder: Path) -> dict[str, list[Path]]:
    """Digest as the name has it → the answers to that request. Raises OSError."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.iterdir()):
        match = _ANSWER.fullmatch(path.name)
        if match and path.is_file():
            found[match["sha256"]].append(path)
    return dict(found)


def has_request(folder: Path, sha256: str) -> bool:
    """Return True if the folder has the request of that digest, unchanged."""
    return _digest(folder / f"{sha256}.json") == sha256


def find_answer(folder: Path, sha256: str, paths: Iterable[Path]) -> ModelReply:
    """Return the one answer to that request.

    Raises AnswerRefused if there are two answers, if the request was changed, or if the answer
    cannot be read.
    """
    first, *more = paths
    if more:
        raise AnswerRefused(
            f"{more[0].name}: there is another answer to this request, {first.name}; keep one"
        )
    request = folder / f"{sha256}.json"
    if request.exists() and _digest(request) != sha256:
        raise AnswerRefused(
            f"{first.name}: its request {request.name} was changed; export it again and answer what"
            " it asks"
        )
    return read_answer(first)


def read_answer(path: Path) -> ModelReply:
    """The reply in a file. Raises AnswerRefused."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise AnswerRefused(f"{path.name}: cannot be read as UTF-8") from None
    try:
        answer = AnswerFile.model_validate(
            {"text": text} if path.suffix == ".txt" else json.loads(text)
        )
    except ValidationError as error:
        form = '{"text": …, "finish_reason": "stop" or "length", "model": …}'
        raise AnswerRefused(
            f"{path.name}: not {form} ({'; '.join(map(str, faults(error)))}); an answer that is"
            " JSON itself goes into .answer.txt"
        ) from None
    except (ValueError, RecursionError):
        raise AnswerRefused(f"{path.name}: not valid JSON") from None
    if not answer.text.strip():
        raise AnswerRefused(f"{path.name}: the answer is empty")
    by = {"model": answer.model} if answer.model else {}
    return ModelReply(answer.text, answer.finish_reason, raw={"file": path.name, **by})


def parse_request(values: object) -> ModelRequest:
    """Return the request of a file or of the ledger.

    Raises ValueError for anything else.
    """
    file = RequestFile.model_validate(values)
    return ModelRequest(
        messages=tuple(Message(m.role, m.content) for m in file.messages),
        max_tokens=file.max_tokens,
        schema=file.constrained_to,
        temperature=file.temperature,
        seed=file.seed,
        extra=file.extra,
    )


def _text(one: PostedRequest) -> str:
    values = {
        "format": FORMAT,
        "model": one.model,
        "role": one.role,
        "part": one.part,
        "prompt": {"name": one.prompt, "sha256": one.prompt_sha256},
        **asdict(one.request),
    }
    return (
        json.dumps(values, ensure_ascii=False, indent=1)
        .encode("utf-8", "backslashreplace")
        .decode("utf-8")
        + "\n"
    )


def _digest(path: Path) -> str:
    """Return the digest of the request in a file; "" if there is none."""
    try:
        values = json.loads(path.read_bytes().decode("utf-8-sig"))
        return parse_request(values).sha256(values["model"])
    except (OSError, ValueError, RecursionError):
        return ""


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(text.encode("utf-8"))
    part.replace(path)
