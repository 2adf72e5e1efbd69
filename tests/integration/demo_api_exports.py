"""Responses of the API about a decided demo, as exports.

Judge runs, games, findings, changes, comparisons, packets, its schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from django.test import Client

from tests.integration.api import ApiClient
from tests.integration.demo_exports import Exports, got, ids_of, judged_files, packet_files
from tests.integration.demo_world import Demo

#: Of many findings one in so many is asked for alone.
STEP = 25


def ask_api(demo: Demo) -> Exports:
    """What the API answers to an admin, and its description."""
    client = Client(headers=ApiClient(demo.people["admin"]).headers)
    taken = {
        f"api/{name}.json": got(client, f"/api/{name}/")
        for name in ("judge-runs", "judge-runs/choices", "packets")
    }
    taken |= {
        f"api/schema.{form}": got(client, f"/api/schema/?format={form}")
        for form in ("json", "yaml")
    }
    runs = ids_of("adjudication", "JudgeRun")
    for number, judged in enumerate(runs, start=1):
        taken |= api_of_judge_run(client, f"/api/judge-runs/{judged}/", f"judge-run-{number}")
    for number, packet in enumerate(ids_of("adjudication", "Packet"), start=1):
        taken |= api_of_packet(client, f"/api/packets/{packet}/", f"packet-{number}")
    for change in ("", "same"):
        changes = f"/api/judge-runs/{runs[0]}/changes/{runs[1]}/?change={change}"
        taken[f"api/changes-{change or 'all'}.jsonl"] = lines(pages(client, changes))
    taken["api/comparisons.jsonl"] = lines(comparisons(client, ids_of("ehr", "Encounter")))
    return taken


def api_of_judge_run(client: Client, address: str, name: str) -> Exports:
    """Return everything of one judge run.

    The run, its games and findings, its eligible findings, its report and files.
    """
    taken = {
        f"api/{name}.json": got(client, address),
        **judged_files(client, address, name, "report", "files/"),
    }
    taken |= {
        f"api/{name}/{part}.json": got(client, f"{address}{part}/")
        for part in ("eligible", "report")
    }
    preview = client.post(
        f"{address}draw/preview/", {"label": "preview", "seed": 11}, content_type="application/json"
    )
    assert preview.status_code == 200
    games, findings = pages(client, f"{address}games/?"), pages(client, f"{address}findings/?")
    return taken | {
        f"api/{name}/preview.json": preview.content,
        f"api/{name}/games.jsonl": lines(games),
        f"api/{name}/findings.jsonl": lines(findings),
        f"api/{name}/each-game.jsonl": lines(
            got(client, f"/api/games/{key}/") for key in listed(games)
        ),
        f"api/{name}/some-findings.jsonl": lines(
            got(client, f"/api/findings/{key}/") for key in listed(findings)[::STEP]
        ),
    }


def api_of_packet(client: Client, address: str, name: str) -> Exports:
    """One packet: itself, who else could review it, its report card and files."""
    parts = {
        f"api/{name}/{part}.json": got(client, f"{address}{part}/")
        for part in ("candidates", "report")
    }
    return {
        f"api/{name}.json": got(client, address),
        **parts,
        **packet_files(client, address, name),
    }


def comparisons(client: Client, cases: Iterable[str]) -> Iterator[bytes]:
    """Each case's timelines, every one beside the next."""
    for case in cases:
        address = f"/api/cases/{case}/comparison/"
        first = got(client, address)
        keys = [timeline["id"] for timeline in json.loads(first)["timelines"]]
        yield first
        for a, b in pairwise(keys):
            yield got(client, f"{address}?a={a}&b={b}")


def pages(client: Client, address: str) -> list[bytes]:
    """All pages of a list."""
    taken = [got(client, f"{address}&limit=500")]
    while after := json.loads(taken[-1])["next"]:
        taken.append(got(client, f"{address}&limit=500&after={after}"))
    return taken


def listed(taken: Iterable[bytes]) -> list[Any]:
    """Ids of all that these pages list."""
    return [one["id"] for page in taken for one in json.loads(page)["results"]]


def lines(answers: Iterable[bytes]) -> bytes:
    """Answers under each other."""
    return b"".join(answer + b"\n" for answer in answers)
