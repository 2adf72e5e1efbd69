"""Waiting for models from synchronous code, and the thread of models.

Models of this process compute in that thread.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time

import pytest

from llm_runtime.calls.blocking import run_blocking
from llm_runtime.providers.own_thread import OwnThread


async def twice(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


async def fails() -> None:
    raise ValueError("no")


def test_the_result_or_the_error_with_and_without_a_running_loop() -> None:
    async def inside() -> int:
        with pytest.raises(ValueError, match="no"):
            run_blocking(fails())
        return run_blocking(twice(2)) + 1

    assert run_blocking(twice(4)) == 8
    with pytest.raises(ValueError, match="no"):
        run_blocking(fails())
    assert asyncio.run(inside()) == 5


def test_a_models_work_takes_turns_in_one_thread_and_leaves_the_loop_free() -> None:
    thread, at_once, seen = OwnThread("model"), [0, 0], set()
    turned = threading.Event()

    def work(number: int) -> int:
        at_once[0] += 1
        at_once[1] = max(at_once)
        seen.add(threading.get_ident())
        assert turned.wait(timeout=60), "the loop stood still while the model worked"
        time.sleep(0.02)
        at_once[0] -= 1
        return number

    async def main() -> tuple[list[int], int]:
        working = asyncio.gather(*(thread.run(work, n) for n in range(5)))
        turns = 0
        while not working.done():
            await asyncio.sleep(0.001)
            turns += 1
            if turns == 6:
                turned.set()
        return await working, turns

    found, turns = run_blocking(main())
    assert found == [0, 1, 2, 3, 4]
    assert turns > 5
    assert run_blocking(thread.run(work, 7)) == 7, "the next loop uses the same thread"
    assert (at_once[1], len(seen)) == (1, 1)
    assert threading.get_ident() not in seen


def test_a_fork_gets_a_thread_of_its_own() -> None:
    thread = OwnThread("model")
    assert run_blocking(thread.run(os.getpid)) == os.getpid()
    child = os.fork()
    if child == 0:
        os._exit(7 if run_blocking(thread.run(os.getpid)) == os.getpid() else 1)
    until = time.monotonic() + 20
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < until:
        time.sleep(0.02)
    if ended[0] == 0:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(ended[1]) == 7
    assert ended[0] == child
