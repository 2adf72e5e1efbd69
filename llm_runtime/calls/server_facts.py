"""What servers said of prompts and of themselves.

It is stored so that work whose answers are all stored needs no server. A request's token limit
follows from the tokens of its prompt and the context of its model, and the limit is part of the
digest under which the ledger finds the answer: without the same figures it would look for another
request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Protocol

from llm_runtime.base import Message

#: The figure that is a model's context length; every other is the digest of the messages whose
#: tokens it counts.
CONTEXT = "context"


class ServerFacts(Protocol):
    """Figures in tokens, by model (with its endpoint) and what they are of."""

    async def find(self, model: str, of: str) -> int | None:
        """Return the figure, or None."""
        ...

    async def keep(self, model: str, of: str, tokens: int) -> None:
        """Store the figure in place of an older one."""
        ...


class NoFacts:
    """Stores nothing: every figure is requested again."""

    async def find(self, model: str, of: str) -> int | None:
        return None

    async def keep(self, model: str, of: str, tokens: int) -> None:
        return None


NO_FACTS = NoFacts()


def messages_sha256(messages: Sequence[Message]) -> str:
    """Of roles and contents, in order."""
    text = json.dumps([[m.role, m.content] for m in messages])
    return hashlib.sha256(text.encode("ascii")).hexdigest()
