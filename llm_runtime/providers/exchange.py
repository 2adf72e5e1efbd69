"""Models that are asked by files.

Their answers come later, from any model or person, also from behind an air gap.

`ExchangeModel` leaves its requests in the ledger, where `manage.py exchange` takes them out and
brings the answers back. `ReplayModel` works from a folder directly: it answers what has an answer
there and writes down what has none. Both give equal requests equal digests, so a folder that was
filled through the one serves the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llm_runtime.base import Limits, Message, ModelReply, ModelRequest, ProviderError
from llm_runtime.calls.exchange_files import (
    ENDPOINT,
    AnswerRefused,
    PostedRequest,
    scan_folder,
    write_requests,
)
from llm_runtime.errors import Pending, RequestRefused
from llm_runtime.thinking import choose_thinking, thinking_tokens

#: Fewest characters of a token in clinical English. The answering model counts its own tokens, so
#: this gives an upper estimate.
CHARACTERS_A_TOKEN = 2.5


class ExchangeModel:
    """A model that answers by files.

    `model` is the name that runs and sources use; the other options are those of a model server's
    entry.

    Raises ProviderError for an output that is neither schema nor table.
    """

    endpoint = ENDPOINT

    def __init__(
        self,
        *,
        model: str,
        context: int = 128_000,
        output: str = "schema",
        thinking: str | None = None,
        reasoning: int = 4000,
        concurrency: int = 64,
    ) -> None:
        if output not in ("schema", "table"):
            raise ProviderError("output must be schema or table")
        self.name = f"{model}@{ENDPOINT}"
        self.extra: Mapping[str, Any] = {}
        chosen = choose_thinking(thinking, reasoning)
        self.limits = Limits(
            context=context,
            concurrency=concurrency,
            schema=output == "schema",
            **thinking_tokens(chosen, reasoning),
        )

    def describe(self) -> dict[str, Any]:
        """Return what a run records about the model."""
        return {
            "name": self.name,
            "endpoint": ENDPOINT,
            "context": self.limits.context,
            "output": "schema" if self.limits.schema else "table",
            "thinking": self.limits.thinking.value,
            "reasoning": self.limits.reasoning or self.limits.native,
        }

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Never a reply: raises Pending."""
        raise Pending("the answer comes from outside (manage.py exchange export, then import)")

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """An upper estimate."""
        return sum(int(len(m.content) / CHARACTERS_A_TOKEN) + 8 for m in messages)


class ReplayModel(ExchangeModel):
    """As `ExchangeModel`, with a folder's files instead of the ledger.

    Raises ProviderError if `folder` is no folder.
    """

    def __init__(self, *, folder: str, **options: Any) -> None:
        super().__init__(**options)
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise ProviderError("folder must be a folder that is there")

    async def generate(self, request: ModelRequest) -> ModelReply:
        """Return the answer in the folder.

        Raises RequestRefused if it cannot be used, Pending if there is none: then the request is
        there.
        """
        posted = PostedRequest(request, self.name)
        try:
            found = scan_folder(self._folder)
            if posted.sha256 in found.answers:
                return found.find_answer(posted.sha256)
            write_requests(self._folder, [posted], join=True)
        except AnswerRefused as refused:
            raise RequestRefused(str(refused)) from None
        except OSError as error:
            raise RequestRefused(
                f"the folder of the exchange cannot be used ({error.strerror})"
            ) from None
        raise Pending("the folder has no answer yet; the request is in it")
