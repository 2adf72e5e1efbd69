"""Precision of the rules judge on findings that were read one by one."""

from __future__ import annotations

import json
from collections import Counter
from io import StringIO
from typing import Any
from unittest import mock

import pytest
from django.core.management import call_command

from accounts.models import Study
from adjudication.domain import Verdict
from adjudication.models import Finding, JudgeRun
from adjudication.scoring.intervals import wilson_interval
from config.services import demo
from llm_runtime.roles import MATCHER, ModelRoles
from tests.paths import DATA, DEMO
from tests.worlds.prompted import LOCAL_ROLES
from timelines.models import Entry
from timelines.runs import tools

LABELS = DATA / "judging" / "judged_findings.jsonl"
ONE_SIDED = "ONE_SIDED"
Key = tuple[Any, ...]


@pytest.mark.deep
@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(1800)
def test_decisive_findings_of_the_demo_are_right(capsys):
    labels = {_label_key(label): label for label in read_labels()}
    found = {key: verdict for key, verdict in judge_demo().items() if key in labels}
    counts = count(found, labels)
    with capsys.disabled():
        print("\n".join(describe(counts)))
    settled = counts["TIMING", "right"] + counts["TIMING", "wrong"]
    assert settled >= 60
    assert counts["TIMING", "right"] >= 0.9 * settled
    assert counts["TIMING", "false"] == 0
    assert counts[ONE_SIDED, "decisive"] == counts[ONE_SIDED, "right"]
    # Of the one-sided findings of sample 1, 79 of 100 were false.
    false = sum(
        label["label"] == "false" and label["type"] == ONE_SIDED for label in labels.values()
    )
    assert counts[ONE_SIDED, "false"] <= 0.3 * false


def test_labels_name_each_finding_once_and_quote_the_note():
    labels = read_labels()
    assert len({_label_key(label) for label in labels}) == len(labels) == 302
    notes = {
        case: (DEMO / "cohort" / case / "note.txt").read_text(encoding="utf-8")
        for case in {label["case"] for label in labels}
    }
    for label in labels:
        start, end = label["first"] or label["second"]
        assert notes[label["case"]][start:end] == label["quote"]
        assert label["label"] in ("real", "false", "unclear")
        assert label["right"] in ("first", "second", None)
        assert label["right"] is None or label["label"] == "real"


def read_labels() -> list[dict[str, Any]]:
    return [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]


def judge_demo() -> dict[Key, str]:
    """Reconstruct and judge the cohort; return the verdicts by timeline."""
    roles = mock.Mock(return_value=ModelRoles({**LOCAL_ROLES, MATCHER: {"provider": "hashing"}}))
    quiet = {"stdout": StringIO(), "stderr": StringIO()}
    with mock.patch.object(tools, "roles", roles):
        call_command("create_demo_accounts", **quiet)
        where = {"path": DEMO / "cohort", "study": Study.objects.get().name}
        call_command("import_dataset", format="cases", name="demo", **where, **quiet)
        call_command(
            "reconstruct", dataset="demo", backbone="rules", variants="full", inline=True, **quiet
        )
        call_command("judge", dataset=["demo"], sources=demo.JUDGED, inline=True, **quiet)
    entries = Entry.objects.select_related("occurrence").in_bulk()
    findings = Finding.objects.filter(game__run=JudgeRun.objects.get()).select_related(
        "game__comparison__encounter"
    )
    return dict(_name(f, entries) for f in findings)


def count(found: dict[Key, str], labels: dict[Key, dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Count findings by type: all, false, decisive, right, wrong, unsettled."""
    counts: Counter[tuple[str, str]] = Counter()
    for key, verdict in found.items():
        label, kind = labels[key], key[1]
        counts[kind, "all"] += 1
        counts[kind, "false"] += label["label"] == "false"
        if verdict not in ("first", "second"):
            continue
        counts[kind, "decisive"] += 1
        if (label["label"] == "real" and label["right"] is None) or label["label"] == "unclear":
            counts[kind, "unsettled"] += 1
        else:
            counts[kind, "right" if label["right"] == verdict else "wrong"] += 1
    return counts


def describe(counts: Counter[tuple[str, str]]) -> list[str]:
    lines = []
    for kind in sorted({kind for kind, _ in counts}):
        right, wrong = counts[kind, "right"], counts[kind, "wrong"]
        figures = ", ".join(
            f"{name} {counts[kind, name]}"
            for name in ("all", "false", "decisive", "right", "wrong", "unsettled")
        )
        lines.append(f"{kind}: {figures}, {wilson_interval(right, right + wrong)}")
    return lines


def _label_key(label: dict[str, Any]) -> Key:
    rows = [label["first"], label["second"]]
    times = [label["first_time"], label["second_time"]]
    return _key(label["case"], label["type"], rows, times)


def _name(finding: Finding, entries: dict[int, Entry]) -> tuple[Key, str]:
    sides = [finding.a_entry_id, finding.b_entry_id]
    order = ["first", "second"]
    if not finding.game.a_is_first:
        sides.reverse()
        order.reverse()
    rows = [None if pk is None else entries[pk] for pk in sides]
    kind = ONE_SIDED if None in rows else finding.type
    marked = [None if r is None else r.occurrence for r in rows]
    places = [None if o is None else [o.start, o.end] for o in marked]
    times = [None if r is None or r.time is None else round(r.time, 2) for r in rows]
    key = _key(finding.game.comparison.encounter.case_id, kind, places, times)
    verdicts = {Verdict.A: order[0], Verdict.B: order[1]}
    return key, verdicts.get(Verdict(finding.verdict), finding.verdict)


def _key(case: str, kind: str, places: list[Any], times: list[Any]) -> Key:
    """Name a finding; a one-sided one without its time, which may vary."""
    shown = () if kind == ONE_SIDED else tuple(times)
    return (case, kind, *(None if p is None else tuple(p) for p in places), shown)
