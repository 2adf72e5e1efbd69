"""Faults at random, and how soon another worker has what a dead one did."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from jobs.models import JobState
from tests.soak.machines import Machine
from tests.soak.servers import Servers
from timelines.models import StageRun

#: Fault → how often, relative to the others.
FAULTS = {"kill": 6, "freeze": 2, "cut": 2, "broker": 1}
#: Seconds until a dead machine is replaced.
REPLACED = (0.5, 3.0)


@dataclass(frozen=True)
class Victim:
    """A stage whose worker can no longer be heard."""

    stage: int
    fence: int
    fault: str
    at: float


@dataclass
class Chaos:
    """Strikes one machine or server after the other, and repairs it later."""

    machines: list[Machine]
    servers: Servers
    lease: float
    gap: float
    seed: int = 1
    faults: Counter[str] = field(default_factory=Counter)
    #: Seconds from a fault until another worker claimed the stage, by fault.
    moved: list[tuple[str, float]] = field(default_factory=list)
    _victims: list[Victim] = field(default_factory=list)
    _repairs: list[tuple[float, Callable[[], None], Machine | None]] = field(default_factory=list)
    _next: float = 0.0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def tick(self) -> None:
        """Do what is due. Call it several times a second."""
        self.repair_due()
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self._random.uniform(0.5, 1.5) * self.gap
            self._strike()

    def repair_due(self, *, everything: bool = False) -> None:
        """Mend what has been broken long enough; watch what is moved."""
        now = time.monotonic()
        due = [r for r in self._repairs if everything or r[0] <= now]
        self._repairs = [r for r in self._repairs if r not in due]
        for _, repair, _ in due:
            repair()
        self._watch()

    def _strike(self) -> None:
        kinds = [k for k in FAULTS if k != "cut" or self.machines[0].isolated]
        (kind,) = self._random.choices(kinds, [FAULTS[k] for k in kinds])
        if kind == "broker":
            self.servers.kill_broker()
            self._later(self._random.uniform(0.5, 3), self.servers.start_broker)
        elif not self._strike_machine(kind):
            return
        self.faults[kind] += 1

    def _strike_machine(self, kind: str) -> bool:
        """Strike one that works; at least half of them go on."""
        broken = {machine for _, _, machine in self._repairs}
        whole = [m for m in self.machines if m not in broken and m.is_on]
        if len(whole) <= len(self.machines) // 2:
            return False
        machine = self._random.choice(whole)
        if kind == "kill":
            self._note(machine, kind)
            machine.kill()
            self._later(self._random.uniform(*REPLACED), machine.start, machine)
        elif kind == "freeze":
            machine.send(signal.SIGSTOP)
            self._note(machine, kind)
            self._later(self.lease + 2, lambda: machine.send(signal.SIGCONT), machine)
        else:
            machine.cut()
            self._note(machine, kind)
            self._later(self.lease + 2, machine.join, machine)
        return True

    def _later(
        self, seconds: float, repair: Callable[[], None], machine: Machine | None = None
    ) -> None:
        self._repairs.append((time.monotonic() + seconds, repair, machine))

    def _note(self, machine: Machine, kind: str) -> None:
        running = StageRun.objects.filter(state=JobState.RUNNING, worker__startswith=machine.worker)
        now = time.monotonic()
        self._victims += [
            Victim(pk, fence, kind, now) for pk, fence in running.values_list("pk", "fence")
        ]

    def _watch(self) -> None:
        if not self._victims:
            return
        rows = StageRun.objects.filter(pk__in=[v.stage for v in self._victims])
        now = time.monotonic()
        state = {
            pk: (fence, state) for pk, fence, state in rows.values_list("pk", "fence", "state")
        }
        waiting = []
        for victim in self._victims:
            fence, ended = state[victim.stage]
            if fence > victim.fence:
                self.moved.append((victim.fault, now - victim.at))
            elif ended == JobState.RUNNING:
                waiting.append(victim)
        self._victims = waiting
