"""Blinded samples of concepts: what is drawn, shown and measured."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from accounts.models import AuditEvent, Role
from accounts.permissions import NotAllowed
from cohorts.concepts.actions import decide, make_version
from cohorts.concepts.measuring import Draw, Rate, group_draws, measure, settle
from cohorts.concepts.sampling import (
    answer_item,
    close_sample,
    draw_samples,
    find_next,
    has_decided,
)
from cohorts.concepts.values import ConceptRefused
from cohorts.models import ConceptMember, ConceptSample
from tests import factories
from tests.worlds.cohorts import Event, make_concept, make_stay, make_study_run
from timelines.domain import Polarity

pytestmark = pytest.mark.django_db
GIVEN, ORDERED, FELL = "Andexanet was given", "Andexanet was ordered", "Fell at home"


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
    given, ordered = Event(GIVEN, 1.0, 1.0), Event(ORDERED, 1.0, 1.0)
    denied = Event(GIVEN, 1.0, 1.0, polarity=Polarity.ABSENT)
    return [
        make_stay(run, [given, ordered, denied]),
        make_stay(run, [given, Event(FELL, 1.0, 1.0)]),
        make_stay(run, [Event("Coughed", 1.0, 1.0)]),
    ]


@pytest.fixture
def version(study, stays, person):
    concept = make_concept(study, "reversal agent given", mentions=[GIVEN, ORDERED]).concept
    ordered = concept.members.get(words=ORDERED.lower())
    decide(concept=concept, members=[ordered.public_id], accepted=False, by=person)
    return make_version(concept=concept, by=person)


@pytest.fixture
def reviewer(study):
    return factories.make_user(study, Role.CLINICIAN)


def draw(version, reviewer, person, count=3, seed=918273645):
    (sample,) = draw_samples(
        version=version, reviewers=[reviewer], count=count, seed=seed, by=person
    )
    return sample


def drawn(sample):
    return {
        (i.occurrence.mention, i.occurrence.polarity, i.is_member)
        for i in sample.items.select_related("occurrence")
    }


def test_decoys_are_rejected_first_then_near(version, reviewer, person):
    assert drawn(draw(version, reviewer, person)) == {
        (GIVEN, "present", True),
        (ORDERED, "present", False),
        (GIVEN, "absent", False),
        (FELL, "present", False),
    }
    one = draw(version, reviewer, person, count=1)
    assert drawn(one) == {(GIVEN, "present", True), (ORDERED, "present", False)}


def test_the_seed_decides_the_order(version, reviewer, person):
    def order(seed):
        sample = draw(version, reviewer, person, seed=seed)
        return list(sample.items.values_list("occurrence_id", flat=True))

    assert order(3) == order(3)
    assert len({tuple(order(seed)) for seed in range(6)}) > 1


def test_what_cannot_be_drawn_is_refused(study, version, reviewer, person):
    for count in (0, 201):
        with pytest.raises(ConceptRefused, match="1 to 200"):
            draw(version, reviewer, person, count=count)
    with pytest.raises(NotAllowed):
        draw(version, factories.make_user(study, Role.REVIEWER), person)
    empty = make_concept(study, "empty", mentions=["nothing of the kind"])
    with pytest.raises(ConceptRefused, match="no sentence"):
        draw(empty, reviewer, person)


def test_only_the_reviewer_answers_and_only_until_it_is_closed(version, reviewer, person):
    sample = draw(version, reviewer, person, count=1)
    with pytest.raises(NotAllowed):
        answer_item(sample=sample, ordinal=1, answer="yes", by=person)
    for ordinal, answer in ((1, "maybe"), (9, "yes")):
        with pytest.raises(ConceptRefused):
            answer_item(sample=sample, ordinal=ordinal, answer=answer, by=reviewer)
    with pytest.raises(ConceptRefused, match="every sentence"):
        close_sample(sample=sample, by=reviewer)
    for ordinal in (1, 2):
        answer_item(sample=sample, ordinal=ordinal, answer="yes", by=reviewer)
    close_sample(sample=sample, by=reviewer)
    with pytest.raises(ConceptRefused, match="closed"):
        answer_item(sample=sample, ordinal=1, answer="no", by=reviewer)
    actions = AuditEvent.objects.filter(actor=reviewer).values_list("action", flat=True)
    assert sorted(actions) == ["concept.sample.answer"] * 2 + ["concept.sample.close"]


def test_figures_by_hand(version, reviewer, person):
    sample = draw(version, reviewer, person)
    given = {(GIVEN, True): "yes", (ORDERED, False): "yes", (FELL, False): "no"}
    for item in sample.items.select_related("occurrence"):
        answer = given.get((item.occurrence.mention, item.is_member), "unclear")
        answer_item(sample=sample, ordinal=item.ordinal, answer=answer, by=reviewer)
    # Both occurrences of the member say it; of the rejected one, too. Near ones count in neither.
    members, rejected = measure([sample])
    assert (members, rejected) == (Rate(2, 2, 0), Rate(1, 1, 0))
    # Wilson's lower bound of 2 in 2: 2 / (2 + 1.96²).
    assert members.words == "2 of 2: 100% (95 % CI 34% to 100%)"
    assert Rate(0, 0, 3).words == ""
    assert Rate(1, 2, 1).words.startswith("1 of 2, 1 unclear: 50%")
    assert not has_decided(sample)
    assert has_decided(draw(version, person, person))


def test_the_page_does_not_tell_members_from_decoys(version, reviewer, person, client):
    """Pages of two sentences differ in the sentence and its number."""
    sample = draw(version, reviewer, person)
    client.force_login(reviewer)
    address = reverse("cohorts:concept_sample", args=[sample.public_id])
    pages = set()
    for item in sample.items.select_related("occurrence"):
        text = client.get(address).content.decode()
        assert item.occurrence.mention in text
        plain = re.sub(r"<blockquote.*?</blockquote>", "", text, flags=re.DOTALL)
        plain = re.sub(r'(name="ordinal" value="|<p role="status">)\d+', r"\1", plain)
        pages.add(
            re.sub(
                r'(csrfmiddlewaretoken" value="|X-CSRFToken": ")\w+|nonce[-="]+[\w+/=-]+',
                r"",
                plain,
            )
        )
        answer = reverse("cohorts:concept_sample_answer", args=[sample.public_id])
        client.post(answer, {"ordinal": item.ordinal, "answer": "no"})
    assert len(pages) == 1
    assert str(sample.seed) not in {*re.findall(r"\d+", pages.pop())}
    client.post(reverse("cohorts:concept_sample_close", args=[sample.public_id]))
    page = client.get(reverse("cohorts:concept", args=[version.concept.public_id]))
    assert "0 of 2: 0% (95 % CI 0% to 66%)" in page.content.decode()


def test_a_sample_is_its_reviewers_alone(version, reviewer, person, client):
    sample = draw(version, reviewer, person)
    client.force_login(person)
    address = reverse("cohorts:concept_sample", args=[sample.public_id])
    assert client.get(address).status_code == 404
    concept = client.get(reverse("cohorts:concept", args=[version.concept.public_id]))
    assert "not closed yet" in concept.content.decode()


def test_a_sentence_whose_case_is_closed_is_left_out(version, stays, reviewer, person):
    sample = draw(version, reviewer, person)
    every = {stay.pk for stay in stays}
    assert find_next(sample, every) is None
    item = find_next(sample, {stays[0].pk})
    assert item.occurrence.inventory.encounter_id == stays[1].pk


def test_a_sample_is_drawn_on_the_page(version, reviewer, person, client):
    client.force_login(person)
    address = reverse("cohorts:concept_sample_draw", args=[version.concept.public_id])
    for data in ({"reviewer": "nobody"}, {"reviewer": reviewer.username, "count": "0"}):
        client.post(address, data)
    assert not ConceptSample.objects.exists()
    client.post(address, {"reviewer": reviewer.username, "count": "2"})
    assert ConceptSample.objects.get().reviewer == reviewer
    mine = client.post(address, {"reviewer": person.username})
    assert "/cohorts/samples/" in mine.url
    assert ConceptMember.objects.filter(state="rejected").count() == 1


# Several reviewers.


@pytest.fixture
def both(study, version, reviewer, person):
    """Two samples of one draw."""
    second = factories.make_user(study, Role.CLINICIAN)
    people = [reviewer, second]
    return draw_samples(version=version, reviewers=people, count=3, seed=5, by=person)


def answer_all(sample, given):
    """Answer by mention and polarity; what is not named with no."""
    for item in sample.items.select_related("occurrence"):
        said = given.get((item.occurrence.mention, item.occurrence.polarity), "no")
        answer_item(sample=sample, ordinal=item.ordinal, answer=said, by=sample.reviewer)
    close_sample(sample=sample, by=sample.reviewer)


def test_reviewers_of_a_draw_have_the_same_sentences(both, version, person):
    one, other = both
    assert one.draw == other.draw
    sentences = [set(s.items.values_list("occurrence_id", "is_member")) for s in both]
    assert sentences[0] == sentences[1]
    orders = {
        tuple(sample.items.values_list("occurrence_id", flat=True))
        for seed in range(3)
        for sample in draw_samples(
            version=version,
            reviewers=[one.reviewer, other.reviewer],
            count=3,
            seed=seed,
            by=person,
        )
    }
    assert len(orders) > 3
    assert len(group_draws(ConceptSample.objects.all())) == 4
    audited = AuditEvent.objects.filter(action="concept.sample.draw", object_id=one.public_id)
    assert audited.count() == 1


def test_agreement_by_hand(both):
    one, other = both
    # Two sentences say that it was given; one each was ordered, denied and another finding.
    answer_all(one, {(GIVEN, "present"): "yes", (ORDERED, "present"): "yes"})
    answer_all(other, {(GIVEN, "present"): "yes", (FELL, "present"): "unclear"})
    (pair,) = Draw(tuple(both)).agreements
    # yes/yes 2, yes/no 1, no/no 1: p_o 3/4, p_e (3·2 + 1·2) / 16 = 1/2, so that κ is 1/2.
    assert (pair.same, pair.kappa) == (Rate(3, 4, 1), 0.5)
    assert pair.words == "3 of 4, 1 unclear: 75% (95 % CI 30% to 95%), κ 0.50"
    # The ordered one is a tie.
    assert Draw(tuple(both)).together == (Rate(2, 2, 0), Rate(0, 0, 1))


@pytest.mark.parametrize(
    ("answers", "settled"),
    [
        (["yes", "yes", "no"], "yes"),
        (["no", "unclear"], "no"),
        (["yes", "no"], "unclear"),
        (["unclear"], "unclear"),
        (["", ""], ""),
        (["", "yes"], "yes"),
    ],
)
def test_how_answers_of_a_sentence_settle(answers, settled):
    assert settle(answers) == settled


def test_no_figure_is_shown_before_every_reviewer_has_closed(both, version, person, client):
    one, other = both
    client.force_login(person)
    page = reverse("cohorts:concept", args=[version.concept.public_id])
    answer_all(one, {(GIVEN, "present"): "yes"})
    text = client.get(page).content.decode()
    assert "figures follow when all have closed" in text
    assert "95 % CI" not in text
    answer_all(other, {(GIVEN, "present"): "yes"})
    text = client.get(page).content.decode()
    assert text.count("2 of 2: 100% (95 % CI 34% to 100%)") == 3
    names = f"{one.reviewer.username} and {other.reviewer.username}"
    assert f"The same answer by {names}: 5 of 5: 100%" in text


def test_a_draw_for_several_on_the_page(version, reviewer, person, client):
    client.force_login(person)
    address = reverse("cohorts:concept_sample_draw", args=[version.concept.public_id])
    names = [reviewer.username, person.username, "nobody"]
    mine = client.post(address, {"reviewer": names, "count": "2"})
    (draw,) = group_draws(ConceptSample.objects.all())
    assert {sample.reviewer for sample in draw.samples} == {reviewer, person}
    assert mine.url.endswith(f"/{ConceptSample.objects.get(reviewer=person).public_id}/")


def test_the_page_asks_a_reviewer_first_and_the_figures_say_what_was_seen(
    both, version, person, client
):
    one, other = both
    page = reverse("cohorts:concept", args=[version.concept.public_id])
    client.force_login(one.reviewer)
    text = client.get(page).content.decode()
    assert reverse("cohorts:concept_sample", args=[one.public_id]) in text
    assert GIVEN.lower() not in text.lower()
    assert "Versions and samples" not in text
    for _ in range(2):
        assert "Versions and samples" in client.get(f"{page}?open=members").content.decode()
    assert "Versions and samples" in client.get(page).content.decode()
    assert AuditEvent.objects.filter(action="concept.sample.unblind").count() == 1
    for sample in both:
        answer_all(sample, {})
    client.force_login(other.reviewer)
    assert client.get(page).content.decode().count("saw members before closing") == 1
