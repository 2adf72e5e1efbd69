"""Search by words: what is found, how it is shown, and to whom."""

import pytest
from django.db import connection
from django.urls import reverse

from accounts.models import AuditEvent, Role
from tests import factories
from tests.support.pages import extract_text
from tests.worlds.authored import make_draft
from timelines.domain import TimelineKind
from timelines.models import StudyTimeline
from timelines.search.terms import parse_terms
from timelines.search.words import write_query

pytestmark = pytest.mark.django_db

NOTE = (
    "Admitted with a bleed on apixaban. No chest pain <b>today</b>.\n\n"
    "Given vancomycin 1 g & heparin 5,000 units; bleeding stopped. Later chest and back pain."
)


@pytest.fixture
def study():
    return factories.make_study()


@pytest.fixture
def reader(study):
    return factories.make_user(study, Role.CLINICIAN, username="reader")


@pytest.fixture
def web(client, reader):
    """Asks for an address as a clinician of the study."""
    client.force_login(reader)
    return client


def make_case(study, text=NOTE, *phrases, mention="", run=None, **given):
    """A stay whose phrases are occurrences of the study timeline, from 1 h on."""
    dataset = run.dataset if run else factories.make_dataset(study)
    case = factories.make_encounter(dataset, **given)
    note = factories.make_note(case, text)
    run = run or factories.make_run(dataset)
    inventory = factories.make_inventory(note, run)
    occurrences = [factories.make_occurrence(inventory, phrase) for phrase in phrases]
    if mention:
        occurrences.append(factories.make_occurrence(inventory, mention=mention))
    case_run = factories.make_case_run(run, case, inventory)
    times = {o: float(n) for n, o in enumerate(occurrences, start=1)}
    factories.make_timeline(inventory, times, kind=TimelineKind.REVISED, case_run=case_run)
    StudyTimeline.objects.get_or_create(dataset=dataset, run=run)
    return case


def search(web, text, **more):
    return web.post(reverse("timelines:search"), {"text": text, **more})


def marked(web, text):
    """Return the sentences of each case, marked words in brackets."""
    answer = search(web, text)
    if "hits" not in answer.context:
        return []
    return [
        ["".join(f"[{p}]" if m else p for p, m in hit.pieces) for hit in case.hits]
        for case in answer.context["hits"]
    ]


BLEED = "Admitted with a [bleed] on apixaban."
BLEEDING = "Given vancomycin 1 g & heparin 5,000 units; [bleeding] stopped."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("bleeds", [BLEED, BLEEDING]),
        ("BLEED", [BLEED, BLEEDING]),
        ("blee", None),
        ("blee*", [BLEED, BLEEDING]),
        ('"no chest pain"', ["[No chest pain] <b>today</b>."]),
        ('"chest and pain"', None),
        (
            "heparin apixaban",
            [
                "Admitted with a bleed on [apixaban].",
                "Given vancomycin 1 g & [heparin] 5,000 units; bleeding stopped.",
            ],
        ),
        ("heparin warfarin", None),
        (
            "vanco* bleeding",
            [
                "Given [vancomycin] 1 g & heparin 5,000 units; [bleeding] stopped.",
                BLEED,
            ],
        ),
        ("5,000", ["Given vancomycin 1 g & heparin [5,000] units; bleeding stopped."]),
        ("- & ' \" * () :*", None),
        ("a'b\\ :* <->", None),
    ],
)
def test_words_phrases_and_beginnings_are_found_in_their_sentences(web, study, text, found):
    make_case(study)
    assert marked(web, text) == ([] if found is None else [found])


def test_a_hit_has_the_time_and_address_of_its_occurrence_and_is_escaped(web, study):
    case = make_case(study, NOTE, "apixaban", "No chest pain", title="Bleed")
    body = search(web, '"chest pain"').content.decode()
    assert "[" not in body.split("search-results")[1].split("<mark>")[0][-40:]
    assert "&lt;b&gt;today&lt;/b&gt;" in body
    assert "<mark>chest pain</mark>" in body
    assert f'{reverse("timelines:case", args=[case.public_id])}?o=a001"' in body
    assert "HD 1 · 16:38" in extract_text(search(web, '"chest pain"'))
    assert "in the note" in extract_text(search(web, "vancomycin"))


def test_occurrences_lead_and_are_found_by_a_mention_that_the_note_lacks(web, study):
    only_note = make_case(study, case_id="a")
    with_mention = make_case(study, "Given a blood thinner.", mention="apixaban 5 mg", case_id="b")
    found = search(web, "apixaban").context["hits"]
    assert [c.encounter for c in found] == [with_mention, only_note]
    assert [hit.uid4 for hit in found[0].hits] == ["a000"]


def test_an_occurrence_belongs_to_its_own_note(web, study):
    case = make_case(study, "Apixaban was given.", "Apixaban")
    factories.make_note(case, "Warfarin was given.")
    (found,) = search(web, "given").context["hits"]
    assert sorted(hit.uid4 for hit in found.hits) == ["", ""]
    (found,) = search(web, "warfarin").context["hits"]
    assert [hit.uid4 for hit in found.hits] == [""]
    (found,) = search(web, "apixaban").context["hits"]
    assert [hit.uid4 for hit in found.hits] == ["a000"]


def test_only_open_cases_of_the_study_are_found_and_other_runs_are_not(web, study, reader):
    mine = make_case(study)
    make_case(factories.make_study())
    closed = make_case(study, NOTE, "apixaban")
    make_draft(closed, reader)
    run = factories.make_run(mine.dataset)
    note = mine.notes.get()
    other = factories.make_inventory(note, run)
    factories.make_occurrence(other, "apixaban", mention="edoxaban")
    factories.make_case_run(run, mine, other)
    assert [c.encounter for c in search(web, "apixaban").context["hits"]] == [mine]
    assert search(web, "edoxaban").context["hits"] == []


def test_the_trail_has_the_shown_cases_without_the_words(web, study, reader):
    with_time = make_case(study, NOTE, "apixaban")
    in_note = make_case(study)
    search(web, "apixaban")
    events = AuditEvent.objects.filter(actor=reader, action__endswith="search")
    assert {(e.action, e.object_id) for e in events} == {
        ("case.search", with_time.public_id),
        ("note.search", in_note.public_id),
    }
    assert all("apixaban" not in str(e.detail) for e in events)
    assert "apixaban" not in str(dict(web.session))


def test_every_parsed_query_is_one_that_postgresql_reads(study):
    """Signs, quotes and operators in words are words, not syntax."""
    signs = ["'", '"', "\\", ":", "*", "&", "|", "!", "(", ")", "<->", "%", "%s", "\x01", "é", "ß"]
    texts = [a + b + c for a in signs for b in ("", "word ") for c in signs]
    with connection.cursor() as cursor:
        for text in texts:
            if terms := parse_terms(text):
                query, values = write_query(terms)
                cursor.execute(f"SELECT to_tsvector('simple', 'x') @@ {query}", values)


def test_pages_follow_each_other_and_neighbours_walk_them(web, study):
    first = make_case(study, NOTE, "apixaban", case_id="c00")
    run = StudyTimeline.objects.get(dataset=first.dataset).run
    for n in range(24):
        make_case(study, NOTE, "apixaban", run=run, case_id=f"d{n:02}")
    one, two = search(web, "apixaban").context, search(web, "apixaban", page=2).context
    ids = [c.encounter.public_id for c in (*one["hits"], *two["hits"])]
    assert (len(one["hits"]), len(two["hits"]), len(set(ids))) == (20, 5, 25)
    assert web.session["case_list"]["ids"] == ids
