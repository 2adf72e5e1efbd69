"""The guess test of packets: stored in drafts, and by command.

The deep test is over a packet of the demo cohort: no classifier finds its sources.
"""

from __future__ import annotations

from collections import defaultdict
from io import StringIO
from statistics import fmean, median
from unittest import mock

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.models import AuditEvent, Role, Study, User
from accounts.permissions import NotAllowed
from adjudication.guessing.served import ServedItem, ServedSide
from adjudication.models import GuessTest, Packet
from adjudication.packets import actions as packets
from adjudication.review import guess_test
from adjudication.review.guess_test import (
    execute_guess_test,
    read_guesses,
    run_guess_test,
    start_guess_test,
)
from config.services import demo
from jobs.errors import PermanentFailure
from jobs.models import JobState
from llm_runtime.roles import MATCHER, ModelRoles
from tests import factories
from tests.paths import DEMO
from tests.support.pages import join_markup
from tests.worlds.demo_normal import fix_randomness
from tests.worlds.judged import make_judged_world
from tests.worlds.prompted import LOCAL_ROLES
from tests.worlds.reviewed import draw_packet
from timelines.runs import tools

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def packet() -> Packet:
    judged = make_judged_world(3)
    return draw_packet(judged, factories.make_user(judged.study, Role.ADMIN, username="boss"))


def telling(pairing: str) -> list[ServedItem]:
    """Items whose first side alone has a capital."""
    sides = (ServedSide({"row": (words,)}) for words in ("Fever", "fever"))
    one, other = tuple(sides)
    return [ServedItem(f"case-{n}", pairing, one, other) for n in range(6)]


def test_a_draft_stores_the_result_and_an_opened_packet_keeps_it(client, packet):
    boss = User.objects.get(username="boss")
    client.force_login(boss)
    page = reverse("adjudication:packet", args=[packet.public_id])
    assert "Not run." in join_markup(client.get(page))
    step = reverse("adjudication:packet_action", args=[packet.public_id, "guess"])
    shown = join_markup(client.post(step, follow=True))
    packet.refresh_from_db()
    guesses = read_guesses(packet)
    assert {g.pairing for g in guesses} == set(packet.items.values_list("pairing", flat=True))
    assert sum(g.count for g in guesses) == packet.items.count()
    assert f'<th scope="row">{guesses[0].pairing}</th>' in shown
    assert AuditEvent.objects.filter(action=guess_test.TESTED).count() == 1
    reviewer = factories.make_user(packet.study, Role.REVIEWER)
    packets.assign(packet=packet, person=reviewer, by=boss)
    packets.open_packet(packet=packet, by=boss)
    before = Packet.objects.get(pk=packet.pk).guess_test
    with mock.patch.object(guess_test, "_serve_items", return_value=telling("p")):
        (found,) = run_guess_test(packet=packet, by=boss)
    assert found.passed is False
    assert Packet.objects.get(pk=packet.pk).guess_test == before
    assert "Run the guess test" not in join_markup(client.get(page))


def test_the_first_source_of_the_pairing_is_first_whatever_side_it_is_on(packet):
    """Its timeline has the row that the judge's side of it has."""
    for served, item in zip(
        guess_test._serve_items(packet), packet.items.order_by("ordinal"), strict=True
    ):
        finding = item.finding
        is_a = packets.is_first_judged_a(finding.game, item.pairing)
        mine = finding.a_event if is_a else finding.b_event
        assert bool(served.first.texts["row"]) == (mine is not None)
        assert served.pairing == item.pairing


def test_the_command_prints_areas_and_fails_if_sides_are_given_away(packet):
    out = StringIO()
    with (
        mock.patch.object(guess_test, "_serve_items", return_value=telling("a | b")),
        pytest.raises(CommandError, match="give their sources away"),
    ):
        call_command("guess_test", packet.public_id, by="boss", stdout=out)
    assert "a | b: 6 items of 6 cases" in out.getvalue()
    assert "area 1.000" in out.getvalue()
    assert "row: begins with a capital" in out.getvalue()
    with pytest.raises(CommandError, match="no packet 'nothing'"):
        call_command("guess_test", "nothing", by="boss")
    with pytest.raises(CommandError, match="no active account 'nobody'"):
        call_command("guess_test", packet.public_id, by="nobody")


def test_a_test_of_many_items_is_a_job_that_the_page_waits_for(client, packet, monkeypatch):
    monkeypatch.setattr(guess_test, "AT_ONCE", packet.items.count() - 1)
    boss = User.objects.get(username="boss")
    client.force_login(boss)
    page = reverse("adjudication:packet", args=[packet.public_id])
    step = reverse("adjudication:packet_action", args=[packet.public_id, "guess"])
    shown = join_markup(client.post(step, follow=True))
    assert "The guess test is running." in shown
    assert "Run the guess test" not in shown
    client.post(step)
    job = GuessTest.objects.get()
    polled = client.get(page, headers={"HX-Request": "true"})
    assert "The guess test is running." in polled.content.decode()
    assert "HX-Refresh" not in polled
    assert execute_guess_test(job.pk) == JobState.SUCCEEDED
    assert client.get(page, headers={"HX-Request": "true"})["HX-Refresh"] == "true"
    packet.refresh_from_db()
    assert sum(g.count for g in read_guesses(packet)) == packet.items.count()
    event = AuditEvent.objects.get(action=guess_test.TESTED)
    assert event.actor == boss
    assert execute_guess_test(job.pk) is None


def test_a_failed_test_says_why(client, packet, monkeypatch):
    monkeypatch.setattr(guess_test, "AT_ONCE", 0)
    boss = User.objects.get(username="boss")
    job = start_guess_test(packet=packet, by=boss)
    assert job is not None
    with mock.patch.object(guess_test, "_serve_items", side_effect=PermanentFailure("No note.")):
        assert execute_guess_test(job.pk) == JobState.FAILED
    client.force_login(boss)
    shown = join_markup(client.get(reverse("adjudication:packet", args=[packet.public_id])))
    assert "The last guess test failed:" in shown
    assert "No note." in shown
    assert "Run the guess test" in shown


def test_only_admins_of_the_study_may_run_it(packet):
    with pytest.raises(NotAllowed):
        run_guess_test(packet=packet, by=factories.make_user(packet.study, Role.REVIEWER))


#: Draws of the demo's packet. One packet has 20 to 39 items of a pairing: without any sign of a source, an area
#: then varies by 0.13, and a quarter of the packets fail.
DRAWS = 20


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_no_classifier_tells_the_sources_of_the_demo_apart():
    """Sides in their own words and hours gave areas of 0.94, 0.95 and 1.00."""
    with fix_randomness():
        areas, lows = guess_demo_packets()
    assert len(areas) == 3
    for pairing, found in areas.items():
        assert fmean(found) <= 0.55, (pairing, found)
        assert median(lows[pairing]) <= 0.5, (pairing, lows[pairing])


def guess_demo_packets() -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return areas and lower ends of their intervals by pairing."""
    roles = mock.Mock(return_value=ModelRoles({**LOCAL_ROLES, MATCHER: {"provider": "hashing"}}))
    quiet = {"stdout": StringIO(), "stderr": StringIO()}
    with mock.patch.object(tools, "roles", roles):
        call_command("create_demo_accounts", **quiet)
        study = Study.objects.get()
        path = DEMO / "cohort"
        call_command(
            "import_dataset", format="cases", path=path, name="demo", study=study.name, **quiet
        )
        call_command(
            "reconstruct", dataset="demo", backbone="rules", variants="full", inline=True, **quiet
        )
        call_command("judge", dataset=["demo"], sources=demo.JUDGED, inline=True, **quiet)
    areas: dict[str, list[float]] = defaultdict(list)
    lows: dict[str, list[float]] = defaultdict(list)
    for seed in range(DRAWS):
        call_command("draw_packet", label=f"draw {seed}", by="admin", seed=seed, **quiet)
        packet = Packet.objects.get(label=f"draw {seed}")
        for guess in run_guess_test(packet=packet, by=User.objects.get(username="admin")):
            assert guess.area is not None
            assert guess.low is not None
            areas[guess.pairing].append(guess.area)
            lows[guess.pairing].append(guess.low)
    return areas, lows
