"""The limit of an endpoint over threads and event loops of a process."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from llm_runtime.calls import slots
from llm_runtime.calls.slots import Gate, take_slot


class Crowd:
    """Counts who is inside at once."""

    def __init__(self) -> None:
        self.inside = self.most = self.visits = 0
        self.lock = threading.Lock()

    async def visit(self, seconds: float = 0.01) -> None:
        with self.lock:
            self.inside += 1
            self.visits += 1
            self.most = max(self.most, self.inside)
        await asyncio.sleep(seconds)
        with self.lock:
            self.inside -= 1


def test_one_limit_over_many_event_loops_and_none_between_endpoints() -> None:
    crowd, other = Crowd(), Crowd()

    async def one(endpoint: str, crowd: Crowd) -> None:
        async with take_slot(endpoint, 3):
            await crowd.visit()

    async def stage() -> None:
        await asyncio.gather(
            *(one("first:1", crowd) for _ in range(10)), *(one("second:1", other) for _ in range(3))
        )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: asyncio.run(stage()), range(4)))
    assert (crowd.visits, crowd.most, crowd.inside) == (40, 3, 0)
    assert (other.visits, other.most) == (12, 3)


def test_a_changed_limit_holds_from_then_on() -> None:
    gate, crowd = Gate(), Crowd()

    async def one(limit: int) -> None:
        async with gate.slot(limit):
            await crowd.visit()

    async def many(limit: int) -> None:
        await asyncio.gather(*(one(limit) for _ in range(6)))

    asyncio.run(many(1))
    assert crowd.most == 1
    asyncio.run(many(4))
    assert crowd.most == 4
    crowd.most = 0
    asyncio.run(many(2))
    assert crowd.most == 2


def test_who_came_first_goes_first_and_a_cancelled_one_gives_up_its_place() -> None:
    gate, order = Gate(), []

    async def one(number: int) -> None:
        async with gate.slot(1):
            order.append(number)
            await asyncio.sleep(0.01)

    async def main() -> None:
        tasks = []
        for number in range(5):
            tasks.append(asyncio.create_task(one(number)))
            await asyncio.sleep(0)
        tasks[2].cancel()
        await asyncio.sleep(0.002)
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    assert order == [0, 1, 3, 4]
    assert gate.usage() == (0, 0)


def test_a_slot_granted_to_one_that_is_cancelled_in_that_moment_goes_on() -> None:
    gate = Gate()

    async def one() -> None:
        async with gate.slot(1):
            raise AssertionError("it was cancelled before")

    async def main() -> None:
        async with gate.slot(1):
            task = asyncio.create_task(one())
            await asyncio.sleep(0)
        assert gate.usage() == (1, 0), "the slot is granted, the task has not run yet"
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())
    assert gate.usage() == (0, 0)


def test_one_whose_event_loop_is_gone_takes_no_slot() -> None:
    gate = Gate()
    loop = asyncio.new_event_loop()

    async def one() -> None:
        async with gate.slot(1):
            pass

    async def main() -> None:
        async with gate.slot(1):
            task = loop.create_task(one())
            await asyncio.to_thread(loop.run_until_complete, asyncio.sleep(0.001))
            loop.close()
            assert gate.usage() == (1, 1)
            assert not task.done()

    asyncio.run(main())
    assert gate.usage() == (0, 0)
    asyncio.run(one())
    assert gate.usage() == (0, 0)


def test_a_lower_limit_lets_those_inside_end_and_nobody_in_before() -> None:
    gate, crowd = Gate(), Crowd()

    async def one(limit: int) -> None:
        async with gate.slot(limit):
            await crowd.visit(0.02)

    async def main() -> None:
        tasks = [asyncio.create_task(one(3)) for _ in range(5)]
        await asyncio.sleep(0.005)
        tasks.append(asyncio.create_task(one(1)))
        await asyncio.sleep(0)
        assert gate.usage() == (3, 3)
        crowd.most = 0
        await asyncio.sleep(0.03)
        assert gate.usage()[0] == 1
        await asyncio.gather(*tasks)

    began = time.monotonic()
    asyncio.run(main())
    assert crowd.most <= 1
    assert time.monotonic() - began >= 0.08, "the last three went one after the other"


def test_a_forked_process_starts_with_free_slots() -> None:
    async def main() -> None:
        async with take_slot("forked:1", 1):
            child = os.fork()
            if not child:
                os._exit(len(slots._GATES))
            assert os.waitpid(child, 0)[1] == 0
            assert "forked:1" in slots._GATES

    asyncio.run(main())
