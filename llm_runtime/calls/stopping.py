"""A model whose calls end when they are no longer wanted.

The request is dropped, and the server stops generating.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from llm_runtime.base import LanguageModel, Limits, Message, ModelReply, ModelRequest, Served

#: Seconds between two looks at whether the work is still wanted.
LOOK_EVERY = 0.25

T = TypeVar("T")


@dataclass(frozen=True)
class StoppableModel:
    """A model that calls `check` while it waits.

    `check` raises if the work must stop (cancelled, lease lost); its exception is passed on, and
    the request dropped.
    """

    model: LanguageModel
    check: Callable[[], None]
    every: float = LOOK_EVERY

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def limits(self) -> Limits:
        return self.model.limits

    @property
    def extra(self) -> Mapping[str, Any]:
        return self.model.extra

    async def generate(self, request: ModelRequest) -> ModelReply:
        """As the model's, or what `check` raises."""
        return await self._run_until_stopped(self.model.generate(request))

    async def count_tokens(self, messages: Sequence[Message]) -> int:
        """As the model's, or what `check` raises."""
        return await self._run_until_stopped(self.model.count_tokens(messages))

    async def learn(self) -> None:
        """As the model's, or what `check` raises."""
        if isinstance(self.model, Served):
            await self._run_until_stopped(self.model.learn())

    async def close(self) -> None:
        """Close the model's connections."""
        if isinstance(self.model, Served):
            await self.model.close()

    async def _run_until_stopped(self, call: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(call)
        try:
            while True:
                self.check()
                done, _ = await asyncio.wait([task], timeout=self.every)
                if done:
                    return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
