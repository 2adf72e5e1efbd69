"""A soak: many workers, faults at random, and what came of it.

`python -m tests.soak.director --out FILE` starts servers and machines, measures one worker and all
of them, strikes them for a while, and writes what it found as JSON. `tests.soak.report`
starts it in a network of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.paths import ROOT
from tests.soak.machines import SERVER, Machine, make_bridge
from tests.soak.servers import Servers
from tests.soak.worker import RESEND, WAIT

if TYPE_CHECKING:
    from ehr.models import Dataset
    from tests.soak.chaos import Chaos
    from timelines.models import Run

SWEEP_SECONDS = 1
#: Stages of a case that wait; the three others take no time worth speaking of.
WAITS = 4
LIGHT_ROLES = {"embedder": {"provider": "hashing"}, "reranker": {"provider": "lexical"}}
TICK_SECONDS = 0.2
#: Most seconds that a step may take before the soak gives up.
PATIENCE_SECONDS = 240.0


def main() -> None:
    """Run the soak and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=25.0, help="how long faults go on")
    parser.add_argument("--gap", type=float, default=3.0, help="mean seconds between two faults")
    parser.add_argument("--wait", type=float, default=0.5, help="seconds that a part waits")
    parser.add_argument("--lease", type=int, default=4)
    parser.add_argument("--cases", type=int, default=24)
    parser.add_argument("--rules", action="store_true", help="also run the rules over some cases")
    parser.add_argument("--isolated", action="store_true")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="occurrent-soak-"))
    folder.chmod(0o755)
    if options.isolated:
        make_bridge()
    servers = Servers(folder, SERVER if options.isolated else "127.0.0.1")
    try:
        servers.start()
        found = Soak(folder, servers, options).run()
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    finally:
        servers.stop()
        for place in (servers.paths.state, folder):
            shutil.rmtree(place, ignore_errors=True)


class Soak:
    """One soak from an empty database to its report."""

    def __init__(self, folder: Path, servers: Servers, options: argparse.Namespace) -> None:
        self.folder, self.servers, self.options = folder, servers, options
        self.environment = {
            **os.environ,
            **servers.environment,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "OCCURRENT_VAR": str(folder / "var"),
            "MODEL_ROLES": json.dumps(LIGHT_ROLES),
            "JOB_LEASE_SECONDS": str(options.lease),
            "SWEEP_SECONDS": str(SWEEP_SECONDS),
            "OMP_NUM_THREADS": "1",
            WAIT: str(options.wait),
            RESEND: "6",
        }
        self.machines = [
            Machine(n, folder, self.environment, isolated=options.isolated)
            for n in range(options.workers)
        ]
        self.began = time.monotonic()
        #: Cases that lost all attempts of a stage with their workers.
        self.retried = 0
        #: How often the scheduler was started.
        self.beats = 1

    def run(self) -> dict[str, Any]:
        """Measure, strike, count."""
        manage = [sys.executable, str(ROOT / "manage.py"), "migrate", "--verbosity", "0"]
        subprocess.run(manage, env=self.environment, check=True)
        dataset = self._set_up()
        self.beat = self._start_beat()
        try:
            return self._measure(dataset)
        except AssertionError:
            self.say("\n".join(self._read_logs()))
            raise
        finally:
            self.beat.kill()
            self.beat.wait()
            for machine in self.machines:
                if machine.is_on:
                    machine.kill()

    def _set_up(self) -> Dataset:
        """Import the cohort into this process's application."""
        import django

        os.environ.update(self.environment)
        django.setup()
        from tests.soak.backbone import install
        from tests.soak.world import import_cohort

        install()
        return import_cohort(self.folder / "cohort", self.options.cases)

    def _read_logs(self) -> list[str]:
        """Return who still runs, and the last lines of every log."""
        on = [machine.name for machine in self.machines if machine.is_on]
        words = [f"on: {', '.join(on)}; scheduler: {self.beat.poll() is None}"]
        logs = [self.folder / "beat.log", *self.folder.glob("machine-*/worker.log")]
        for log in logs:
            words += [str(log.relative_to(self.folder)), log.read_text(errors="replace")[-1500:]]
        return words

    def _tend(self) -> None:
        """Start the scheduler again if it ended, as its supervisor does."""
        if self.beat.poll() is not None:
            self.beat = self._start_beat()
            self.beats += 1

    def _start_beat(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "celery", "--app", "config", "beat", "--pidfile="]
        with (self.folder / "beat.log").open("ab") as log:
            return subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=log, stderr=log)

    def _measure(self, dataset: Dataset) -> dict[str, Any]:
        from tests.soak.chaos import Chaos
        from tests.soak.world import read_results, start

        self.machines[0].start()
        warm = start(dataset, cases=1)
        self._finish([warm])
        one = start(dataset, cases=2)
        self._finish([one])
        self.say("one worker measured")
        for machine in self.machines[1:]:
            machine.start()
        self._finish([start(dataset, cases=2 * len(self.machines))])  # until all are awake
        calm = start(dataset)
        self._finish([calm])
        self.say("all workers measured")
        chaos = Chaos(self.machines, self.servers, self.options.lease, self.options.gap)
        runs, rules = self._strike(dataset, chaos)
        self.say(f"struck: {dict(chaos.faults)}")
        expected = read_results(calm)
        return {
            "workers": len(self.machines),
            "isolated": self.options.isolated,
            "wait": self.options.wait,
            "lease": self.options.lease,
            "sweep": SWEEP_SECONDS,
            "rate_of_one": rate([one]),
            "rate_of_all": rate([calm]),
            "rate_in_chaos": rate(runs),
            "expected": expected,
            "runs": [read_results(run) for run in runs],
            "states": count_states(runs),
            "attempts": count_attempts(runs),
            "attempts_before": count_attempts([calm]),
            "retried": self.retried,
            "beats": self.beats,
            "rules": [read_results(run) for run in rules],
            "faults": dict(chaos.faults),
            "moved": [(fault, round(seconds, 2)) for fault, seconds in chaos.moved],
            "lost_leases": sum(machine.count_lost_leases() for machine in self.machines),
            "starts": sum(machine.starts for machine in self.machines),
        }

    def _strike(self, dataset: Dataset, chaos: Chaos) -> tuple[list[Run], list[Run]]:
        """Keep all workers busy while faults go on, then let them end."""
        from tests.soak.world import count_active, start

        rules = [start(dataset, cases=2, backbone="rules")] if self.options.rules else []
        runs = [start(dataset)]
        until = time.monotonic() + self.options.seconds
        while time.monotonic() < until:
            chaos.tick()
            self._tend()
            if count_active(runs[-1]) < WAITS * len(self.machines):
                runs.append(start(dataset))
            time.sleep(TICK_SECONDS)
        chaos.repair_due(everything=True)
        if self.options.rules:
            rules.append(start(dataset, cases=2, backbone="rules"))
        self._finish([*runs, *rules], chaos.repair_due)
        self.retried = sum(map(retry_lost, runs))
        self._finish(runs)
        return runs, rules

    def _finish(self, runs: Sequence[Run], tick: Callable[[], None] = lambda: None) -> None:
        """Wait until nothing of the runs is active."""
        from tests.soak.world import count_active

        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(map(count_active, runs)):
            tick()
            self._tend()
            assert time.monotonic() < deadline, f"stages wait for ever: {count_states(runs)}"
            time.sleep(TICK_SECONDS)

    def say(self, words: str) -> None:
        """Print progress."""
        print(f"{time.monotonic() - self.began:6.1f} s  {words}", flush=True)


def rate(runs: Sequence[Run]) -> float:
    """Return waiting stages a second, without the last tenth.

    At the end of a run some workers have nothing left to do; that is not their rate.
    """
    from timelines.models import StageRun

    stages = StageRun.objects.filter(
        case_run__run__in=runs, stage__in=("tag", "infer", "retrieve", "revise"), state="succeeded"
    )
    ended = stages.values_list("finished_at", flat=True)
    times = sorted(time for time in ended if time is not None)
    first = min(stages.values_list("queued_at", flat=True))
    counted = max(1, round(len(times) * 0.9)) if len(times) > 20 else len(times)
    return counted / (times[counted - 1] - first).total_seconds()


def retry_lost(run: Run) -> int:
    """Retry cases whose workers died in every attempt; return how many.

    A stage that failed for any other reason fails the soak.
    """
    from accounts.models import User
    from timelines.models import StageRun
    from timelines.runs.actions import retry_failed

    lost = StageRun.objects.filter(case_run__run=run, state="failed")
    for reasons in lost.values_list("reasons", flat=True):
        assert reasons[-1] == "the worker stopped answering in the last attempt", reasons
    admin, _ = User.objects.get_or_create(username="operator")
    return retry_failed(run=run, by=admin)


def count_states(runs: Sequence[Run]) -> dict[str, int]:
    """Return how many stages have each state."""
    from django.db.models import Count

    from timelines.models import StageRun

    found = StageRun.objects.filter(case_run__run__in=runs).values_list("state")
    return dict(found.annotate(n=Count("pk")))


def count_attempts(runs: Sequence[Run]) -> dict[str, int]:
    """Return how many stages took how many attempts."""
    from django.db.models import Count

    from timelines.models import StageRun

    found = StageRun.objects.filter(case_run__run__in=runs).values_list("attempt")
    return {str(attempt): n for attempt, n in found.annotate(n=Count("pk"))}


if __name__ == "__main__":
    main()
