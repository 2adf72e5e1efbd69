"""Replace a changed case and delete a dataset.

What people made and what is in a packet stays, and everything is recorded.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.models import AuditEvent, Role
from adjudication.models import Finding, Packet, PacketItem
from adjudication.packets import actions as packets
from ehr.actions import delete_dataset, import_dataset
from ehr.deletion import DeletionRefused
from ehr.models import Dataset, Encounter, Note
from tests import factories
from tests.worlds import judged
from tests.worlds.authored import make_author, make_draft
from tests.worlds.ehr_cases import write_case
from tests.worlds.reviewing import make_design
from timelines.models import Authoring, Timeline

pytestmark = pytest.mark.django_db(transaction=True)

CASES = ("authored", "in-packet", "plain")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Import three cases, then change them.

    There is an authored timeline of the first, packet items of the second, a run of all.
    """
    admitted = datetime(2150, 1, 1, 8)
    lines = [
        f"{admitted + timedelta(hours=h)},{event},{value},{unit}"
        for event, values in judged.RECORD
        for h, value, unit in values
    ]
    rows = "\n".join(["t,event,value,unit", *lines, ""])
    for name in CASES:
        write_case(tmp_path, name, note=judged.NOTE, rows=rows)
    study = factories.make_study("deletions")
    import_dataset(path=tmp_path, format="cases", name="cohort", study=study, by=None)
    dataset = Dataset.objects.get()
    for encounter in dataset.encounters.all():
        for source, events in judged.SOURCES.items():
            judged.make_source(encounter, source, events)
    author = make_author(dataset.encounters.get(case_id="authored"))
    make_draft(dataset.encounters.get(case_id="authored"), author)
    run = judged.make_judged_run(dataset)
    world = judged.JudgedWorld(study, dataset, tuple(dataset.encounters.all()), run)
    admin = factories.make_user(study, Role.ADMIN)
    packet = packets.draw_packet(
        study=study, judge_run=run, label="p", design=make_design(world), seed=7, by=admin
    )
    PacketItem.objects.filter(packet=packet).exclude(
        finding__game__comparison__encounter__case_id="in-packet"
    ).delete()
    assert packet.items.exists()
    for name in CASES:
        write_case(tmp_path, name, note=f"{judged.NOTE} Addendum.", rows=rows)
    return tmp_path


def replace(folder: Path, *options: str) -> None:
    call_command(
        "import_dataset",
        "--format=cases",
        f"--path={folder}",
        "--name=cohort",
        "--study=deletions",
        "--replace",
        *options,
    )


def changed() -> set[str]:
    return set(
        Note.objects.filter(text__endswith="Addendum.").values_list("encounter__case_id", flat=True)
    )


def test_replace_refuses_what_people_made_names_it_and_goes_on(folder, capsys):
    before = {name: Encounter.objects.get(case_id=name).pk for name in CASES}
    with pytest.raises(CommandError):
        replace(folder)
    shown = capsys.readouterr().out
    assert changed() == {"plain"}
    assert {name: Encounter.objects.get(case_id=name).pk for name in CASES[:2]} == {
        name: before[name] for name in CASES[:2]
    }
    assert "1 authored timeline, 3 imported timelines" in shown
    assert "--delete-authored" in shown
    assert "findings in review packets" in shown
    assert Authoring.objects.count() == 1
    assert PacketItem.objects.filter(
        finding__game__comparison__encounter__case_id="in-packet"
    ).exists()
    kinds = list(
        AuditEvent.objects.filter(object_type="ehr.encounter")
        .order_by("pk")
        .values_list("action", flat=True)
    )
    assert kinds.count("case.replace_refused") == 2
    assert kinds.count("case.replace") == 1
    kept = AuditEvent.objects.get(action="case.replace")
    assert (kept.detail["imported timelines"], kept.detail["judged games"]) == (3, 3)


def test_authored_timelines_go_when_asked_and_packets_never(folder):
    with pytest.raises(CommandError):
        replace(folder, "--delete-authored")
    assert changed() == {"authored", "plain"}
    assert not Authoring.objects.exists()
    assert (
        AuditEvent.objects.filter(
            action="case.replace", detail__contains={"authored timelines": 1}
        ).count()
        == 1
    )
    assert PacketItem.objects.exists()


def test_a_dataset_is_deleted_by_the_same_rules(folder, capsys):
    dataset = Dataset.objects.get()
    for authored in (False, True):
        with pytest.raises(DeletionRefused, match="findings in review packets"):
            delete_dataset(dataset=dataset, by=None, delete_authored=authored)
    assert Timeline.objects.exists()
    Packet.objects.all().delete()
    with pytest.raises(CommandError, match="1 authored timeline"):
        call_command("delete_dataset", "--study=deletions", "--name=cohort")
    assert AuditEvent.objects.filter(action="dataset.delete_refused").count() == 3
    call_command("delete_dataset", "--study=deletions", "--name=cohort", "--delete-authored")
    assert not Encounter.objects.exists()
    assert not Finding.objects.exists()
    assert AuditEvent.objects.get(action="dataset.delete").detail["authored timelines"] == 1
    with pytest.raises(CommandError, match="no dataset of that name"):
        call_command("delete_dataset", "--study=deletions", "--name=cohort")


def test_relations_that_nobody_registered_are_refused_too(folder, monkeypatch, capsys):
    monkeypatch.setattr("ehr.registry._loss_counters", [])
    with pytest.raises(CommandError):
        replace(folder)
    assert changed() == {"authored", "plain"}
    assert "other data refers to the case: packet items" in capsys.readouterr().out


def test_an_imported_timeline_in_a_packet_is_not_replaced(folder, capsys):
    item = PacketItem.objects.select_related("finding__game__comparison__first").first()
    assert item is not None
    stored = item.finding.game.comparison.first
    factories.change_past_guards(Timeline.objects.filter(pk=stored.pk), source="theirs")
    (folder / "in-packet.csv").write_text("event,time\nFever,-72\n", encoding="utf-8")
    options = {"format": "csv", "source": "theirs", "kind": stored.kind, "replace": True}
    with pytest.raises(CommandError):
        call_command("import_timelines", dataset="cohort", path=folder / "in-packet.csv", **options)
    assert (
        "in-packet.csv: findings about the stored timeline are in a review packet"
        in capsys.readouterr().out
    )
    assert Timeline.objects.filter(pk=stored.pk).exists()
