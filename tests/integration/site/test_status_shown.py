""" "Moved by evidence" on a real reconstruction.

Only times of a revised timeline that cite a row have it, on every page with a status.
"""

from __future__ import annotations

import json
import re

import pytest

from accounts.models import Role
from llm_runtime.roles import ModelRoles
from tests import factories
from tests.paths import DEMO
from tests.worlds.reconstructed import LIGHT_ROLES, import_folder, run_inline
from timelines.domain import TimelineKind, differs
from timelines.models import Entry, Timeline
from timelines.runs import tools

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def encounter(transactional_db, monkeypatch):
    roles = ModelRoles(LIGHT_ROLES)
    monkeypatch.setattr(tools, "roles", lambda: roles)
    dataset = import_folder(
        DEMO / "cohort",
        cases=[sorted(p.name for p in (DEMO / "cohort").iterdir() if p.is_dir())[0]],
    )
    run_inline(dataset)
    return dataset.encounters.get()


def test_only_a_cited_row_moves_a_time_and_never_a_reference(encounter, client):
    client.force_login(factories.make_user(encounter.dataset.study, Role.CLINICIAN))
    seen = {"supported": 0, "cited in a reference": 0, "shifted without a row": 0}
    for timeline in Timeline.objects.filter(encounter=encounter):
        page = client.get(f"/cases/{encounter.public_id}/?t={timeline.public_id}").content.decode()
        shown = {item["u"]: item for item in _items(page)}
        for entry in timeline.entries.select_related("occurrence"):
            assert entry.occurrence is not None
            moved = (
                timeline.kind == TimelineKind.REVISED
                and bool(entry.adopted_rows)
                and entry.time is not None
            )
            assert (shown[entry.occurrence.uid4]["s"] == "moved") is moved
            seen["supported"] += moved
            seen["cited in a reference"] += timeline.kind == TimelineKind.REFERENCE and bool(
                entry.adopted_rows
            )
            if (
                timeline.kind == TimelineKind.REVISED
                and not entry.adopted_rows
                and differs(entry.time, _find_text_time(entry))
            ):
                seen["shifted without a row"] += 1
                assert shown[entry.occurrence.uid4].get("sw") != "placed by evidence"
                assert (
                    "f" in shown[entry.occurrence.uid4]
                    or entry.time is None
                    or _find_text_time(entry) is None
                )
                _check_chain(client, encounter, timeline, entry)
        assert ("u-moved" in page) is any(
            item["s"] == "moved" and item.get("p") is not None for item in shown.values()
        )
        if timeline.kind == TimelineKind.REFERENCE:
            cited = timeline.entries.exclude(adopted_rows=[]).exclude(time=None).first()
            assert cited is not None
            _check_chain(client, encounter, timeline, cited)
    assert all(seen.values()), seen


def _items(page: str) -> list[dict]:
    found = re.search(r'<script id="case-data" type="application/json">(.*?)</script>', page)
    assert found is not None
    return json.loads(found.group(1))["items"]


def _find_text_time(entry: Entry) -> float | None:
    text = {
        "timeline__case_run": entry.timeline.case_run,
        "timeline__kind": TimelineKind.TEXT_ONLY.value,
    }
    return Entry.objects.get(occurrence=entry.occurrence, **text).time


def _check_chain(client, encounter, timeline: Timeline, entry: Entry) -> None:
    """The panel of an occurrence that no alternative supports by a row."""
    assert entry.occurrence is not None
    if (
        Entry.objects.filter(occurrence=entry.occurrence, timeline__kind=TimelineKind.REVISED)
        .exclude(adopted_rows=[])
        .exists()
    ):
        return
    chain = client.get(
        f"/cases/{encounter.public_id}/o/{entry.occurrence.uid4}/chain/?t={timeline.public_id}"
    )
    assert chain.status_code == 200
    assert b"status-moved" not in chain.content
    assert b"by evidence" not in chain.content
