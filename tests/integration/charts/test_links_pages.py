"""Links between notes on the case page and at its addresses."""

from __future__ import annotations

import json
import re

import pytest
from django.urls import reverse

from accounts.models import Role
from tests import factories
from tests.integration.charts.linked import STOPPED, WBC, find_link, run, words
from tests.support.pages import extract_text
from timelines.authoring.actions import start_authoring
from timelines.cases.choices import load_choices
from timelines.cases.story import load_story, load_story_lines
from timelines.curation import corrections
from timelines.curation.corrections import Corrected
from timelines.curation.curated import find_current
from timelines.models import (
    Authoring,
    Unlinking,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_page_names_the_notes_and_the_inspector_shows_all_sources(client, encounter):
    base = run(encounter)
    found = words(base)
    anna = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    client.force_login(anna)
    page = client.get(
        reverse("timelines:case", args=[encounter.public_id]), {"t": base.public_id}
    ).content.decode()
    data = json.loads(re.search(r'id="case-data"[^>]*>(.*?)</script>', page, re.S).group(1))
    assert [note["k"] for note in data["notes"]] == [
        "Admission note",
        "Progress note",
        "Discharge summary",
    ]
    items = {item["u"]: item for item in data["items"]}
    one, other = (items[found[w].occurrence.uid4] for w in WBC)
    assert (one["nt"], one["nl"], one.get("hd")) == (1, [2], None)
    assert (other["nt"], other["nl"], other["hd"]) == (2, [1], one["u"])
    assert "nl" not in items[found[STOPPED].occurrence.uid4]
    assert page.count('role="tab"') == 4 + 4
    chain = reverse("timelines:chain", args=[encounter.public_id, other["u"]])
    text = extract_text(client.get(chain, {"t": base.public_id}))
    assert "One event in 2 notes" in text
    assert "The note states it: “WBC 15.2”" in text, "the words that gave the time"
    assert "This morning WBC 15.2" in text
    assert "On hospital day 2 WBC was 15.2" in text
    assert "alone: HD 2" in text
    assert "Linked with “white blood cell count 15.2, this morning” by the rules" in text
    assert "same value" in text


class Json:
    """A person's JSON to the addresses of links."""

    def __init__(self, client, person):
        self.client = client
        client.force_login(person)

    def post(self, name, *args, **body):
        answer = self.client.post(
            reverse(f"timelines:{name}", args=args), body, content_type="application/json"
        )
        return answer.status_code, answer.json() if answer.content[:1] == b"{" else {}


def test_links_are_undone_and_made_again_through_their_addresses(client, encounter):
    base = run(encounter)
    found = words(base)
    study, case = encounter.dataset.study, encounter.public_id
    uid, other = (found[w].occurrence.uid4 for w in WBC)
    link = find_link(WBC)
    boris = factories.make_user(factories.make_study(), Role.CLINICIAN)
    address = case, uid, link.public_id
    assert Json(client, boris).post("link_undo", *address)[0] == 404
    reviewer = factories.make_user(study, Role.REVIEWER)
    assert Json(client, reviewer).post("link_undo", *address)[0] == 403
    anna = Json(client, factories.make_user(study, Role.CLINICIAN))
    elsewhere = case, found[STOPPED].occurrence.uid4, link.public_id
    assert anna.post("link_undo", *elsewhere)[0] == 404, "a link of other occurrences"
    status, answer = anna.post("link_undo", *address, timeline=base.public_id, reason="no")
    assert (status, answer) == (200, {"timeline": find_current(base).public_id})
    chain = reverse("timelines:chain", args=[case, uid])
    text = extract_text(client.get(chain, {"t": answer["timeline"]}))
    assert "undone by" in text
    assert "Link again" in text
    assert "One event in" not in text
    assert anna.post("link_undo", *address, timeline=base.public_id)[0] == 422
    assert anna.post("link", case, uid, timeline=base.public_id, other="ffff")[0] == 404
    status, answer = anna.post("link", case, uid, timeline=base.public_id, other=other)
    assert (status, answer) == (200, {"timeline": base.public_id})
    assert anna.post("link", case, uid, timeline=base.public_id, other=other)[0] == 422


def test_an_unfinished_author_sees_no_way_to_answer(client, encounter):
    base = run(encounter)
    person = factories.make_user(encounter.dataset.study, Role.CLINICIAN, Role.REVIEWER)
    start_authoring(encounter=encounter, by=person, protocol=Authoring.Protocol.ASSISTED)
    link = find_link(WBC)
    status, _ = Json(client, person).post(
        "link_undo",
        encounter.public_id,
        link.first.uid4,
        link.public_id,
        timeline=base.public_id,
    )
    assert status == 403
    assert not Unlinking.objects.exists()


def test_notes_that_differ_are_named_in_the_inspector(client, encounter):
    base = run(encounter)
    anna = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    found = words(base)
    for place, hours in zip(WBC, ("+16", "+40"), strict=True):
        corrections.correct(
            base=base,
            occurrence=found[place].occurrence,
            what=Corrected(hours, reason="seen"),
            by=anna,
        )
    client.force_login(anna)
    chain = reverse("timelines:chain", args=[encounter.public_id, found[WBC[0]].occurrence.uid4])
    text = extract_text(client.get(chain, {"t": find_current(base).public_id}))
    assert "The notes differ. Discharge summary has" in text
    assert "so each has its own" in text


def test_the_story_has_an_event_of_several_notes_once(encounter):
    base = run(encounter)
    choices = load_choices(encounter)
    choice = choices.find(base.public_id)
    story = load_story(encounter, choice, load_story_lines(encounter, choice, choices))
    scans = [m for day in story.days for m in day.milestones if "CT" in m.words]
    assert len(scans) == 1
    assert len(scans[0].uids) == 2
