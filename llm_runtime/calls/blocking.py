"""Embedders and rerankers from synchronous code: stages of the pipeline, pages and commands."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def waited(call: Coroutine[Any, Any, T]) -> T:
    """What the call returns, on an event loop of its own; whatever it raises.

    Where this thread runs an event loop already (a notebook), the call gets another thread, and
    this one waits all the same.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(call)
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="waited") as aside:
        return aside.submit(asyncio.run, call).result()
