"""Call embedders and rerankers from synchronous code.

Stages of the pipeline, pages and commands.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_blocking(call: Coroutine[Any, Any, T]) -> T:
    """Run a call on its own event loop.

    Returns its result or raises its exception.

    Where this thread runs an event loop already (a notebook), the call gets another thread, and
    this one waits all the same.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(call)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="blocking") as aside:
        return aside.submit(asyncio.run, call).result()
