"""A stay with several notes: the run that reads them, and its pages."""

from __future__ import annotations

import pytest
from django.urls import reverse

from accounts.models import AuditEvent, Role
from adjudication.judge_runs.data import load_candidates, load_material
from ehr.models import Note, NotePart
from ehr.record.charts import find_note, find_text, list_notes
from tests import factories
from tests.integration.charts.linked import make_chart, run
from tests.support.pages import extract_text
from timelines.evaluations.data import load_events
from timelines.models import Entry, Inventory, Occurrence, Timeline
from timelines.runs.stay_text import read_texts
from timelines.search.meaning import load_occurrences

pytestmark = pytest.mark.django_db(transaction=True)

SUMMARY = """HISTORY OF PRESENT ILLNESS:
64 year old man with two days of cough.

HOSPITAL COURSE:
On hospital day 2 a chest CT showed a pleural effusion. He was discharged home.
"""
NOTES = (
    ("progress note", 20.0, "This morning WBC 15.2. Vancomycin was started yesterday evening.\n"),
    ("discharge summary", 95.0, SUMMARY),
    ("admission note", 2.0, "HPI: two days of cough.\n\nExam: temperature 38.9.\n"),
)


@pytest.fixture
def encounter(light_models):
    return make_chart(NOTES)


def spans(timeline: Timeline) -> dict[str, str]:
    """Mention → the words of the note that its span covers."""
    assert timeline.inventory is not None
    text = timeline.inventory.note.text
    found = Occurrence.objects.filter(inventory=timeline.inventory_id)
    return {o.mention: text[o.start : o.end] for o in found}


def test_a_run_reads_the_kinds_of_notes_that_it_names(encounter):
    assert find_note(encounter).text == SUMMARY
    assert find_text(encounter, {"progress note"}).text == NOTES[0][2]
    assert find_text(encounter, {"nursing note"}) is None
    chart = find_text(encounter, None)
    assert chart == find_text(encounter, None), "it is stored once"
    assert chart.composed
    parts = NotePart.objects.filter(chart=chart)
    assert [chart.text[p.start : p.end] for p in parts] == [n.text for n in list_notes(encounter)]
    assert [n.kind for n in list_notes(encounter)] == [
        "admission note",
        "progress note",
        "discharge summary",
    ]
    assert find_note(encounter).text == SUMMARY, "a chart is no note of the stay"


def test_a_chart_has_what_each_of_its_notes_has(encounter):
    whole, alone = run(encounter, "all"), run(encounter, "discharge summary")
    assert alone.inventory.note.text == SUMMARY
    assert set(spans(alone).values()) < set(spans(whole).values())
    times = {
        e.occurrence.mention: e.time
        for e in Entry.objects.filter(timeline=whole).select_related("occurrence")
    }
    (started,) = (t for m, t in times.items() if m.startswith("vancomycin"))
    (counted,) = (t for m, t in times.items() if m.startswith("white blood cell"))
    (warm,) = (t for m, t in times.items() if m.startswith("temperature"))
    # Admission is at 14:38; the progress note was written at 10:38 of the next day.
    assert started == pytest.approx(4.9, abs=1.5), "yesterday evening"
    assert counted == pytest.approx(17.0, abs=3.0), "this morning"
    assert warm == pytest.approx(2.0, abs=0.5), "when the admission note was written"


def test_places_of_a_summary_and_of_a_chart_agree_in_their_common_text(encounter):
    whole, alone = run(encounter, "all"), run(encounter, "discharge summary")
    text = read_texts(encounter, (whole.inventory_id, alone.inventory_id))
    for timeline in (whole, alone):
        for o in timeline.inventory.occurrences.all():
            start, end = (text.place(timeline.inventory_id, at) for at in (o.start, o.end))
            assert text.text[start:end] == timeline.inventory.note.text[o.start : o.end]
    events = load_events([whole, alone])
    of_chart = {(e.start, e.end) for e in events[whole.pk]}
    assert {(e.start, e.end) for e in events[alone.pk]} < of_chart
    material = load_material(encounter, [whole, alone])
    for candidate, _ in load_candidates(alone, material.text):
        assert (candidate.start, candidate.end) in of_chart
    same = read_texts(encounter, (alone.inventory_id, alone.inventory_id))
    assert (same.text, same.moves) == (SUMMARY, {})


def test_the_case_page_shows_the_chart_and_opens_other_notes(client, encounter):
    alone, whole = run(encounter, "discharge summary"), run(encounter, "all")
    reader = factories.make_user(encounter.dataset.study, Role.CLINICIAN)
    client.force_login(reader)
    address = reverse("timelines:case", args=[encounter.public_id])
    page = client.get(address, {"t": whole.public_id}).content.decode()
    starts = NotePart.objects.filter(chart=whole.inventory.note).values_list("start", flat=True)
    assert len(starts) == 3
    for start in starts:
        assert f'id="note-at-{start}"' in page
        assert f'data-note-tab="{start}"' in page
        assert f'data-note-part="{start}"' in page
    assert "other-notes" not in page
    page = client.get(address, {"t": alone.public_id}).content.decode()
    assert "2 other notes" in page
    other = reverse("ehr:note", args=[encounter.public_id, 2])
    assert other in page
    assert "Vancomycin" not in page
    response = client.get(other, headers={"HX-Request": "true"})
    assert NOTES[0][2].strip() in extract_text(response)
    event = AuditEvent.objects.get(action="note.open")
    assert (event.actor, event.object_id) == (reader, encounter.public_id)
    assert client.get(reverse("ehr:note", args=[encounter.public_id, 4])).status_code == 404


def test_a_changed_note_is_not_shown(client, encounter):
    client.force_login(factories.make_user(encounter.dataset.study, Role.CLINICIAN))
    Note.objects.filter(kind="progress note").update(sha256="0" * 64)
    response = client.get(reverse("ehr:note", args=[encounter.public_id, 2]))
    assert "not the one that was imported" in extract_text(response)
    assert "Vancomycin" not in response.content.decode()


def test_search_finds_the_sentence_and_the_event_of_a_chart(client, encounter):
    whole = run(encounter, "all")
    encounter.dataset.study.refresh_from_db()
    client.force_login(factories.make_user(encounter.dataset.study, Role.CLINICIAN))
    found = extract_text(client.post(reverse("timelines:search"), {"text": "vancomycin"}))
    assert found.count("Vancomycin was started yesterday evening") == 1
    assert Inventory.objects.filter(pk=whole.inventory_id, note__composed=True).exists()
    assert load_occurrences([whole.case_run.run_id], [encounter.pk])
