"""The limit of an endpoint over threads, event loops and processes."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from llm_runtime.calls.shares import divide_slots
from llm_runtime.calls.slots import Gate, LocalSlots


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
    slots, crowd, other = LocalSlots(), Crowd(), Crowd()

    async def one(endpoint: str, crowd: Crowd) -> None:
        async with slots.slot(endpoint, 3):
            await crowd.visit()

    async def stage() -> None:
        await asyncio.gather(
            *(one("a", crowd) for _ in range(10)), *(one("b", other) for _ in range(3))
        )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: asyncio.run(stage()), range(4)))
    assert (crowd.visits, crowd.most, crowd.inside) == (40, 3, 0)
    assert (other.visits, other.most) == (12, 3)


def test_a_changed_limit_holds_from_then_on() -> None:
    slots, crowd = LocalSlots(), Crowd()

    async def one(limit: int) -> None:
        async with slots.slot("a", limit):
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
    gate, order = Gate(1), []

    async def one(number: int) -> None:
        async with gate.slot():
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
    assert gate.usage() == (0, 0, 1)


def test_a_slot_granted_to_one_that_is_cancelled_in_that_moment_goes_on() -> None:
    gate = Gate(0)

    async def one() -> None:
        async with gate.slot():
            raise AssertionError("it was cancelled before")

    async def main() -> None:
        task = asyncio.create_task(one())
        await asyncio.sleep(0)
        gate.open(1)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(main())
    assert gate.usage() == (0, 0, 1)


def test_one_whose_event_loop_is_gone_takes_no_slot() -> None:
    gate = Gate(0)
    loop = asyncio.new_event_loop()

    async def one() -> None:
        async with gate.slot():
            pass

    task = loop.create_task(one())
    loop.run_until_complete(asyncio.sleep(0.001))
    loop.close()
    gate.open(1)
    assert gate.usage() == (0, 0, 1)
    asyncio.run(one())
    assert gate.usage() == (0, 0, 1)
    del task


def test_a_lower_ceiling_lets_those_inside_end_and_nobody_in_before() -> None:
    gate, crowd = Gate(3), Crowd()

    async def one() -> None:
        async with gate.slot():
            await crowd.visit(0.02)

    async def main() -> None:
        tasks = [asyncio.create_task(one()) for _ in range(6)]
        await asyncio.sleep(0.005)
        gate.open(1)
        assert gate.usage() == (3, 3, 1)
        crowd.most = 0
        await asyncio.sleep(0.03)
        assert gate.usage()[0] == 1
        await asyncio.gather(*tasks)

    began = time.monotonic()
    asyncio.run(main())
    assert crowd.most <= 1
    assert time.monotonic() - began >= 0.08, "the last three went one after the other"


def test_freezing_lets_nobody_in_beyond_those_inside() -> None:
    gate = Gate(5)

    async def main() -> None:
        async with gate.slot(), gate.slot():
            assert gate.freeze() == (2, 0)
            late = asyncio.create_task(gate.slot().__aenter__())
            await asyncio.sleep(0.001)
            assert gate.usage() == (2, 1, 2)
            gate.open(5)
            await late
            assert gate.usage() == (3, 0, 5)

    asyncio.run(main())


def test_slots_are_dealt_one_by_one_in_order() -> None:
    assert divide_slots(8, [("a", 50), ("b", 50)]) == {"a": 4, "b": 4}
    assert divide_slots(8, [("a", 50), ("b", 2), ("c", 50)]) == {"a": 3, "b": 2, "c": 3}
    assert divide_slots(2, [("a", 5), ("b", 5), ("c", 5)]) == {"a": 1, "b": 1, "c": 0}
    assert divide_slots(4, [("a", 1), ("b", 0)]) == {"a": 1, "b": 0}
    assert divide_slots(3, []) == {}


@given(st.integers(0, 40), st.lists(st.integers(0, 20), max_size=12))
def test_no_slot_is_dealt_twice_none_lies_idle_and_nobody_gets_two_more_than_one_who_waits(
    limit: int, wants: list[int]
) -> None:
    wanted = [(str(n), want) for n, want in enumerate(wants)]
    shares = divide_slots(limit, wanted)
    assert sum(shares.values()) == min(limit, sum(wants))
    for holder, want in wanted:
        assert 0 <= shares[holder] <= want
        if shares[holder] < want:
            assert max(shares.values()) <= shares[holder] + 1
