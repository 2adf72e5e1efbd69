"""Responses of the API about a decided demo, as exports.

Judge runs, games, findings, changes, comparisons, packets, its schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from django.test import Client

from tests.support.api import ApiClient
from tests.worlds.demo_exports import (
    Exports,
    download,
    export_judge_files,
    find_ids,
    packet_files,
)
from tests.worlds.demo_world import Demo

#: Of many findings one in so many is asked for alone.
STEP = 25


def ask_api(demo: Demo) -> Exports:
    """What the API answers to an admin, and its description."""
    client = Client(headers=ApiClient(demo.people["admin"]).headers)
    taken = {
        f"api/{name}.json": download(client, f"/api/{name}/")
        for name in ("judge-runs", "judge-runs/choices", "packets")
    }
    taken |= {
        f"api/schema.{form}": download(client, f"/api/schema/?format={form}")
        for form in ("json", "yaml")
    }
    runs = find_ids("adjudication", "JudgeRun")
    for number, judged in enumerate(runs, start=1):
        taken |= export_judge_run(client, f"/api/judge-runs/{judged}/", f"judge-run-{number}")
    for number, packet in enumerate(find_ids("adjudication", "Packet"), start=1):
        taken |= export_packet(client, f"/api/packets/{packet}/", f"packet-{number}")
    for change in ("", "same"):
        changes = f"/api/judge-runs/{runs[0]}/changes/{runs[1]}/?change={change}"
        taken[f"api/changes-{change or 'all'}.jsonl"] = join_lines(load_pages(client, changes))
    taken["api/comparisons.jsonl"] = join_lines(comparisons(client, find_ids("ehr", "Encounter")))
    return taken


def export_judge_run(client: Client, address: str, name: str) -> Exports:
    """Return everything of one judge run.

    The run, its games and findings, its eligible findings, its report and files.
    """
    taken = {
        f"api/{name}.json": download(client, address),
        **export_judge_files(client, address, name, "report", "files/"),
    }
    taken |= {
        f"api/{name}/{part}.json": download(client, f"{address}{part}/")
        for part in ("eligible", "report")
    }
    preview = client.post(
        f"{address}draw/preview/", {"label": "preview", "seed": 11}, content_type="application/json"
    )
    assert preview.status_code == 200
    games, findings = (
        load_pages(client, f"{address}games/?"),
        load_pages(client, f"{address}findings/?"),
    )
    return taken | {
        f"api/{name}/preview.json": preview.content,
        f"api/{name}/games.jsonl": join_lines(games),
        f"api/{name}/findings.jsonl": join_lines(findings),
        f"api/{name}/each-game.jsonl": join_lines(
            download(client, f"/api/games/{key}/") for key in find_listed_ids(games)
        ),
        f"api/{name}/some-findings.jsonl": join_lines(
            download(client, f"/api/findings/{key}/") for key in find_listed_ids(findings)[::STEP]
        ),
    }


def export_packet(client: Client, address: str, name: str) -> Exports:
    """One packet: itself, who else could review it, its report card and files."""
    parts = {
        f"api/{name}/{part}.json": download(client, f"{address}{part}/")
        for part in ("candidates", "report")
    }
    return {
        f"api/{name}.json": download(client, address),
        **parts,
        **packet_files(client, address, name),
    }


def comparisons(client: Client, cases: Iterable[str]) -> Iterator[bytes]:
    """Each case's timelines, every one beside the next."""
    for case in cases:
        address = f"/api/cases/{case}/comparison/"
        first = download(client, address)
        keys = [timeline["id"] for timeline in json.loads(first)["timelines"]]
        yield first
        for a, b in pairwise(keys):
            yield download(client, f"{address}?a={a}&b={b}")


def load_pages(client: Client, address: str) -> list[bytes]:
    """All pages of a list."""
    taken = [download(client, f"{address}&limit=500")]
    while after := json.loads(taken[-1])["next"]:
        taken.append(download(client, f"{address}&limit=500&after={after}"))
    return taken


def find_listed_ids(taken: Iterable[bytes]) -> list[Any]:
    """Ids of all that these pages list."""
    return [one["id"] for page in taken for one in json.loads(page)["results"]]


def join_lines(answers: Iterable[bytes]) -> bytes:
    """Answers under each other."""
    return b"".join(answer + b"\n" for answer in answers)
