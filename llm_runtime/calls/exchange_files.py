"""The files of the exchange (docs/reference/exchange.md).

A request is `rROUND-STAGE-BATCH-SHA256.json`, its answer has the same name with `.answer.txt` or
`.answer.json`. SHA256 is the request's own digest, so that an answer can belong to no other
request; the part before it serves people and may be missing.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import Field, InstanceOf, ValidationError

from llm_runtime.base import Message, ModelReply, ModelRequest
from llm_runtime.schema import FaultMessage, Strict, faults

FORMAT = "occurrent-exchange-1"
#: A model of the exchange has this in its name, in place of host and port.
ENDPOINT = "exchange"
INDEX = "UNANSWERED.txt"
#: Round, stage and batch, which may be missing; then the digest.
_PREFIX = r"(?:r(?P<round>\d+)-(?P<stage>\w+)-(?P<batch>\d+)-)?"
_REQUEST = re.compile(rf"{_PREFIX}(?P<sha256>[0-9a-f]{{64}})\.json")
_ANSWER = re.compile(rf"{_PREFIX}(?P<sha256>.+)\.answer\.(?:txt|json)")
_README = f"""Requests to a language model, one per file, and the place for their answers.

NAMES
Each rROUND-STAGE-BATCH-DIGEST.json is one request: `messages` (send them unchanged), `schema` (a JSON schema for the answer, or
null), `max_tokens`, `temperature` and `seed`. Requests are independent: send each in its own conversation.
{INDEX} lists the requests that have no answer, one per line. It is written by each export, import and check.

ANSWERS
Store the answer beside the request, under the name of the request without .json:
  NAME.answer.txt    the text of the answer and nothing else, or
  NAME.answer.json   {{"text": "the text of the answer", "finish_reason": "stop" or "length", "model": "what answered"}}
"length" means that the answer was cut off. Do not change a request: its name contains its digest.

ROUNDS
The stages depend on each other: tag, infer, query, revise; tkw2 has more steps. A round has the requests that can be answered now.
When you have answered it:
  manage.py exchange check --in FOLDER             validates the answers and stores nothing; correct what it rejects
  manage.py exchange import --run RUN --in FOLDER  stores the answers, and the run continues
  manage.py exchange export --run RUN --out FOLDER writes the next round, with new requests for rejected answers
Repeat until the command says that the run is finished. A run of all stages takes four rounds if no answer is rejected; a judge run
takes one.

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

    @property
    def stage(self) -> str:
        """The prompt's name without its folder, such as "infer"."""
        return self.prompt.rpartition("/")[2] or "request"


@dataclass(frozen=True, slots=True)
class ExchangeFolder:
    """The files of a folder, by the digest in their names."""

    path: Path
    requests: Mapping[str, Path]
    answers: Mapping[str, Sequence[Path]]

    @property
    def unanswered(self) -> list[Path]:
        return sorted(path for sha256, path in self.requests.items() if sha256 not in self.answers)

    def has_request(self, sha256: str) -> bool:
        """Return True if the folder has the request of that digest, unchanged."""
        return sha256 in self.requests and _digest(self.requests[sha256]) == sha256

    def find_answer(self, sha256: str) -> ModelReply:
        """Return the one answer to that request.

        Raises AnswerRefused if there are two answers, if the request was changed, or if the answer
        cannot be read.
        """
        first, *more = self.answers[sha256]
        if more:
            raise AnswerRefused(
                f"{more[0].name}: there is another answer to this request, {first.name}; keep one"
            )
        if sha256 in self.requests and not self.has_request(sha256):
            raise AnswerRefused(
                f"{first.name}: its request {self.requests[sha256].name} was changed; export it"
                " again and answer what it asks"
            )
        return read_answer(first)


def scan_folder(path: Path) -> ExchangeFolder:
    """Return the requests and answers in a folder. Raises OSError."""
    requests: dict[str, Path] = {}
    answers: dict[str, list[Path]] = defaultdict(list)
    for file in sorted(path.iterdir()):
        if answer := _ANSWER.fullmatch(file.name):
            answers[answer["sha256"]].append(file)
        elif request := _REQUEST.fullmatch(file.name):
            requests.setdefault(request["sha256"], file)
    return ExchangeFolder(path, requests, dict(answers))


def write_requests(folder: Path, posted: Iterable[PostedRequest], *, join: bool = False) -> int:
    """Write the new requests, the index and a README; return the count.

    The count includes requests that have a file already. New requests start a round; with `join`
    they belong to the last round as long as that has unanswered requests. Raises OSError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "README.txt", _README)
    found = scan_folder(folder)
    names = [match for path in found.requests.values() if (match := _REQUEST.fullmatch(path.name))]
    round_ = max((int(match["round"]) for match in names if match["round"]), default=0)
    round_ += not (join and round_ and found.unanswered)
    batches = Counter(match["stage"] for match in names if match["round"] == f"{round_:02d}")
    posted = list(posted)
    for one in posted:
        if one.sha256 not in found.requests:
            batches[one.stage] += 1
            name = f"r{round_:02d}-{one.stage}-{batches[one.stage]:03d}-{one.sha256}.json"
            _write(folder / name, _text(one))
    write_index(folder)
    return len(posted)


def write_index(folder: Path) -> None:
    """Write the names of the requests without an answer. Raises OSError."""
    names = [path.name for path in scan_folder(folder).unanswered]
    _write(folder / INDEX, "".join(f"{name}\n" for name in names))


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
    part = path.with_name(f"{path.name}.{uuid4().hex}.part")
    part.write_bytes(text.encode("utf-8"))
    part.replace(path)
