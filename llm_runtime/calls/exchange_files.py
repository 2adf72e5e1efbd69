"""The files of the exchange (docs/reference/exchange.md): a request is `SHA256.json`, its answer
`SHA256.answer.txt` or `.answer.json`.

SHA256 is the request's own digest, so that an answer can be laid beside no other request than the
one that it answers.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from llm_runtime.base import Message, ModelReply, ModelRequest

FORMAT = "occurrent-exchange-1"
#: What a model of the exchange has in its name where others have host and port.
ENDPOINT = "exchange"
_ANSWER = re.compile(r"(?P<sha256>.+)\.answer\.(?:txt|json)")
_README = """Requests to a language model, one a file, and the place for their answers.

Each NAME.json is one request: `messages` (give them to the model as they are), `schema` (a JSON schema that the answer must follow,
where it is not null), `max_tokens`, `temperature` and `seed`. Requests are independent: ask each in a conversation of its own.

Put the answer beside it, unchanged:
  NAME.answer.txt    the text of the answer and nothing else, or
  NAME.answer.json   {"text": "the text of the answer", "finish_reason": "stop" or "length", "model": "what answered"}

"length" says that the answer was cut off. Change no request: its name is its digest. Answers are checked by a program when they are
read; one that is refused is asked for again, as a new request that says what was wrong.

The requests hold text of patients' notes and records. Treat this folder as you treat those.
"""


class AnswerRefused(ValueError):
    """An answer file cannot be used; the message names the file and quotes nothing from it."""

    log_safe = True


@dataclass(frozen=True, slots=True)
class Posted:
    """A request that is out, with what it is for; the texts contain nothing about a patient."""

    request: ModelRequest
    model: str
    role: str = ""
    prompt: str = ""
    prompt_sha256: str = ""
    part: str = ""

    @property
    def sha256(self) -> str:
        return self.request.sha256(self.model)


def write_requests(folder: Path, posted: Iterable[Posted]) -> int:
    """A file for each request that has none yet, and what to do with them; returns how many
    requests there are. Raises OSError.
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


def holds_request(folder: Path, sha256: str) -> bool:
    """Whether the request of that digest lies in the folder, unchanged."""
    return _digest(folder / f"{sha256}.json") == sha256


def taken_answer(folder: Path, sha256: str, paths: Iterable[Path]) -> ModelReply:
    """The one answer to that request. Raises AnswerRefused where there are two, its request was
    changed, or it cannot be read.
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
    values: Mapping[str, Any] = {"text": text} if path.suffix == ".txt" else _object(path, text)
    answer, reason, model = (
        values.get("text"),
        values.get("finish_reason", "stop"),
        values.get("model", ""),
    )
    unknown = set(values) - {"text", "finish_reason", "model"}
    if (
        unknown
        or not isinstance(answer, str)
        or not isinstance(model, str)
        or reason not in ("stop", "length")
    ):
        form = '{"text": …, "finish_reason": "stop" or "length", "model": …}'
        raise AnswerRefused(
            f"{path.name}: not {form}; an answer that is JSON itself goes into .answer.txt"
        )
    if not answer.strip():
        raise AnswerRefused(f"{path.name}: the answer is empty")
    return ModelReply(
        answer, str(reason), raw={"file": path.name, **({"model": model} if model else {})}
    )


def request_of(values: Mapping[str, Any]) -> ModelRequest:
    """The request of a file or of the ledger. Raises KeyError, TypeError for anything else."""
    return ModelRequest(
        messages=tuple(Message(m["role"], m["content"]) for m in values["messages"]),
        max_tokens=values["max_tokens"],
        schema=values["schema"],
        temperature=values["temperature"],
        seed=values["seed"],
        extra=values["extra"],
    )


def _text(one: Posted) -> str:
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
        return request_of(values).sha256(values["model"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""


def _object(path: Path, text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise AnswerRefused(f"{path.name}: not valid JSON") from None
    return value if isinstance(value, dict) else {}


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(text.encode("utf-8"))
    part.replace(path)
