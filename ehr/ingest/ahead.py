"""Read ahead: make the next block in a thread while one is stored."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def prefetch(blocks: Iterator[T]) -> Iterator[T]:
    """Yield the same items; make the next while one is used.

    An error is raised in place of its item.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="ahead") as pool:
        following = pool.submit(next, blocks, None)
        while (block := following.result()) is not None:
            following = pool.submit(next, blocks, None)
            yield block
