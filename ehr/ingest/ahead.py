"""Reading ahead: the next block is made in a thread while the current one is being stored."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(blocks: Iterator[T]) -> Iterator[T]:
    """The same items; while one is being used, the next is made. An error comes where the item
    would have come.
    """
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="ahead") as pool:
        following = pool.submit(next, blocks, None)
        while (block := following.result()) is not None:
            following = pool.submit(next, blocks, None)
            yield block
