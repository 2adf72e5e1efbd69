"""The demo (`demo_world`) with everything decided.

A second judge run, a packet for two people an item, every decision, both packets closed.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from django.core.management import call_command

from accounts.models import Role
from config.services import demo as made_by
from tests import factories
from tests.support.api import ApiClient
from tests.worlds.demo_exports import AGAINST, find_ids
from tests.worlds.demo_review import request_body, review_all
from tests.worlds.demo_world import Demo, make_demo


def build_decided_demo(path: Path, cases: Sequence[str]) -> tuple[Demo, dict[str, Any]]:
    """Build it; return it with the API's responses to the reviewers, by name."""
    demo = make_demo(path, tuple(cases))
    quiet = {"stdout": StringIO(), "stderr": StringIO()}
    call_command(
        "judge",
        dataset=["demo"],
        sources=made_by.JUDGED,
        fixed_tolerance=True,
        label=AGAINST,
        inline=True,
        **quiet,
    )
    second = factories.make_user(demo.study, Role.REVIEWER, username="second")
    admin = ApiClient(demo.people["admin"])
    people = {
        "reviewer": demo.people["reviewer"],
        "second": second,
        "adjudicator": demo.people["adjudicator"],
    }
    draw_second(admin, {name: person.public_id for name, person in people.items()})
    packets = find_ids("adjudication", "Packet")
    seen = review_all(people, packets)
    for packet in packets:
        request_body(admin, "post", f"packets/{packet}/actions/close/")
    return demo, seen


def draw_second(admin: ApiClient, people: dict[str, str]) -> None:
    """Draw two findings of each kind from each pairing.

    Two people decide on those of the first. Everybody is assigned, and the packet is opened.
    """
    run = find_ids("adjudication", "JudgeRun")[0]
    pairings = request_body(admin, "get", f"judge-runs/{run}/eligible/")["pairings"]
    first, strata = next(iter(pairings.items()))
    packet = request_body(
        admin,
        "post",
        f"judge-runs/{run}/draw/",
        label="two",
        seed=5,
        quotas=dict.fromkeys(strata, 2),
        second=first,
    )["id"]
    for name, person in people.items():
        role = "adjudicator" if name == "adjudicator" else "reviewer"
        request_body(admin, "post", f"packets/{packet}/assignments/", person=person, role=role)
    request_body(admin, "post", f"packets/{packet}/actions/open/")
