"""Packets and report cards as an admin sees them, and as nobody else does."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from datetime import timedelta

import pytest
from django.db import IntegrityError
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from adjudication.access.eligibility import find_ineligibility_reasons
from adjudication.blinding.page import ANSWER_WORDS
from adjudication.models import Decision, Finding, Packet
from adjudication.packets.actions import (
    assign,
    close_packet,
    list_pairings,
    open_packet,
    set_due_date,
)
from adjudication.packets.forms import quota_field
from adjudication.ratings.card.data import compute_card
from adjudication.sampling.drawing import SAME_OCCURRENCE
from tests import factories
from tests.support.pages import join_markup
from tests.worlds.judged import FixedJudge, make_judged_run, make_judged_world
from tests.worlds.reviewed import (
    QUOTAS,
    alternate,
    build_open_world,
    decide_all,
    draw_packet,
    reject_finding,
    uphold_finding,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def judged():
    return make_judged_world(cases=3)


def fields(judged, **changes):
    values = {"label": "spring sample", "pairings": list(list_pairings(judged.run)), "cases": "", "second": "", "reveal": "after_close",
            "lease_minutes": 30, "seed": 5, **{quota_field(s): n for s, n in QUOTAS.items()}}  # fmt: skip
    return values | changes


def test_what_may_be_drawn_stands_before_the_form_and_a_preview_draws_nothing(client, judged):
    client.force_login(factories.make_user(judged.study, Role.ADMIN))
    page = client.get(reverse("adjudication:packet_new", args=[judged.run.public_id]))
    assert "3 of 3 cases are judged in every pairing" in page.content.decode()
    assert page.context["eligible"][0][1] == [6, 3, 6, 3, 6]
    shown = join_markup(client.post(page.request["PATH_INFO"], fields(judged, do="preview")))
    assert re.search(r"Preview: [1-9]\d* items from 3 cases", shown)
    assert SAME_OCCURRENCE in shown
    assert 'action="#preview-title"' in shown
    assert '<h2 id="preview-title" tabindex="-1">' in shown, (
        "the page that comes back is at the preview"
    )
    assert "DUPLICATE of rules-orion · revised | llm-lyra · revised: 0 of 1" in shown
    assert not Packet.objects.exists()


def test_a_packet_is_drawn_assigned_opened_and_closed(client, judged):
    admin = factories.make_user(judged.study, Role.ADMIN)
    reviewer = factories.make_user(judged.study, Role.REVIEWER)
    client.force_login(admin)
    pairing = list_pairings(judged.run)[0]
    drawn = client.post(
        reverse("adjudication:packet_new", args=[judged.run.public_id]),
        fields(judged, do="draw", second=pairing),
    )
    packet = Packet.objects.get()
    address = reverse("adjudication:packet", args=[packet.public_id])
    assert drawn.url == address
    assert set(packet.items.filter(pairing=pairing).values_list("quota", flat=True)) == {2}

    def act(action, **data):
        return join_markup(
            client.post(
                reverse("adjudication:packet_action", args=[packet.public_id, action]),
                data,
                follow=True,
            )
        )

    page = client.get(address).content.decode()
    assert "2 reviewers per item, 0 assigned" in page
    assert "The packet is open" not in act("open")
    assert f"{reviewer.username} was added to the packet" in act(
        "assign", person=reviewer.public_id, role="reviewer", pairing=""
    )
    assert "Choose a member" in act("assign", person="nobody", role="reviewer", pairing="")
    second = factories.make_user(judged.study, Role.REVIEWER)
    assert "waiting for the packet to open" in act(
        "assign", person=second.public_id, role="reviewer", pairing=pairing
    )
    opened = act("open")
    assert "The packet is open" in opened
    assert "practice not done" in opened
    total, twice = packet.items.count(), packet.items.filter(quota=2).count()
    assert (
        f"Still open: {total + twice} answers, 2 signatures, 0 disagreements for a third person."
        in opened
    )
    assert "cannot change its items" in act("second", pairing=pairing)
    assert "The person was removed from the packet" in act(
        "withdraw", assignment=packet.assignments.get(person=second).public_id
    )
    closed = act("close")
    assert "The packet is closed" in closed
    assert "not signed" in closed
    assert "Still open" not in closed
    packet.refresh_from_db()
    assert packet.state == "closed"
    assert (
        client.post(
            reverse("adjudication:packet_action", args=[packet.public_id, "dance"])
        ).status_code
        == 404
    )


def test_the_due_date_is_set_moved_and_shown_to_reviewers(client, judged):
    today = timezone.localdate()
    soon, past = today + timedelta(days=3), today - timedelta(days=1)
    admin = factories.make_user(judged.study, Role.ADMIN)
    reviewer = factories.make_user(judged.study, Role.REVIEWER)
    client.force_login(admin)
    address = reverse("adjudication:packet_new", args=[judged.run.public_id])
    refused = client.post(address, fields(judged, do="draw", due_on=past.isoformat()))
    assert "The due date is in the past" in refused.content.decode()
    client.post(address, fields(judged, do="draw", due_on=soon.isoformat()))
    packet = Packet.objects.get()
    assert packet.due_on == soon
    assign(packet=packet, person=reviewer, by=admin)
    open_packet(packet=packet, by=admin)

    def change(due_on) -> str:
        action = reverse("adjudication:packet_action", args=[packet.public_id, "due"])
        return join_markup(client.post(action, {"due_on": due_on}, follow=True))

    def read_home() -> str:
        client.force_login(reviewer)
        shown = join_markup(client.get(reverse("home")))
        queue = join_markup(client.get(reverse("adjudication:review_queue")))
        client.force_login(admin)
        return f"{shown}\n{queue}"

    assert read_home().count("Due in 3 days") == 2
    assert "Due in 3 days" in join_markup(client.get(reverse("adjudication:packets")))
    assert "The review is due tomorrow." in change(today + timedelta(days=1))
    assert "The due date is in the past" in change(past)
    assert "Enter a valid date" in change("soon")
    # A date in the past is only reached by waiting.
    Packet.objects.update(due_on=past)
    assert read_home().count(f"Overdue since {past}") == 2
    Packet.objects.update(due_on=today + timedelta(days=1))
    assert "The packet has no due date." in change("")
    assert "due in" not in read_home().lower()
    trail = AuditEvent.objects.filter(action="packet.due_date").order_by("pk")
    assert [(e.actor, e.detail["before"], e.detail["after"]) for e in trail] == [
        (admin, f"{soon}", f"{today + timedelta(days=1)}"),
        (admin, f"{today + timedelta(days=1)}", None),
    ]
    close_packet(packet=packet, by=admin)
    assert "The packet is closed" in change(soon)
    with pytest.raises(IntegrityError, match="an opened packet stays as it is"):
        Packet.objects.update(due_on=soon)
    with pytest.raises(NotAllowed):
        set_due_date(packet=packet, due_on=soon, by=reviewer)


def test_the_report_card_counts_what_stands(client, judged):
    world = build_open_world(judged, reviewers_an_item=2)
    first, second = world.reviewers
    total = world.packet.items.count()
    assert decide_all(world, first, uphold_finding) == total
    assert decide_all(world, second, alternate([uphold_finding, reject_finding])) == total
    card = compute_card(world.packet)
    assert (card.reviewers[0].raw.upheld, card.reviewers[0].raw.n) == (total, total)
    rejected = world.packet.items.filter(ordinal__in=range(1, total + 1, 2)).count()
    assert card.agreements[0].table == ((total - rejected, rejected), (0, 0))
    assert len(card.agreements[0].disagreements) == rejected
    assert (
        sum(card.corpus.values()) + card.outside
        == Finding.objects.filter(game__run=judged.run).count()
    )

    client.force_login(world.admin)
    page = join_markup(
        client.get(reverse("adjudication:report_card", args=[world.packet.public_id]))
    )
    assert "100.0 (" in page
    assert f"{total} of {total} items decided" in page
    assert "the packet is still open" in page
    differing = card.agreements[0].disagreements[0]
    lines = [
        f"{person}: {ANSWER_WORDS[answer]}"
        for person, answer in ((first, differing.first), (second, differing.second))
    ]
    assert "<br>".join(lines) in page
    assert "NOT_A_FINDING" not in page
    assert (
        reverse("adjudication:report_table", args=[world.packet.public_id, "decisions", "csv"])
        in page
    )
    for name in (
        "uphold",
        "strata",
        "pairings",
        "agreement",
        "disagreements",
        "concentration",
        "needed",
        "seconds",
        "decisions",
        "confusion-0",
    ):
        for form in ("csv", "latex", "json"):
            answer = client.get(
                reverse("adjudication:report_table", args=[world.packet.public_id, name, form])
            )
            assert answer.status_code == 200, name
            assert answer.content
    exported = json.loads(
        client.get(
            reverse("adjudication:report_table", args=[world.packet.public_id, "agreement", "json"])
        ).content
    )
    assert exported["rows"][0][1] == total
    for name in ("confusion-1", "nothing"):
        assert (
            client.get(
                reverse("adjudication:report_table", args=[world.packet.public_id, name, "csv"])
            ).status_code
            == 404
        )


def test_every_link_is_exported_with_and_without_text(client, judged):
    world = build_open_world(judged, reviewers=1)
    decide_all(world, world.reviewers[0], uphold_finding, most=3)
    client.force_login(world.admin)

    def read(form, text=False):
        address = reverse("adjudication:packet_download", args=[world.packet.public_id, form]) + (
            "?text=1" if text else ""
        )
        return b"".join(client.get(address).streaming_content).decode()

    def name_of(form, text):
        address = (
            reverse("adjudication:packet_download", args=[world.packet.public_id, form]) + text
        )
        return client.get(address)["Content-Disposition"]

    packet = world.packet.public_id
    assert name_of("csv", "") == f'attachment; filename="chain-{packet}.csv"'
    assert (
        name_of("jsonl", "?text=1") == f'attachment; filename="chain-{packet}-with-text.jsonl"'
    ), "a file with patients' text says so"
    rows = list(csv.DictReader(io.StringIO(read("csv"))))
    assert [r["sequence"] for r in rows] == ["1", "2", "3"]
    assert {r["upheld"] for r in rows} == {r["counts"] for r in rows} == {"true"}
    assert rows[1]["previous_hash"] == rows[0]["hash"]
    assert "note_evidence" not in rows[0]
    lines = [json.loads(line) for line in read("jsonl", text=True).splitlines()]
    assert {"note_evidence", "reason", "comment", "a_event"} <= set(lines[0])
    assert lines[0]["answer"] == lines[0]["verdict"]
    previous = ""
    for line in lines:
        previous = hashlib.sha256(f"{previous}\n{line['payload']}".encode()).hexdigest()
        assert line["hash"] == previous
    dictionary = [r["column"] for r in csv.DictReader(io.StringIO(read("dictionary", text=True)))]
    assert dictionary == list(lines[0])
    assert Decision.objects.count() == 3


def test_a_reviewer_reaches_none_of_it_until_it_is_revealed(client, judged):
    world = build_open_world(judged)
    decide_all(world, world.reviewers[0], uphold_finding, most=1)
    client.force_login(world.reviewers[0])
    for name in ("packet", "report_card"):
        assert (
            client.get(reverse(f"adjudication:{name}", args=[world.packet.public_id])).status_code
            == 403
        )
    assert (
        client.get(
            reverse("adjudication:packet_download", args=[world.packet.public_id, "csv"])
        ).status_code
        == 403
    )
    close_packet(packet=world.packet, by=world.admin)
    assert (
        client.get(reverse("adjudication:report_card", args=[world.packet.public_id])).status_code
        == 200
    )
    client.force_login(factories.make_user(judged.study, Role.REVIEWER))
    assert (
        client.get(reverse("adjudication:report_card", args=[world.packet.public_id])).status_code
        == 404
    )


def test_an_admin_who_reviews_cannot_look_behind(client, judged):
    admin = factories.make_user(judged.study, Role.ADMIN)
    other = factories.make_user(judged.study, Role.ADMIN)
    packet = draw_packet(judged, other)
    assign(packet=packet, person=admin, by=other)
    client.force_login(admin)
    for name, status in (("packet", 403), ("report_card", 404)):
        answer = client.get(reverse(f"adjudication:{name}", args=[packet.public_id]))
        assert answer.status_code == status
        assert "llm-lyra" not in answer.content.decode()


def test_who_has_read_a_report_card_is_no_blinded_reviewer(client, judged):
    world = build_open_world(judged)
    assert not find_ineligibility_reasons(world.admin, world.packet)
    client.force_login(world.admin)
    client.get(reverse("adjudication:packet", args=[world.packet.public_id]))
    assert not find_ineligibility_reasons(world.admin, world.packet)
    client.get(reverse("adjudication:report_card", args=[world.packet.public_id]))
    assert find_ineligibility_reasons(world.admin, world.packet) == [
        "They have seen 3 cases of the packet unblinded."
    ]


def test_only_what_changed_is_drawn_again(client, judged):
    world = build_open_world(judged)
    later = make_judged_run(
        judged.dataset, FixedJudge(version="2", fever="SECOND"), label="second thoughts"
    )
    client.force_login(world.admin)
    drawn = client.post(
        reverse("adjudication:packet_action", args=[world.packet.public_id, "changed"]),
        {"run": later.public_id},
    )
    packet = Packet.objects.get(follows=world.packet)
    assert drawn.url == reverse("adjudication:packet", args=[packet.public_id])
    assert {
        (i.finding.type, i.finding.a_event) for i in packet.items.select_related("finding")
    } == {("TIMING", "fever")}
    assert {i.versions["judge_version"] for i in packet.items.all()} == {"2"}
