"""Measure how well the prompted backbone uses a model server.

Run `python -m benchmarks.serving`.

1. A server of fixed service rate (simulated: `support/model_server.py`) and a cohort with several
cases in flight: the share of its slots in use from the first call to the last answer. The goal is
at least 0.9.

2. The prompt tokens that the same server has to compute, against those of a client whose every
prompt is computed whole. The goal is at most 40 % if its prefix cache has room for the cases in
flight (`--cache`).

3. Tokens of the same answers in the protocol "schema" and in the protocol "table", of stages 3 and
6 over demo cases as the rules backbone reconstructs them. The goal is at most 55 %.

4. With `--real`, and if the environment of the verification tests is installed: tokens a second of
the real server on this CPU while the backbone times notes, against the same calls sent to it all at
once. This ratio has no goal: the server shares its cores with the client.
"""

from __future__ import annotations

import argparse
import random
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

from benchmarks.support.answers import compare_protocols
from benchmarks.support.model_server import Rates, run_server
from llm_runtime.base import Vectors
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.providers.openai_http import OpenAIModel
from llm_runtime.providers.scripted import HashingEmbedder
from timelines.backbones.prompted.backbone import ROLES, prompted_backbone
from timelines.domain import Anchor, SourceRow, TimeKind, Window
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.run import Case, Record, Tools, reconstruct

GOAL_BUSY, GOAL_COMPUTED, GOAL_OUTPUT = 0.9, 0.40, 0.55
#: Requests that the server may have for each of its slots: more of them wait there, and one begins
#: at the moment that another ends.
AT_HAND = 1.5
COHORT = Path(__file__).resolve().parent.parent / "demo" / "cohort"
WINDOW = Window(Anchor(datetime(2150, 3, 1, 10, 0)), discharge=120.0)


def main() -> int:
    """Print the ratios; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=48)
    parser.add_argument("--in-flight", type=int, default=20)
    parser.add_argument(
        "--cache",
        type=int,
        default=Rates.cache,
        help="size of the simulated server's prefix cache, in tokens",
    )
    parser.add_argument(
        "--real", action="store_true", help="also measure a real server on this CPU (minutes)"
    )
    options = parser.parse_args()
    busy, computed = simulate(options.cases, options.in_flight, Rates(cache=options.cache))
    output = compare_protocols([path.parent for path in sorted(COHORT.glob("*/note.txt"))])
    if options.real:
        from benchmarks.support.real_server import measure_server

        measure_server()
    return 0 if busy >= GOAL_BUSY and computed <= GOAL_COMPUTED and output <= GOAL_OUTPUT else 1


def simulate(count: int, in_flight: int, rates: Rates) -> tuple[float, float]:
    """Return (share of slots in use, share of prompt tokens computed).

    Both are for a cohort.
    """
    cases = load_cases(count)
    with run_server(rates) as server:
        limit = round(rates.slots * AT_HAND)
        model = OpenAIModel(base_url=server.url, model="made-up", concurrency=limit, reasoning=1000)
        began = time.perf_counter()
        with ThreadPoolExecutor(in_flight) as pool:
            done = list(pool.map(lambda case: reconstruct_case(model, case), cases))
        seconds = time.perf_counter() - began
        seen = server.stop()
    assert all(done)
    busy, computed = seen.busy(rates.slots), seen.computed / seen.read
    print(
        f"{count} cases of {sum(done) / count:.0f} events, {in_flight} in flight, {seen.calls}"
        f" calls in {seconds:.1f} s"
    )
    print(
        f"share of {rates.slots} slots in use: {busy:.2f} (goal {GOAL_BUSY}), with at most {limit}"
        " requests at the server"
    )
    per_case = f"{seen.computed / count:.0f} of {seen.read / count:.0f} a case"
    print(
        f"prompt tokens computed: {per_case}, {computed:.0%} (goal {GOAL_COMPUTED:.0%}), with a"
        f" cache of {rates.cache} tokens"
    )
    return busy, computed


def reconstruct_case(model: OpenAIModel, case: Case) -> int:
    """Reconstruct a case; how many events it has."""
    ledger = MemoryLedger()
    config = PipelineConfig()
    askers = {role: Asker(role, model, ledger) for role in ROLES}
    found = reconstruct(
        case,
        make_record(),
        Tools(prompted_backbone(askers, config), HashingEmbedder(), None, config),
    )
    assert len(found.revised) == config.alternatives
    return len(found.note.inventory)


def load_cases(count: int) -> list[Case]:
    """Return the demo's notes as cases.

    Each has a different first line, so that no note is the beginning of another.
    """
    notes = [path.read_text(encoding="utf-8") for path in sorted(COHORT.glob("*/note.txt"))]
    return [Case(f"Summary number {n}.\n{notes[n % len(notes)]}", WINDOW) for n in range(count)]


class FirstSeries:
    """A search that finds the same series for every query."""

    def top_k(self, queries: Vectors, k: int) -> list[list[tuple[str, float]]]:
        return [[(f"lab:series {n}", 0.9 - n / 100) for n in range(k)] for _ in queries]


def make_record() -> Record:
    """Ten series of five rows: revision reaches its cap of rows."""
    random.seed(5)
    names = [f"lab:series {n}" for n in range(10)]
    rows = {
        name: [
            SourceRow(
                n * 5 + i,
                float(random.randint(0, 90)),
                name,
                "4.1",
                "mmol/L",
                time_kind=TimeKind.COLLECTION,
            )
            for i in range(5)
        ]
        for n, name in enumerate(names)
    }
    return Record({name: f"{name} measured five times" for name in names}, rows, FirstSeries())


if __name__ == "__main__":
    raise SystemExit(main())
