"""The thread in which a model of this process computes.

An event loop that waits for it stays free.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class OwnThread:
    """One thread for one model.

    Calls take turns, since weights on a card or on shared cores gain nothing from two at once.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._process = 0
        self._executor: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[..., T], *args: object) -> T:
        """What `work(*args)` returns or raises."""
        if self._executor is None or self._process != os.getpid():
            # A fork does not take the thread over.
            self._process = os.getpid()
            self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self._name)
        return await asyncio.get_running_loop().run_in_executor(self._executor, work, *args)
