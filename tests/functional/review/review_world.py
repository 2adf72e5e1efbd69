"""A packet over shipped cases for the tests of the reviewer's pages.

It has realistic notes, timelines and records, and findings of every stratum. Two sources are made
from the shipped reference: one with its times, one with its estimates from text alone, less some
lines, with one written twice and one in other words. A stand-in judges them with made-up findings.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Page, ViewportSize, expect

from accounts.models import Role, Study, User
from adjudication.judge_runs import actions
from adjudication.judging.config import JudgeConfig
from adjudication.judging.input import CandidateRow, Judged, JudgeInput, Unjudged
from adjudication.judging.validation import validate_findings
from adjudication.models import Assignment, Decision, Game, JudgeRun, Packet
from adjudication.packets import actions as packets
from adjudication.sampling.drawing import Design
from ehr.models import Dataset, Encounter
from jobs.models import JobState
from tests import demo_cases, factories
from tests.unit.adjudication.judging.judge_games import make_raw
from tests.worlds.judged import use_judge
from tests.worlds.kept import build_once
from timelines.domain import TimelineKind
from timelines.evaluation.values import SourceKey
from timelines.models import Entry

SCREEN: ViewportSize = {"width": 1280, "height": 800}
KEYS = tuple(
    SourceKey(name, TimelineKind.REVISED.value, 1) for name in ("author:vega", "rules-orion")
)
PASSWORD = "correct horse battery staple"
QUOTAS = {"TIMING decisive": 6, "TIMING UNCLEAR": 2, "one-sided": 3, "DUPLICATE": 1, "VALUE": 1}
#: So many series of a case, that a packet is made in a second; pictures take them all.
FEW = 40


@dataclass(frozen=True)
class Differences:
    """A judge that finds what the two sources were made to differ in."""

    name: str = "stand-in"
    version: str = "1"
    refuse: frozenset[int] = field(default_factory=frozenset)

    def judge(self, given: JudgeInput) -> Judged | Unjudged:
        findings = validate_findings(list(self._told(given)), given)
        return Judged(tuple(findings), len(given.series))

    def _told(self, given: JudgeInput) -> Iterator[dict[str, Any]]:
        one, two = (
            (given.a_rows, given.b_rows) if given.a_is_first else (given.b_rows, given.a_rows)
        )
        others: dict[str, list[CandidateRow]] = {}
        for row in two:
            others.setdefault(row.event, []).append(row)
        for number, row in enumerate(one):
            found = others.get(row.event, [])
            if not found:
                reworded = others.get(f"{row.event}, mild")
                yield (
                    make_raw(given, "VALUE", row, reworded[0], "FIRST")
                    if reworded
                    else make_raw(given, "FIRST_ONLY", row, None, "FIRST")
                )
            elif len(found) > 1:
                yield make_raw(given, "DUPLICATE", None, found[1], "FIRST")
            elif (
                row.time is not None
                and found[0].time is not None
                and abs(row.time - found[0].time) >= 3
            ):
                yield make_raw(
                    given,
                    "TIMING",
                    row,
                    found[0],
                    "UNCLEAR" if number % 5 == 4 else "FIRST" if number % 2 else "SECOND",
                )


@dataclass
class PacketWorld:
    """An open packet, its admin and a reviewer with a password."""

    encounters: list[Encounter]
    packet: Packet
    admin: User
    reviewer: User
    assignment: Assignment

    @property
    def address(self) -> str:
        return f"/review/{self.assignment.public_id}/"

    @property
    def item_address(self) -> str:
        return f"{self.address}item/"

    def decided(self) -> list[Decision]:
        return list(
            Decision.objects.filter(packet=self.packet).select_related("item").order_by("sequence")
        )

    def kinds(self) -> list[str]:
        return [d.kind for d in self.decided()]


def build_judged_cases(
    study: Study | None = None, *, cases: int = 1, series: int | None = FEW
) -> tuple[list[Encounter], JudgeRun]:
    """Shipped cases with both sources, judged."""
    dataset = factories.make_dataset(study)
    names = sorted(p.name for p in demo_cases.COHORT.iterdir() if p.is_dir())[:cases]
    encounters = [
        _case(dataset, _limit_series(demo_cases.load_shipped(name), series)) for name in names
    ]
    return encounters, _judge_dataset(dataset)


@build_once
def build_packet_world(
    *,
    cases: int = 1,
    practised: bool = True,
    series: int | None = FEW,
    quotas: Mapping[str, int] = QUOTAS,
) -> PacketWorld:
    """Shipped cases, judged, drawn and opened to one reviewer."""
    encounters, run = build_judged_cases(cases=cases, series=series)
    dataset = encounters[0].dataset
    admin, reviewer = (
        factories.make_user(dataset.study, Role.ADMIN),
        factories.make_user(dataset.study, Role.REVIEWER, username="r.iyer"),
    )
    reviewer.set_password(PASSWORD)
    reviewer.save()
    design = Design(pairings=packets.list_pairings(run), quotas=dict(quotas), cases=None)
    drawn = packets.draw_packet(
        study=dataset.study,
        judge_run=run,
        label="Validation sample",
        design=design,
        seed=11,
        by=admin,
    )
    assignment = packets.assign(packet=drawn, person=reviewer, by=admin, seed=5)
    if practised:
        Assignment.objects.filter(pk=assignment.pk).update(practised_at=timezone.now())
    opened = packets.open_packet(packet=drawn, by=admin)
    assignment.refresh_from_db()
    return PacketWorld(encounters, opened, admin, reviewer, assignment)


def _limit_series(source: demo_cases.Source, series: int | None) -> demo_cases.Source:
    """Return the case with this many series, heart rate among them.

    Nothing points to rows by number any more.
    """
    names = sorted(
        {row["event"] for row in source.rows},
        key=lambda name: ("heart rate" not in name.lower(), name),
    )[:series]
    rows = [row for row in source.rows if row["event"] in set(names)] if series else source.rows
    return replace(source, rows=rows, lines=[{**line, "rows": []} for line in source.lines])


def _case(dataset: Dataset, source: demo_cases.Source) -> Encounter:
    encounter = demo_cases.build(dataset, source).encounter
    note = encounter.notes.get()
    for key in KEYS:
        first = key is KEYS[0]
        inventory = factories.make_inventory(note, origin="import")
        entries = []
        for n, line in enumerate(source.lines):
            if not first and n % 9 == 4:
                continue
            mention = f"{line['mention']}, mild" if not first and n == 2 else line["mention"]
            time = line["time"] if first else line["text_time"]
            times = [time, time + 20] if not first and n == 6 and time is not None else [time]
            for each in times:
                occurrence = factories.make_occurrence(
                    inventory, span=(line["start"], line["end"]), mention=mention
                )
                entries.append(Entry(occurrence=occurrence, time=each, decided_by="test/given"))
        factories.make_timeline(inventory, entries, kind=TimelineKind.REVISED, source=key.source)
        factories.seal(inventory)
    return encounter


def _judge_dataset(dataset: Dataset) -> JudgeRun:
    with use_judge(Differences()):  # type: ignore[arg-type]  # a stand-in like the other
        run = actions.start_judging(
            study=dataset.study,
            datasets=[dataset],
            sources=KEYS,
            config=JudgeConfig(),
            label="",
            by=None,
            tell_workers=False,
        )
        for pk in Game.objects.filter(run=run, state=JobState.QUEUED).values_list("pk", flat=True):
            actions.execute_game(pk)
    return run


def wait_for_item(page: Page) -> None:
    """Wait for an item on a page whose script runs."""
    page.wait_for_selector("#review[data-ready] [data-item]")


def read_item_id(page: Page) -> str:
    """The public id of the item on screen."""
    return page.locator("[data-item]").get_attribute("data-item") or ""


def press_answer(page: Page, key: str) -> str:
    """Answer the item on screen by keys and wait for the next page.

    Returns the item.
    """
    before = read_item_id(page)
    page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.locator(f"[data-item='{before}']")).to_have_count(0)
    return before


def wait_until_saved(page: Page) -> None:
    expect(page.locator("[data-saved]")).to_have_text("All saved")


def assert_accessible(page: Page) -> None:
    page.wait_for_timeout(150)
    found = Axe().run(page)
    violations = [
        (v["id"], [node["html"][:200] for node in v["nodes"]][:3])
        for v in found.response["violations"]
    ]
    assert violations == [], violations


def take_picture(page: Page, name: str) -> None:
    """Into ARTIFACTS, for looking at."""
    folder = (
        Path(os.environ.get("ARTIFACTS", Path(settings.BASE_DIR) / "var" / "artifacts")) / "review"
    )
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")
