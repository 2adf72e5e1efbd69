"""Files that commands write and pages offer about a decided demo.

Only public names and addresses of `demo_decided` are used.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from django.apps import apps
from django.core.management import call_command
from django.test import Client

from tests.worlds.demo_world import Demo

FORMATS = (
    "jsonl",
    "csv",
    "parquet",
    "meds",
    "bsv",
    "brat",
    "doccano",
    "label_studio",
    "i2b2",
    "prov",
)
TABLE_FORMATS = ("csv", "latex", "json")
FILE_FORMATS = ("csv", "jsonl", "parquet", "dictionary")
EVALUATED = (
    "main",
    "ablation-0",
    "differences",
    "strata",
    "sweep",
    "alternatives",
    "datasets",
    "rho",
    "funnel",
)
RATED = (
    *(
        "ratings",
        "profile",
        "counts",
        "strata",
        "strata-profile",
        "sensitivity",
        "tolerance",
        "matchups",
        "verdicts",
        "swap",
    ),
    "agreement",
)
CARD = (
    "uphold",
    "strata",
    "pairings",
    "agreement",
    "disagreements",
    "concentration",
    "needed",
    "seconds",
    "decisions",
)
#: Label of the second judge run, which the ratings of the first are compared with.
AGAINST = "fixed tolerance"

Exports = dict[str, bytes]


def export_commands(folder: Path) -> Exports:
    """Return the files of commands.

    Timelines, record, model calls, evaluation, ratings, and the output of the check of the chains.
    """
    export_timelines(folder / "timelines")
    run(folder / "summaries", "export_summaries", dataset="demo")
    by_model = apps.get_model("timelines", "Run").objects.get(dataset__name="small").public_id
    run(folder / "model_calls/whole", "export_model_calls", run=by_model, format="jsonl")
    run(folder / "model_calls/figures", "export_model_calls", run=by_model, format="csv")
    for form in TABLE_FORMATS:
        run(
            folder / f"evaluation/command.{form}",
            "evaluate",
            dataset=["demo"],
            form=form,
            basis=["span"],
            store=False,
            resamples=20,
        )
        run(
            folder / f"ratings/command.{form}",
            "judge_report",
            "demo cohort",
            against=AGAINST,
            form=form,
        )
    run(folder / "ratings/command.text", "judge_report", "demo cohort")
    (folder / "chain").write_text(run_command("verify_chain"), encoding="utf-8")
    return dict(read_files(folder))


def export_timelines(folder: Path) -> None:
    """Export the timelines of every variant in every format.

    The default selection too, and with words of the note if the format allows it.
    """
    timelines = apps.get_model("timelines", "Timeline").objects.filter(
        encounter__dataset__name="demo"
    )
    every = sorted(set(timelines.values_list("source", flat=True)))
    for form in FORMATS:
        run(folder / f"every-{form}", "export_timelines", dataset="demo", format=form, source=every)
    for form in ("jsonl", "csv", "parquet", "prov"):
        run(
            folder / f"text-{form}",
            "export_timelines",
            dataset="demo",
            format=form,
            with_note_text=True,
        )
    run(folder / "default-jsonl", "export_timelines", dataset="demo", format="jsonl")
    for form in ("jsonl", "prov"):
        run(folder / f"model-{form}", "export_timelines", dataset="small", format=form)


def run(out: Path, command: str, *arguments: str, **options: Any) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    run_command(command, *arguments, out=out, **options)


def run_command(command: str, *arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(command, *arguments, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def read_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Name → content of every file."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        yield path.relative_to(folder).as_posix(), path.read_bytes()


def download_pages(demo: Demo) -> Exports:
    """Return the files that pages offer.

    Tables of the evaluation, ratings and report cards, findings, games, decisions, own timelines.
    """
    taken: Exports = {}
    admin, author = Client(), Client()
    admin.force_login(demo.people["admin"])
    author.force_login(demo.people["author"])
    (evaluation,) = find_ids("timelines", "Evaluation")
    for name, form, basis in (
        (n, f, b) for n in EVALUATED for f in TABLE_FORMATS for b in ("span", "embedding")
    ):
        table = f"/evaluations/{evaluation}/tables/{name}/{form}/?basis={basis}&published={int(basis == 'embedding')}"
        taken[f"evaluation/{basis}/{name}.{form}"] = download(admin, table)
    for number, judged in enumerate(find_ids("adjudication", "JudgeRun"), start=1):
        taken |= export_judge_files(
            admin, f"/adjudication/runs/{judged}/", f"judge-run-{number}", "ratings", "download/"
        )
    for number, packet in enumerate(find_ids("adjudication", "Packet"), start=1):
        taken |= packet_files(admin, f"/packets/{packet}/", f"packet-{number}")
    submitted = (
        apps.get_model("timelines", "Authoring").objects.get(timeline__isnull=False).public_id
    )
    for form in FORMATS[:-1]:
        taken[f"authored/{form}"] = download(author, f"/authoring/{submitted}/download/{form}/")
    return taken


def export_judge_files(client: Client, address: str, name: str, report: str, files: str) -> Exports:
    """Return tables of ratings, all findings and all games of a judge run.

    They come from pages or from the API.
    """
    taken = {
        f"{name}/{table}.{form}": download(client, f"{address}{report}/{table}/{form}/")
        for table in RATED
        for form in TABLE_FORMATS
    }
    for form in FILE_FORMATS:
        taken[f"{name}/findings.{form}"] = download(client, f"{address}findings/{files}{form}/")
        taken[f"{name}/findings-with-text.{form}"] = download(
            client, f"{address}findings/{files}{form}/?text=1"
        )
        taken[f"{name}/games.{form}"] = download(client, f"{address}games/{files}{form}/")
    return taken


def packet_files(client: Client, address: str, name: str) -> Exports:
    """Return a packet's report-card tables and all its decisions.

    They come from pages or from the API.
    """
    taken = {
        f"{name}/{table}.{form}": download(client, f"{address}report/{table}/{form}/")
        for table in CARD
        for form in TABLE_FORMATS
    }
    for form in ("csv", "jsonl", "dictionary"):
        taken[f"{name}/chain.{form}"] = download(client, f"{address}decisions/{form}/")
        taken[f"{name}/chain-with-text.{form}"] = download(
            client, f"{address}decisions/{form}/?text=1"
        )
    return taken


def find_ids(app: str, model: str) -> list[str]:
    return list(
        apps.get_model(app, model).objects.order_by("pk").values_list("public_id", flat=True)
    )


def download(client: Client, address: str) -> bytes:
    """The content of a good answer."""
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)
    return answer.getvalue()


def format_exports(exports: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """Yield each export as text.

    An archive gives its files one by one, a binary table its schema and a line for each row.
    """
    for name, content in exports.items():
        if content.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                yield from format_exports(
                    {f"{name}/{inner}": archive.read(inner) for inner in archive.namelist()}
                )
        elif content.startswith(b"PAR1"):
            table = pq.read_table(io.BytesIO(content))
            rows = (json.dumps(row, ensure_ascii=False, default=str) for row in table.to_pylist())
            yield name, "\n".join([str(table.schema), *rows, ""])
        else:
            yield name, content.decode()
