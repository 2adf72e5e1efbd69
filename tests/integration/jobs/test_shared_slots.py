"""The limit of an endpoint over several processes.

The database is real, and a server counts its concurrent requests.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest

from llm_runtime.base import ModelRequest
from llm_runtime.models import EndpointShare
from tests.model_server import Answer, ModelServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

#: argv: address, limit, requests, lease, turn. Prints "ready", waits for a line, then prints one
#: line for each answer.
WORKER = """
import asyncio, sys
import django
django.setup()
from llm_runtime.base import Message, ModelRequest
from llm_runtime.providers.openai_http import OpenAIModel
from llm_runtime.servers.shared_slots import SharedSlots
url, limit, requests, lease, turn = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5])
model = OpenAIModel(base_url=url, model="fake", context=8192, concurrency=limit)
model.slots = SharedSlots(lease=lease, turn=turn)
model._library  # importing it takes a while
print("ready", flush=True)
sys.stdin.readline()
async def one():
    await model.generate(ModelRequest((Message("user", "x"),), max_tokens=5))
    print("answer", flush=True)
async def main():
    await asyncio.gather(*(one() for _ in range(requests)))
    await model.close()
asyncio.run(main())
"""


class Worker:
    def __init__(
        self,
        server: ModelServer,
        environment: Mapping[str, str],
        limit: int,
        requests: int,
        lease: float,
        turn: float,
    ) -> None:
        arguments = [
            sys.executable,
            "-c",
            WORKER,
            server.url,
            *(str(value) for value in (limit, requests, lease, turn)),
        ]
        self.process = subprocess.Popen(
            arguments,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def answers(self, timeout: float = 300) -> int:
        """How many answers it had in the end."""
        printed, _ = self.process.communicate(timeout=timeout)
        assert self.process.returncode == 0, printed
        return printed.count("answer")


@contextmanager
def workers(
    server: ModelServer,
    environment: Mapping[str, str],
    count: int,
    *,
    limit: int,
    requests: int,
    lease: float = 15.0,
    turn: float = 2.0,
) -> Iterator[list[Worker]]:
    started = [Worker(server, environment, limit, requests, lease, turn) for _ in range(count)]
    try:
        yield started
    finally:
        for worker in started:
            worker.process.kill()
            worker.process.communicate()


def slow(seconds: float) -> Callable[[ModelRequest, int], Answer]:
    return lambda request, number: Answer("1", seconds=seconds)


def wait_for(true: Callable[[], bool], seconds: float = 180.0) -> bool:
    until = time.monotonic() + seconds
    while not true() and time.monotonic() < until:
        time.sleep(0.02)
    return true()


def test_as_many_requests_at_once_as_the_limit_whoever_sends_them(process_environment):
    with (
        ModelServer(slow(0.1)) as server,
        workers(server, process_environment, 3, limit=4, requests=20) as crew,
    ):
        began = time.monotonic()
        for worker in crew:
            worker.go()
        assert [worker.answers() for worker in crew] == [20, 20, 20]
        took = time.monotonic() - began
    assert server.most_at_once == 4
    assert took < 120, f"{took:.1f} s for what an ideal client does in 1.5"
    assert not EndpointShare.objects.exists()


def slow_once(opened: threading.Event, *, after: int) -> Callable[[ModelRequest, int], Answer]:
    """Answer slowly; requests beyond the first `after` wait for the event.

    No worker so ends before the others have asked.
    """

    def answer(request: ModelRequest, number: int) -> Answer:
        assert number <= after or opened.wait(timeout=180)
        return Answer("1", seconds=0.1)

    return answer


@pytest.mark.deep
def test_one_that_comes_late_gets_its_share_at_once(process_environment):
    both = threading.Event()
    with (
        ModelServer(slow_once(both, after=8)) as server,
        workers(server, process_environment, 2, limit=4, requests=60, lease=180.0) as (early, late),
    ):
        early.go()
        assert wait_for(lambda: len(server.requests) >= 8)
        late.go()
        assert wait_for(lambda: EndpointShare.objects.filter(wanted__gt=0).count() == 2), list(
            EndpointShare.objects.values()
        )
        both.set()
        assert wait_for(lambda: EndpointShare.objects.filter(held=2).count() == 2), list(
            EndpointShare.objects.values()
        )
        assert early.answers() == late.answers() == 60
    assert server.most_at_once == 4


@pytest.mark.deep
def test_more_workers_than_slots_take_turns(process_environment):
    everyone = threading.Event()
    with (
        ModelServer(slow_once(everyone, after=0)) as server,
        workers(
            server, process_environment, 3, limit=1, requests=12, lease=180.0, turn=0.3
        ) as crew,
    ):
        for worker in crew:
            worker.go()
        assert wait_for(lambda: EndpointShare.objects.count() == 3), list(
            EndpointShare.objects.values()
        )
        everyone.set()
        holders = set()
        while len(server.requests) < 24:
            holders |= set(EndpointShare.objects.filter(held=1).values_list("holder", flat=True))
            time.sleep(0.02)
        assert len(holders) == 3, "each had the slot before two thirds were done"
        assert [worker.answers() for worker in crew] == [12, 12, 12]
    assert server.most_at_once == 1


@pytest.mark.deep
def test_the_slots_of_a_killed_worker_come_back(process_environment):
    hang = {"seconds": 600.0}

    def answer(request: ModelRequest, number: int) -> Answer:
        return Answer("1", seconds=hang["seconds"])

    with (
        ModelServer(answer) as server,
        workers(server, process_environment, 2, limit=3, requests=9, lease=8.0) as (first, second),
    ):
        first.go()
        assert wait_for(lambda: server.at_once == 3)
        hang["seconds"] = 0.1
        second.go()
        assert wait_for(lambda: EndpointShare.objects.filter(held=0, wanted=9).exists())
        assert server.most_at_once == 3, "the second waits"
        first.process.send_signal(signal.SIGKILL)
        assert second.answers(timeout=300) == 9
        assert server.most_at_once == 3
    assert set(EndpointShare.objects.values_list("held", flat=True)) == set(), (
        "the row of the dead is gone too"
    )


@pytest.mark.deep
def test_a_worker_that_works_on_keeps_its_slots_beyond_the_lease(process_environment):
    with (
        ModelServer(slow(10.0)) as server,
        workers(server, process_environment, 2, limit=2, requests=2, lease=4.0) as (first, second),
    ):
        first.go()
        assert wait_for(lambda: server.at_once == 2)
        second.go()
        assert first.answers() == second.answers() == 2
    assert server.most_at_once == 2
