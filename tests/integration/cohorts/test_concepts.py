"""Concepts: what is found, decided, frozen and hidden."""

from __future__ import annotations

import hashlib
import json
import re

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from cohorts.concepts.actions import (
    add_rule,
    archive_concept,
    create_concept,
    decide,
    describe_concept,
    end_rule,
    make_version,
)
from cohorts.concepts.counting import Counts, count_members, count_stays, find_hidden, load_quotes
from cohorts.concepts.matching import find_by_meaning, like
from cohorts.concepts.portable import import_concept, write_concept
from cohorts.concepts.proposing import execute_proposing, propose_by_rules, start_proposing
from cohorts.concepts.values import ConceptRefused, Rule, digest_members
from cohorts.models import Concept, ConceptDecision, ConceptProposing
from jobs.models import JobState
from tests import factories
from tests.worlds.cohorts import Event, Row, make_concept, make_stay, make_study_run
from timelines.domain import Polarity
from timelines.models import MentionVector

pytestmark = pytest.mark.django_db
ANDEXANET = "Andexanet alfa was given"
WORDS = Rule("words", "andexanet")


@pytest.fixture
def run():
    return make_study_run(factories.make_dataset())


@pytest.fixture
def study(run):
    return run.study


@pytest.fixture
def person(study):
    return factories.make_user(study, Role.CLINICIAN)


@pytest.fixture
def stays(run):
    """Return three stays: two with the drug, one without."""
    given = Event(ANDEXANET, 1.0, 2.0)
    rows = [Row("med:andexanet alfa:start", 2.0), Row("lab:inr:blood", 1.0, "2")]
    return [
        make_stay(run, [given, Event("Fell at home", -2.0, -2.0)], rows),
        make_stay(run, [given, Event(ANDEXANET.upper(), 3.0, 3.0)]),
        make_stay(
            run,
            [
                Event(ANDEXANET, 1.0, 1.0, polarity=Polarity.ABSENT),
                Event("Andexanet is considered", 1.0, 1.0, polarity=Polarity.PLANNED),
            ],
        ),
    ]


@pytest.fixture
def concept(study, person):
    return create_concept(study=study, name="reversal agent given", by=person)


def found(concept):
    return [(m.words, m.polarity, m.state) for m in concept.members.all()]


def ids(concept, **only):
    return list(concept.members.filter(**only).values_list("public_id", flat=True))


def test_words_propose_what_happened_once_whatever_the_case(stays, concept, person):
    assert add_rule(concept=concept, rule=WORDS, by=person)[1] == 1
    assert found(concept) == [("andexanet alfa was given", "present", "proposed")]
    assert add_rule(concept=concept, rule=WORDS, by=person)[1] == 0
    assert concept.rules.count() == 1


def test_other_polarities_are_members_of_their_own(stays, concept, person):
    add_rule(concept=concept, rule=Rule("words", "andexanet", ()), by=person)
    assert found(concept) == [
        ("andexanet alfa was given", "absent", "proposed"),
        ("andexanet alfa was given", "present", "proposed"),
        ("andexanet is considered", "planned", "proposed"),
    ]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule("drug_class", "reversal agent"), ["andexanet alfa was given"]),
        (Rule("drug_class", "antibiotic"), []),
        (Rule("series", "MED:andexanet*"), ["med:andexanet alfa:start"]),
        (Rule("series", "med:andexanet"), []),
        (Rule("series", "med_andexanet*"), []),
        (Rule("words", "andexanet", lanes=("history",)), []),
        (Rule("words", "andexanet fell"), []),
        (Rule("words", "fall"), []),
    ],
)
def test_what_rules_propose(stays, concept, person, rule, words):
    add_rule(concept=concept, rule=rule, by=person)
    assert [m.words for m in concept.members.all()] == words


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"kind": "magic", "value": "x"}, "kind"),
        ({"kind": "words", "value": " "}, "value"),
        ({"kind": "words", "value": "…"}, "value"),
        ({"kind": "words", "value": "x" * 201}, "value"),
        ({"kind": "series", "value": "**"}, "value"),
        ({"kind": "drug_class", "value": "sweets"}, "value"),
        ({"kind": "words", "value": "x", "polarities": ("maybe",)}, "polarities"),
        ({"kind": "words", "value": "x", "lanes": ("fast",)}, "lanes"),
    ],
)
def test_a_rule_that_could_propose_nothing_is_refused(given, field):
    with pytest.raises(ConceptRefused, match=f"^{field}: "):
        Rule(**given)


def test_signs_of_a_pattern_are_no_wildcards():
    assert like(r"a_b%c\d*") == r"a\_b\%c\\d%"


def test_meaning_proposes_mentions_like_accepted_ones(run, stays, concept, person):
    def store(words, vector):
        key = hashlib.md5(words.encode()).hexdigest()
        MentionVector.objects.create(dataset=run.dataset, model="m", key=key, vector=vector)

    store("andexanet alfa was given", [1.0, 0.0])
    store("fell at home", [0.8, 0.6])
    store("andexanet is considered", [1.0, 0.0])
    assert find_by_meaning(concept, (), search=None) == []
    add_rule(concept=concept, rule=WORDS, by=person)
    decide(concept=concept, members=ids(concept), accepted=True, by=person)
    # Planned mentions are not proposed; the cosine of the other is 0.8.
    (near,) = find_by_meaning(concept, (), search=None)
    assert (near.words, near.found_by) == ("fell at home", "meaning, 0.80")
    assert find_by_meaning(concept, {stays[0].pk}, search=None) == []


def test_counts_and_sentences_leave_closed_cases_out(study, stays, concept, person):
    add_rule(concept=concept, rule=WORDS, by=person)
    add_rule(concept=concept, rule=Rule("series", "med:andexanet*"), by=person)
    mention, series = concept.members.get(kind="mention"), concept.members.get(kind="series")
    decide(concept=concept, members=ids(concept), accepted=True, by=person)
    assert count_members(study, [concept.pk], ()) == {
        mention.pk: Counts(3, 2),
        series.pk: Counts(1, 1),
    }
    assert count_stays(study, [concept.pk], ()) == {concept.pk: 2}
    closed = {stays[0].pk}
    assert count_members(study, [concept.pk], closed) == {mention.pk: Counts(2, 1)}
    assert find_hidden(concept, closed) == {series.pk}
    assert find_hidden(concept, ()) == set()
    (first, second) = load_quotes(study, [mention], closed)[mention.pk]
    assert (first.case, first.uid4) == (stays[1].public_id, "a000")
    assert first.sentence == f"<mark>{ANDEXANET}</mark>."
    assert second.uid4 == "a001"


def test_a_hidden_member_cannot_be_decided(stays, concept, person):
    add_rule(concept=concept, rule=Rule("series", "med:andexanet*"), by=person)
    given = {"concept": concept, "members": ids(concept), "accepted": True, "by": person}
    assert decide(**given, closed={stays[0].pk}) == 0
    assert decide(**given) == 1


def test_decisions_are_attributed_and_the_latest_counts(stays, concept, person):
    add_rule(concept=concept, rule=WORDS, by=person)
    for accepted, reason in ((True, ""), (True, "twice"), (False, "Ordered only.")):
        decide(concept=concept, members=ids(concept), accepted=accepted, reason=reason, by=person)
    made = ConceptDecision.objects.values_list("accepted", "reason", "by")
    assert list(made) == [(True, "", person.pk), (False, "Ordered only.", person.pk)]
    assert concept.members.get().state == "rejected"
    assert AuditEvent.objects.filter(action="concept.reject", actor=person).count() == 1


def test_a_version_freezes_accepted_members_once(stays, concept, person):
    with pytest.raises(ConceptRefused, match="Accept at least one"):
        make_version(concept=concept, by=person)
    add_rule(concept=concept, rule=Rule("words", "andexanet", ()), by=person)
    decide(concept=concept, members=ids(concept, polarity="present"), accepted=True, by=person)
    first = make_version(concept=concept, by=person)
    key = hashlib.md5(ANDEXANET.lower().encode()).hexdigest()
    member = {"kind": "mention", "key": key, "polarity": "present", "words": ANDEXANET.lower()}
    assert (first.number, first.members) == (1, [member])
    written = json.dumps([member], sort_keys=True)
    assert first.sha256 == hashlib.sha256(written.encode()).hexdigest()
    assert make_version(concept=concept, by=person) is None
    decide(concept=concept, members=ids(concept), accepted=True, by=person)
    second = make_version(concept=concept, by=person)
    assert (second.number, len(second.members)) == (2, 3)
    assert digest_members(reversed(second.members)) == second.sha256


def test_only_admins_archive_and_an_archived_concept_rests(study, stays, concept, person):
    with pytest.raises(NotAllowed):
        archive_concept(concept=concept, by=person)
    add_rule(concept=concept, rule=Rule("words", "fell"), by=person)
    archive_concept(concept=concept, by=factories.make_user(study, Role.ADMIN))
    with pytest.raises(ConceptRefused, match="archived"):
        add_rule(concept=concept, rule=WORDS, by=person)
    concept.members.all().delete()
    assert propose_by_rules(study) == 0


def test_names_are_needed_and_unique(study, concept, person):
    for name, words in ((" ", "at most"), ("x" * 101, "at most"), (concept.name, "that name")):
        with pytest.raises(ConceptRefused, match=words):
            create_concept(study=study, name=name, by=person)
    describe_concept(concept=concept, name=concept.name, description=" Given. ", by=person)
    assert concept.description == "Given."
    outsider = factories.make_user(factories.make_study(), Role.ADMIN)
    with pytest.raises(NotAllowed):
        create_concept(study=study, name="other", by=outsider)


def test_rules_propose_what_comes_later_until_they_end(run, study, stays, concept, person):
    rule, _ = add_rule(concept=concept, rule=WORDS, by=person)
    make_stay(run, [Event("andexanet infusion started", 1.0, 1.0)])
    assert propose_by_rules(study) == 1
    make_stay(run, [Event("andexanet bolus given", 1.0, 1.0)])
    end_rule(rule=rule, by=person)
    assert propose_by_rules(study) == 0


@pytest.mark.django_db(transaction=True)
def test_the_job_proposes_and_waiting_once_is_enough(study, stays, concept, person):
    assert start_proposing(study) is None
    add_rule(concept=concept, rule=WORDS, by=person)
    concept.members.all().delete()
    first, second = start_proposing(study), start_proposing(study)
    assert first == second
    assert execute_proposing(first.pk) == JobState.SUCCEEDED
    assert concept.members.count() == 1
    assert execute_proposing(start_proposing(study).pk) == JobState.SUCCEEDED
    assert ConceptProposing.objects.count() == 1


# Files.


def test_a_concept_survives_export_and_import(stays, concept, person):
    add_rule(concept=concept, rule=Rule("words", "andexanet", ()), by=person)
    decide(concept=concept, members=ids(concept, polarity="present"), accepted=True, by=person)
    decide(concept=concept, members=ids(concept, polarity="absent"), accepted=False, by=person)
    version = make_version(concept=concept, by=person)
    content = json.dumps(write_concept(concept)).encode()
    other = factories.make_study()
    colleague = factories.make_user(other, Role.CLINICIAN)
    made, new = import_concept(study=other, content=content, accept=True, by=colleague)
    assert new == 3
    assert found(made) == found(concept)
    assert make_version(concept=made, by=colleague).sha256 == version.sha256
    assert import_concept(study=other, content=content, by=colleague) == (made, 0)
    waiting, _ = import_concept(study=factories.make_study(), content=content, by=None)
    assert {m.state for m in waiting.members.all()} == {"proposed"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"occurrent_concept": 7}, "^occurrent_concept: "),
        ({"name": 3}, "^name: "),
        ({"rules": {}}, "^rules: expected a list"),
        ({"rules": [{"kind": "words", "value": 1}]}, r"^rules\[0\]\.value: "),
        ({"rules": [{"kind": "x", "value": "y"}]}, r"^rules\[0\]\.kind: "),
        ({"rules": ["x"]}, r"^rules\[0\]\.kind: "),
        ({"members": [{"kind": "mention", "words": "x"}]}, r"^members\[0\]\.polarity: "),
        ({"members": [{"kind": "series", "words": "\0"}]}, r"^members\[0\]\.words: "),
        ({"members": [{"kind": "series", "words": "x", "state": "y"}]}, r"^members\[0\]\.state: "),
        ({"members": [{"kind": "series", "words": "x", "polarity": "present"}]}, "none for a"),
    ],
)
def test_a_bad_file_names_the_field_and_changes_nothing(study, person, change, words):
    good = {"occurrent_concept": 1, "name": "x", "rules": [], "members": []}
    with pytest.raises(ConceptRefused, match=words):
        import_concept(study=study, content=json.dumps(good | change).encode(), by=person)
    assert not Concept.objects.exists()


@pytest.mark.parametrize("content", [b"{\n}}", b"\xff", b"[]", b"[" * 100_000])
def test_other_files_are_refused(study, person, content):
    with pytest.raises(ConceptRefused):
        import_concept(study=study, content=content, by=person)


def test_the_command_imports_the_starter_set(study, stays, tmp_path, capsys):
    call_command("import_concepts", study=study.name)
    assert Concept.objects.count() == 8
    given = Concept.objects.get(name="reversal agent given")
    # Its rules ask for medications; the words of this stay are findings.
    assert [m.words for m in given.members.all()] == ["med:andexanet alfa:start"]
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    with pytest.raises(CommandError, match=r"bad\.json: line 1"):
        call_command("import_concepts", str(bad), study=study.public_id)
    with pytest.raises(CommandError, match="no account"):
        call_command("import_concepts", study=study.name, by="nobody")
    with pytest.raises(CommandError, match="no study"):
        call_command("import_concepts", study="nowhere")


def test_the_concepts_of_the_demo_are_decided_by_the_admin(study):
    admin = factories.make_user(study, Role.ADMIN)
    files = sorted(map(str, (settings.BASE_DIR / "demo" / "concepts").glob("*.json")))
    for _ in range(2):
        call_command("import_concepts", *files, study=study.name, by=admin.username)
    made = Concept.objects.order_by("name")
    assert [(c.name, c.versions.count()) for c in made] == [
        ("antibiotic given", 1),
        ("reversal agent given", 1),
    ]
    assert {m.state for m in made[1].members.all()} == {"accepted"}
    assert made[0].members.filter(state="rejected").count() == 12


# Pages.


@pytest.fixture
def enter(client, person):
    client.force_login(person)
    return client


def test_from_a_rule_to_a_version_on_pages(stays, concept, person, enter):
    page = reverse("cohorts:concept", args=[concept.public_id])
    assert b"No members here" in enter.get(page).content
    add = reverse("cohorts:concept_rule_add", args=[concept.public_id])
    enter.post(add, {"kind": "words", "value": "andexanet", "polarities": ["present"]})
    shown = enter.get(page).content.decode()
    assert f"<mark>{ANDEXANET}</mark>" in shown
    seen = AuditEvent.objects.filter(action="cohort.case").values_list("object_id", flat=True)
    assert set(seen) == {stays[0].public_id, stays[1].public_id}
    assert b"<strong>1</strong> proposed member" in enter.get(reverse("cohorts:concepts")).content
    decision = {"members": ids(concept), "answer": "accept"}
    enter.post(reverse("cohorts:concept_decide", args=[concept.public_id]), decision)
    enter.post(reverse("cohorts:concept_version", args=[concept.public_id]))
    assert concept.versions.get().number == 1
    file = enter.get(reverse("cohorts:concept_export", args=[concept.public_id]))
    assert json.loads(file.content)["version"]["sha256"] == concept.versions.get().sha256
    sent = {"content": file.content.decode()}
    again = enter.post(reverse("cohorts:concept_import"), sent, follow=True)
    assert "Nothing new was found." in again.content.decode()


def test_members_are_filtered_by_words(run, concept, person, enter):
    names = ["andexanet 800 mg", "andexanet 400 mg", "100% \u2018cut\u2019 <i>"]
    make_stay(run, [Event(name, 1.0, 1.0) for name in names])
    for value in ("andexanet", "100"):
        add_rule(concept=concept, rule=Rule("words", value), by=person)
    address = reverse("cohorts:concept_filter", args=[concept.public_id])

    def show(words):
        answer = enter.post(f"{address}?state=proposed", {"words": words}, follow=True)
        assert words.split()[:1] == [] or words.split()[0] not in answer.redirect_chain[0][0]
        return {line.member.words for _, lines in answer.context["groups"] for line in lines}

    assert show(" MG  Andexanet ") == set(names[:2])
    assert show("andexanet 4") == {names[1]}
    assert show("%") == {names[2]}
    assert show("_") == set()
    assert show(" ") == set(names)
    show("400")
    page = enter.get(reverse("cohorts:concept", args=[concept.public_id]))
    assert "1 of 3 members have these words" in page.content.decode()
    other = make_concept(concept.study, "other", mentions=["x"]).concept
    assert enter.get(reverse("cohorts:concept", args=[other.public_id])).context["words"] == ""


def test_words_of_notes_are_escaped(run, concept, person, enter):
    make_stay(run, [Event("<b>andexanet</b> was given", 1.0, 1.0)])
    add_rule(concept=concept, rule=WORDS, by=person)
    shown = enter.get(reverse("cohorts:concept", args=[concept.public_id])).content.decode()
    assert "<mark>&lt;b&gt;andexanet&lt;/b&gt; was given</mark>" in shown
    assert "<b>andexanet" not in shown


def test_a_concept_of_another_study_is_not_found(enter):
    other = make_concept(factories.make_study(), "other", mentions=["x"]).concept
    for name in ("concept", "concept_export"):
        assert enter.get(reverse(f"cohorts:{name}", args=[other.public_id])).status_code == 404
    decision = reverse("cohorts:concept_decide", args=[other.public_id])
    assert enter.post(decision, {"answer": "reject"}).status_code == 404


def test_uses_are_counted(run, study, enter):
    from cohorts.models import Trajectory

    version = make_concept(study, "fever", mentions=["fever"])
    view = Trajectory.objects.create(study=study, dataset=run.dataset, name="v", source="note")
    view.concepts.add(version)
    page = reverse("cohorts:concept", args=[version.concept.public_id])
    assert b"used in 1 analysis" in enter.get(page).content


# Cases that are closed to a person.


@pytest.fixture
def close(monkeypatch):
    """Return a function that closes stays to everybody."""

    def close(*stays):
        ids = frozenset(stay.public_id for stay in stays)
        monkeypatch.setattr("timelines.access.closed.closed_objects", lambda user, kind: ids)

    return close


def test_pages_are_the_same_whether_a_closed_case_has_members(
    run, study, stays, concept, person, enter, close
):
    """A member of the closed case alone changes no byte of a page."""
    add_rule(concept=concept, rule=WORDS, by=person)
    decide(concept=concept, members=ids(concept), accepted=True, by=person)
    make_version(concept=concept, by=person)
    secret = make_stay(run, [Event("andexanet zqsecret", 1.0, 1.0)])
    close(secret)
    page = reverse("cohorts:concept", args=[concept.public_id])
    addresses = [reverse("cohorts:concepts"), reverse("home")]
    addresses += [f"{page}?state={state}" for state in ("proposed", "accepted", "rejected")]

    def read():
        shown = [enter.get(address).content.decode() for address in addresses]
        return [re.sub(r'(value="|: ")[A-Za-z0-9]{64}"|nonce-?=?"?[\w+/=-]+', "", s) for s in shown]

    before = read()
    assert propose_by_rules(study) == 1
    assert concept.members.filter(words="andexanet zqsecret").exists()
    assert read() == before
    for accepted in (True, False):
        decide(
            concept=concept,
            members=ids(concept, words="andexanet zqsecret"),
            accepted=accepted,
            by=person,
        )
        assert read() == before


def test_what_depends_on_all_cases_is_closed_as_a_whole(stays, concept, person, enter, close):
    add_rule(concept=concept, rule=WORDS, by=person)
    decide(concept=concept, members=ids(concept), accepted=True, by=person)
    version = make_version(concept=concept, by=person)
    close(stays[2])
    page = enter.get(reverse("cohorts:concept", args=[concept.public_id])).content.decode()
    assert "Cases of this study are closed to you" in page
    assert version.sha256[:12] not in page
    assert enter.get(reverse("cohorts:concept_export", args=[concept.public_id])).status_code == 403
    for name in ("concept_version", "concept_sample_draw"):
        address = reverse(f"cohorts:{name}", args=[concept.public_id])
        assert enter.post(address).status_code == 403
    expose = AuditEvent.objects.filter(action="cohort.case", object_id=stays[2].public_id)
    assert not expose.exists()
