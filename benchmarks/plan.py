"""Plan a study from measured costs: `python -m benchmarks.plan`.

`--notes 100000 --rows 300000000` are its size. It prints disk, core-hours, tokens, hours of cards,
and days with so many workers. The costs are those of `benchmarks/results`: of the largest study of
`benchmarks.growth`, on one kind of processor, and tokens of the prompted backbone over the demo's
notes. The rates of a model server are yours to measure: those given by default are assumptions.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence

from benchmarks.support.plan import Plan, Workload, load_costs, make_plan

GB, HOUR = 1e9, 3600.0
WIDTH = 110


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the plan."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=100_000, help="stays with one note each")
    parser.add_argument("--rows", type=int, default=300_000_000)
    parser.add_argument("--backbone", choices=("rules", "prompted"), default="rules")
    parser.add_argument("--workers", type=int, default=8, help="processes of workers, a core each")
    parser.add_argument("--cards", type=int, default=1, help="cards of the model server")
    parser.add_argument("--reads", type=float, default=8000, help="prompt tokens a second and card")
    parser.add_argument("--writes", type=float, default=1500, help="answer tokens a second, card")
    parser.add_argument("--thinking", type=float, default=0, help="tokens of thought in a call")
    parser.add_argument("--backups", type=int, default=7, help="backups that are kept")
    workload = Workload(**vars(parser.parse_args(arguments)))
    print("\n".join(describe(make_plan(load_costs(), workload), workload)))
    return 0


def describe(plan: Plan, workload: Workload) -> list[str]:
    """Return the plan in lines."""
    disk = ", ".join(f"{name} {size / GB:,.0f}" for name, size in plan.disk.items())
    cores = ", ".join(f"{name} {seconds / HOUR:,.1f}" for name, seconds in plan.cores.items())
    lines = [
        f"{workload.notes:,} notes, {workload.rows:,} rows, backbone {workload.backbone}",
        f"disk        {sum(plan.disk.values()) / GB:,.0f} GB: {disk}",
        f"core-hours  {sum(plan.cores.values()) / HOUR:,.0f}: {cores}",
    ]
    if plan.tokens_in:
        lines += [
            f"tokens      {plan.tokens_in / 1e6:,.0f} million read, of them"
            f" {plan.tokens_cached / 1e6:,.0f} million cached; {plan.tokens_out / 1e6:,.0f} million"
            " written",
            f"card-hours  {plan.card_seconds / HOUR:,.0f} at {workload.reads:,.0f} tokens read and"
            f" {workload.writes:,.0f} written a second (your server's rates decide)",
        ]
    days = ", ".join(f"{name} {seconds / 24 / HOUR:,.2f}" for name, seconds in plan.clock.items())
    total = sum(plan.clock.values()) / 24 / HOUR
    lines.append(f"days        {total:,.1f} with {workload.workers} workers: {days}")
    return [textwrap.fill(line, WIDTH, subsequent_indent=" " * 12) for line in lines]


if __name__ == "__main__":
    raise SystemExit(main())
