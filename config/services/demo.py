"""Install, reconstruct, evaluate, judge and serve the demo cohort.

`python -m config.services.demo` (`make demo`). Every step can be repeated: it skips what exists
already.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from config.env import BASE_DIR, EnvError
from config.services.commands import command, manage
from config.services.errors import ServiceError
from config.services.paths import default_paths
from config.services.serve import (
    DEFAULT_PORT,
    beat,
    require_free_port,
    serve,
    worker,
)
from config.services.supervisor import Supervisor
from config.services.terminal import end_on_sigterm, print_now

DATASETS = {"demo": "demo/cohort", "intro": "demo/intro"}
#: The dataset with references to evaluate against.
EVALUATED = "demo"
#: The variants that the ablation table compares. They reuse the full run's occurrences, text-only
#: times and searches.
VARIANTS = "full,unimodal,no_uid,no_query,no_rows,no_reranker"
#: Sources that the judge compares, each pair in both positions.
JUDGED = "reference,rules@revised,rules@text_only"


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m config.services.demo", description=__doc__)
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument(
        "--no-serve", action="store_true", help="do everything but serve, then exit"
    )
    options = parser.parse_args(arguments)
    end_on_sigterm()
    try:
        if not options.no_serve:
            require_free_port(options.port)
        with Supervisor(default_paths(), say=print_now) as supervisor:
            prepare()
            supervisor.add(worker())
            supervisor.add(beat())
            reconstruct(supervisor)
            evaluate(supervisor)
            judge(supervisor)
            draw_packet()
            ask_cohorts()
            if not options.no_serve:
                serve(supervisor, options.port)
    except KeyboardInterrupt:
        print_now("stopped")
    except (EnvError, ServiceError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def prepare() -> None:
    """The schema, one account a role, and the cases."""
    _manage("bringing the database up to date", "migrate", "--verbosity", "0")
    _manage("creating the demo accounts", "create_demo_accounts")
    for name, path in DATASETS.items():
        _manage(
            f"importing {path}",
            "import_dataset",
            "--format",
            "cases",
            "--path",
            str(BASE_DIR / path),
            "--name",
            name,
        )


def reconstruct(supervisor: Supervisor) -> None:
    """Reconstruct every case in every variant by the worker.

    The supervisor keeps the worker running meanwhile.
    """
    for name in DATASETS:
        print_now(f"reconstructing {name}")
        arguments = [
            "--dataset",
            name,
            "--backbone",
            "rules",
            "--variants",
            VARIANTS,
            "--missing",
            "--wait",
        ]
        if _run_watched(supervisor, command("reconstruct", *arguments)) != 0:
            raise ServiceError(
                f"Reconstructing {name} failed. The worker's log is"
                f" {supervisor.logs / 'worker.log'}."
            )


def evaluate(supervisor: Supervisor) -> None:
    """Evaluate the cohort once, so that the Evaluation pages show something."""
    print_now(f"evaluating {EVALUATED}")
    arguments = [
        "--dataset",
        EVALUATED,
        "--label",
        "demo cohort",
        "--rho-sweep",
        "--once",
        "--out",
        os.devnull,
    ]
    if _run_watched(supervisor, command("evaluate", *arguments)) != 0:
        raise ServiceError(f"Evaluating {EVALUATED} failed; its own words are above.")


def judge(supervisor: Supervisor) -> None:
    """Judge every pair of the cohort's timelines once.

    The judge used needs no model server.
    """
    print_now(f"judging {EVALUATED}")
    arguments = [
        "--dataset",
        EVALUATED,
        "--sources",
        JUDGED,
        "--swap",
        "--label",
        "demo cohort",
        "--missing",
        "--wait",
    ]
    if _run_watched(supervisor, command("judge", *arguments)) != 0:
        raise ServiceError(
            f"Judging {EVALUATED} failed. The worker's log is {supervisor.logs / 'worker.log'}."
        )


def draw_packet() -> None:
    """Draw an open packet for the demo reviewer, to show the review."""
    arguments = [
        "--label",
        "demo packet",
        "--by",
        "admin",
        "--reviewer",
        "reviewer",
        "--open",
        "--once",
    ]
    _manage("drawing a packet for the reviewer", "draw_packet", *arguments)


def ask_cohorts() -> None:
    """Import concepts, and ask windows and reports of them."""
    files = [
        *sorted(BASE_DIR.glob("demo/concepts/*.json")),
        *sorted(BASE_DIR.glob("cohorts/concepts/starter/*.json")),
    ]
    names = [str(file) for file in files]
    _manage("importing concepts", "import_concepts", *names, "--study", "demo", "--by", "admin")
    _manage("asking windows and reports", "ask_demo")


def _run_watched(supervisor: Supervisor, command: list[str]) -> int:
    """Run a command while the supervisor keeps its children running.

    Returns the exit status.
    """
    process = subprocess.Popen(command, cwd=BASE_DIR)
    try:
        supervisor.watch(until=lambda: process.poll() is not None)
    finally:
        process.terminate()
        process.wait()
    return process.returncode


def _manage(words: str, *arguments: str) -> None:
    print_now(words)
    manage(*arguments)


if __name__ == "__main__":
    sys.exit(main())
