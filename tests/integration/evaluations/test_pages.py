"""Evaluation pages' responses: figures, files, cases, pairs, access.

Text must stay text.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Role
from jobs.models import JobState
from tests import factories
from tests.functional.cases.case_world import MARKUP, build_world
from tests.made_report import REVISED, TEXT, make_figures, make_report
from tests.support.pages import extract_text
from tests.worlds.evaluated import evaluate_world, make_evaluation, store_case
from timelines.access.authoring import make_source
from timelines.domain import TimelineKind
from timelines.evaluation.plain import case_from_plain, report_to_plain
from timelines.evaluation.values import Basis, CaseResult, CaseSource, MatchedPair, SourceKey
from timelines.models import Authoring, Evaluation

pytestmark = pytest.mark.django_db

HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def world():
    cache.clear()
    return build_world()


@pytest.fixture
def evaluation(world):
    return evaluate_world(world)


@pytest.fixture
def web(client, world):
    client.force_login(world.clinician)
    return client


@pytest.fixture
def admin_web(client, world):
    client.force_login(factories.make_user(world.study, Role.ADMIN))
    return client


def build_address(evaluation, *more: str, name: str = "evaluation") -> str:
    return reverse(f"timelines:{name}", args=[evaluation.public_id, *more])


def drill(evaluation, world) -> str:
    return build_address(evaluation, world.encounter.public_id, name="evaluation_case")


# The list and the form


def test_an_empty_list_says_what_would_be_here_and_how_to_get_it(client, world):
    client.force_login(world.clinician)
    shown = extract_text(client.get(reverse("timelines:evaluations")))
    assert "No evaluation yet An evaluation compares timelines with a reference" in shown
    assert "A study admin starts evaluations" in shown
    client.force_login(factories.make_user(world.study, Role.ADMIN))
    assert "manage.py evaluate" in extract_text(client.get(reverse("timelines:evaluations")))


def test_the_list_asks_again_while_one_is_under_way_and_then_stops(web, world):
    waiting = make_evaluation(
        world.study, [world.encounter.dataset], state=JobState.QUEUED, label="waiting"
    )
    address = reverse("timelines:evaluations")
    body = web.get(address).content.decode()
    assert 'hx-trigger="every 3s"' in body
    assert "X-Background-Poll" in body
    Evaluation.objects.filter(pk=waiting.pk).update(state=JobState.CANCELLED)
    poll = web.get(address, **HTMX).content.decode()
    assert poll.startswith("{#") is False
    assert "<html" not in poll
    assert "hx-get" not in poll


def test_progress_is_shown_until_the_end_which_reloads_the_page(web, world):
    running = make_evaluation(world.study, [world.encounter.dataset], state=JobState.QUEUED)
    assert "waiting for a worker on the queue “embed”" in extract_text(
        web.get(build_address(running))
    )
    Evaluation.objects.filter(pk=running.pk).update(
        progress={"done": 3, "total": 12, "words": "compared 3 of 12 cases"}, attempt=1
    )
    poll = web.get(build_address(running), **HTMX)
    assert 'hx-trigger="every 2s"' in poll.content.decode()
    assert "HX-Refresh" not in poll
    Evaluation.objects.filter(pk=running.pk).update(
        state=JobState.FAILED, reasons=[f"attempt 1: no embedder {MARKUP}"]
    )
    poll = web.get(build_address(running), **HTMX)
    assert poll["HX-Refresh"] == "true"
    assert "hx-get" not in poll.content.decode()
    assert "attempt 1: no embedder &lt;img" in web.get(build_address(running)).content.decode()


def test_an_admin_starts_cancels_and_repeats_one(admin_web, world):
    asked = {
        **{
            "datasets": [world.encounter.dataset.public_id],
            "reference": "reference",
            "bases": ["span"],
            "method": "assignment",
        },
        **{
            "threshold": "0.2",
            "iou": "0.5",
            "resamples": "50",
            "rho_sweep": "0.1, 0, 0.1",
            "label": "mine",
        },
    }
    answer = admin_web.post(reverse("timelines:evaluation_new"), asked)
    found = Evaluation.objects.get()
    assert answer["Location"] == build_address(found)
    assert found.config["bases"] == ["span"]
    assert (found.config["method"], found.config["threshold"], found.config["resamples"]) == (
        "assignment",
        0.2,
        50,
    )
    assert (found.config["rho_sweep"], found.config["iou"]) == ([0.0, 0.1], 0.5)
    assert (
        admin_web.post(build_address(found, "cancel", name="evaluation_action")).status_code == 302
    )
    found.refresh_from_db()
    assert found.state == JobState.CANCELLED
    assert "Nothing was changed" in extract_text(
        admin_web.post(build_address(found, "cancel", name="evaluation_action"), follow=True)
    )
    admin_web.post(build_address(found, "retry", name="evaluation_action"))
    found.refresh_from_db()
    assert found.state == JobState.QUEUED
    assert (
        admin_web.post(build_address(found, "pause", name="evaluation_action")).status_code == 404
    )


@pytest.mark.parametrize(
    ("sweep", "words"),
    [("0, x", "Enter numbers separated by commas"), ("0.7", "Enter values of ρ between 0 and 0.5")],
)
def test_a_sweep_that_is_none_is_refused_with_words(admin_web, world, sweep, words):
    asked = {
        "datasets": [world.encounter.dataset.public_id],
        "reference": "reference",
        "bases": ["span"],
        "method": "greedy",
    }
    answer = admin_web.post(
        reverse("timelines:evaluation_new"),
        {**asked, "threshold": "0.1", "resamples": "10", "rho_sweep": sweep},
    )
    assert words in extract_text(answer)
    assert not Evaluation.objects.exists()


def test_a_form_without_anything_to_compare_says_so(client):
    study = factories.make_study()
    client.force_login(factories.make_user(study, Role.ADMIN))
    assert "Nothing to compare yet" in extract_text(client.get(reverse("timelines:evaluation_new")))


# One evaluation


def test_the_main_table_has_both_readings_and_marks_the_best_over_the_same_cases(web, evaluation):
    shown = extract_text(web.get(build_address(evaluation)))
    assert (
        "Span recall Concordance AULTC Median error, h Within tolerance available missing as 0 available"
        in shown
    )
    assert "revised 4 0.742 0.712 to 0.772 0.742 best" in shown
    assert "text-only 3 of 4 0.512 0.482 to 0.542 0.432" in shown
    assert "The annotator of the reference knew the rows" in shown


def test_differences_say_in_words_whether_the_interval_excludes_zero(web, evaluation):
    shown = extract_text(web.get(build_address(evaluation)))
    assert "rules · revised minus rules · text-only" in shown
    assert "Concordance +0.033 +0.012 to +0.051 Better (95 % CI excludes 0)" in shown
    assert "AULTC +0.049 −0.004 to +0.090 No clear difference (95 % CI includes 0)" in shown
    assert "No figure: the reference cites no row" in shown


def test_the_spread_over_several_references_is_shown(web, evaluation):
    page = web.get(build_address(evaluation))
    shown = extract_text(page)
    assert "on the 2 cases that have all of them" in shown
    assert "rules revised 2 0.700 to 0.750 0.900 0.780 3.20 to 12.5 0.710 –" in shown
    assert "Against author:&lt;img src=x" in page.content.decode()
    Evaluation.objects.filter(pk=evaluation.pk).update(
        report=report_to_plain(make_report(references=()))
    )
    assert "Several references" not in extract_text(web.get(build_address(evaluation)))


def test_published_figures_stand_beside_ours_marked_and_only_where_they_compare(web, evaluation):
    plain = extract_text(web.get(build_address(evaluation), {"basis": "embedding"}))
    assert "Show published figures" in plain
    assert "GLM-5.2" not in plain
    beside = extract_text(
        web.get(build_address(evaluation), {"basis": "embedding", "published": "1"})
    )
    assert "Published, not ours: 40 other cases" in beside
    assert re.search(r"GLM-5\.2 published text-only 40 0\.790", beside)
    assert re.search(r"GLM-5\.2 no_rows published revised 40 0\.790", beside)
    assert "always paired by spans" in beside
    assert "GLM-5.2" not in extract_text(
        web.get(build_address(evaluation), {"basis": "span", "published": "1"})
    )


def test_a_basis_that_the_report_lacks_is_not_found(web, evaluation):
    assert web.get(build_address(evaluation), {"basis": "levenshtein"}).status_code == 404
    assert web.get(build_address(evaluation), {"basis": "<script>"}).status_code == 404


@pytest.mark.parametrize(
    ("name", "format", "kind", "words"),
    [
        ("main", "csv", "text/csv", "Source,Timeline,Cases,Span recall,Span recall low"),
        ("main", "latex", "application/x-tex", r"\begin{tabular}"),
        ("differences", "csv", "text/csv", "rules · text-only,rules · revised,Concordance,0.033"),
        ("ablation-0", "latex", "application/x-tex", r"no\_rows"),
        ("sweep", "json", "application/json", '"name": "sweep"'),
        ("strata", "csv", "text/csv", "within 1 hour"),
        ("rho", "csv", "text/csv", "rules,0.1,240"),
        ("references", "csv", "text/csv", "rules · revised,reference,4,0.75"),
    ],
)
def test_tables_come_as_files(web, evaluation, name, format, kind, words):
    answer = web.get(build_address(evaluation, name, format, name="evaluation_table"))
    assert answer["Content-Type"].startswith(kind)
    assert answer["Content-Disposition"].startswith(f'attachment; filename="{name}-span-')
    assert words in answer.content.decode()


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("main", "pdf"),
        ("none", "csv"),
        ("ablation-9", "csv"),
        ("ablation-x", "csv"),
        ("ablation-²", "csv"),
    ],
)
def test_files_that_are_none_are_not_found(web, evaluation, name, format):
    # Written out: an address with a name that none can have cannot be made by its pattern.
    main = build_address(evaluation, "main", "csv", name="evaluation_table")
    assert web.get(main).status_code == 200
    assert web.get(main.replace("/main/csv/", f"/{name}/{format}/")).status_code == 404


def test_an_evaluation_without_figures_has_no_files(web, world):
    waiting = make_evaluation(world.study, [], state=JobState.QUEUED)
    assert (
        web.get(build_address(waiting, "main", "csv", name="evaluation_table")).status_code == 404
    )


def test_cases_are_sorted_by_a_figure_with_the_empty_ones_last(web, world, evaluation):
    for case_id, aultc in (("c-low", 0.2), ("c-high", 0.95)):
        case = factories.make_encounter(world.encounter.dataset, case_id=case_id)
        store_case(
            evaluation,
            case,
            CaseResult(
                case_id,
                "x",
                (
                    CaseSource(
                        REVISED, Basis.SPAN, True, 5, 5, (), make_figures(0.5, 0.5, aultc, 1.0)
                    ),
                ),
            ),
        )
    gone = factories.make_encounter(world.encounter.dataset, case_id="c-gone")
    store_case(
        evaluation, gone, CaseResult("c-gone", "x", (CaseSource(REVISED, Basis.SPAN, False, 5, 0),))
    )
    ours = world.encounter.case_id
    for sort, order in (
        ("aultc_ref", ["c-low", ours, "c-high", "c-gone"]),
        ("-aultc_ref", ["c-high", ours, "c-low", "c-gone"]),
    ):
        body = (
            web.get(build_address(evaluation), {"sort": sort})
            .content.decode()
            .split('id="case-rows"')[1]
        )
        assert re.findall(r'<th scope="row">\s*<a [^>]+>\s*([^<]+?)\s*</a>', body) == order
    assert "this case has no such timeline" in body
    assert (
        'aria-sort="descending"'
        in web.get(build_address(evaluation), {"sort": "-aultc_ref"}).content.decode()
    )


@pytest.mark.parametrize(
    "asked",
    [{"s": "99"}, {"s": "²"}, {"s": "-1"}, {"sort": "nothing"}, {"d": "nothing"}, {"page": "x"}],
)
def test_nonsense_in_the_address_is_passed_over(web, evaluation, asked):
    assert web.get(build_address(evaluation), asked).status_code == 200


def test_a_page_of_a_hundred_cases_asks_little_of_the_database(web, world, evaluation):
    for n in range(100):
        store_case(
            evaluation, factories.make_encounter(world.encounter.dataset, case_id=f"n{n:03}")
        )
    with CaptureQueriesContext(connection) as found:
        assert "Page 1 of 2" in extract_text(web.get(build_address(evaluation)))
    # A fixed number: page guards are asked of all listed cases at once.
    assert len(found) <= 30


# The drill-down


def test_the_drill_down_lists_pairs_and_what_is_left_on_either_side(web, world, evaluation):
    answer = web.get(drill(evaluation, world), {"s": "0"})
    shown = extract_text(answer)
    assert "Pairs of rules · text-only 6 of 10 reference occurrences" in shown
    assert re.search(
        r"Andexanet alfa was given HD 1 · 21:08 \+6\.5 h Andexanet alfa was given HD 1 · 16:08 \+1\.5 h 5 h 3 h beyond tolerance",
        shown,
    )
    assert re.search(r"Fell at home 3 d before −3 d .*? 0 h 7\.2 h within tolerance", shown)
    assert "Unpaired reference occurrences 4" in shown
    assert "Unpaired predicted occurrences 4 of 10" in shown
    (opened,) = AuditEvent.objects.filter(action="evaluation.case")
    assert (opened.actor, opened.object_id) == (world.clinician, world.encounter.public_id)


def test_the_drill_down_opens_the_first_revised_timeline(web, world, evaluation):
    shown = extract_text(web.get(drill(evaluation, world)))
    assert "Pairs of rules · revised" in shown
    assert web.get(drill(evaluation, world), {"s": "2"}).status_code == 404
    assert web.get(drill(evaluation, world), {"s": "x"}).status_code == 404


def test_a_case_outside_the_evaluation_or_the_study_is_not_found(web, world, evaluation):
    other = factories.make_encounter(world.encounter.dataset, case_id="other")
    assert (
        web.get(build_address(evaluation, other.public_id, name="evaluation_case")).status_code
        == 404
    )
    foreign = factories.make_encounter()
    assert (
        web.get(build_address(evaluation, foreign.public_id, name="evaluation_case")).status_code
        == 404
    )


def test_a_timeline_that_changed_since_shows_figures_without_pairs(web, world):
    evaluation = make_evaluation(world.study, [], report=make_report())
    store_case(
        evaluation,
        world.encounter,
        CaseResult(
            "c",
            "x",
            (CaseSource(REVISED, Basis.SPAN, True, 10, 9, (), make_figures(0.6, 0.9, 0.8, 2.0)),),
        ),
    )
    assert "The pairs cannot be shown" in extract_text(web.get(drill(evaluation, world)))


def test_an_unaided_author_is_led_back_to_the_draft(web, world, evaluation):
    begin(world, world.clinician, Authoring.Protocol.UNAIDED)
    answer = web.get(drill(evaluation, world))
    assert answer.status_code == 403
    assert "unaided timeline of this case" in extract_text(answer)
    for address in (build_address(evaluation), f"{build_address(evaluation)}tables/main/csv/"):
        answer = web.get(address)
        assert answer.status_code == 403
        assert "has cases that are closed to you" in extract_text(answer)
    listed = extract_text(web.get(reverse("timelines:evaluations")))
    assert "exclude the cases that you review" in listed
    assert "demo" not in listed
    assert not AuditEvent.objects.filter(action="evaluation.case").exists()


def test_another_authors_timeline_is_hidden_until_all_have_submitted(web, world):
    colleague = factories.make_user(world.study, Role.CLINICIAN)
    inventory = factories.make_inventory(world.note)
    times = {factories.make_occurrence(inventory, "Fell at home"): -70.0}
    reference = factories.make_timeline(
        inventory, times, kind=TimelineKind.REFERENCE, source=make_source(colleague)
    )
    key = SourceKey(make_source(colleague), "reference")
    report = make_report(
        results=tuple(r for r in make_report().results if r.key in (TEXT, REVISED))
    )
    report = make_report(
        results=(*report.results, *(replace(r, key=key) for r in report.results if r.key == TEXT))
    )
    evaluation = make_evaluation(world.study, [world.encounter.dataset], report=report)
    sources = tuple(
        CaseSource(k, Basis.SPAN, True, 10, 10, (), make_figures(0.6, 0.9, 0.8, 2.0))
        for k in (TEXT, key)
    )
    store_case(evaluation, world.encounter, CaseResult("c", "x", sources))
    number = str([r.key for r in report.results if r.basis is Basis.SPAN].index(key))
    assert make_source(colleague) in extract_text(web.get(drill(evaluation, world)))
    begin(world, world.clinician, Authoring.Protocol.ASSISTED)
    begin(
        world,
        colleague,
        Authoring.Protocol.ASSISTED,
        state=Authoring.State.SUBMITTED,
        timeline=reference,
        submitted_at=timezone.now(),
    )
    for address in (drill(evaluation, world), build_address(evaluation)):
        assert web.get(address, {"s": number}).status_code == 403, "figures of the colleague"
    without = make_evaluation(
        world.study, [world.encounter.dataset], report=report, sources=["rules"]
    )
    assert web.get(build_address(without)).status_code == 200, (
        "figures that the colleague has no part in"
    )
    against = make_evaluation(
        world.study, [world.encounter.dataset], report=report, reference=make_source(colleague)
    )
    store_case(against, world.encounter, CaseResult("c", "x", sources))
    answer = web.get(drill(against, world))
    assert answer.status_code == 403
    assert "you author them and not every author has submitted" in extract_text(answer)


def begin(world, author, protocol, **fields):
    """Create an authoring row of the world's case with its own inventory."""
    inventory = factories.make_inventory(world.note, origin="authored")
    found = Authoring.objects.create(
        encounter=world.encounter, author=author, inventory=inventory, protocol=protocol, **fields
    )
    if found.state == Authoring.State.SUBMITTED:
        factories.seal(inventory)
    return found


# The case page with pairs


def case_data(answer) -> dict:
    found = re.search(
        r'<script id="case-data" type="application/json">(.*?)</script>',
        answer.content.decode(),
        re.DOTALL,
    )
    assert found is not None
    return json.loads(found.group(1))


def test_the_case_page_draws_the_pairs_of_the_evaluation_and_no_others(web, world, evaluation):
    asked = {"t": world.text_only.public_id, "e": evaluation.public_id, "b": "span"}
    answer = web.get(world.address, asked)
    assert (
        "Pairs of the evaluation demo , by spans: 6 of 10 occurrences are paired with reference"
        in extract_text(answer)
    )
    data = case_data(answer)
    assert data["pairs"] == 6
    partners = {i["m"]: i for i in data["items"] if "pm" in i}
    assert partners["Andexanet alfa was given"]["pm"] == "Andexanet alfa was given"
    start, end = partners["Andexanet alfa was given"]["ps"]
    assert world.note.text[start:end] == "Andexanet alfa was given"
    assert partners["Andexanet alfa was given"]["rt"] == 6.5
    assert "rt" not in next(i for i in data["items"] if i["m"] == "Denied headache")
    plain = case_data(web.get(world.address, {"t": world.text_only.public_id}))
    assert plain["pairs"] == 0
    assert "rt" in next(i for i in plain["items"] if i["m"] == "Denied headache")


def test_pairs_of_a_timeline_that_names_events_itself_find_their_rows(web, world):
    bare = factories.make_bare_timeline(
        world.encounter, {"late": 30.0, "early": -5.0}, source="other"
    )
    key = SourceKey("other", "text_only")
    evaluation = make_evaluation(world.study, [], report=make_report())
    pair = MatchedPair(
        world.reference.entries.get(occurrence__mention="Fell at home").occurrence.uid4,
        "#2",
        0.05,
    )
    store_case(
        evaluation,
        world.encounter,
        CaseResult("c", "x", (CaseSource(key, Basis.SPAN, True, 10, 2, (pair,)),)),
    )
    data = case_data(web.get(world.address, {"t": bare.public_id, "e": evaluation.public_id}))
    assert [(i["m"], i.get("pm")) for i in data["items"]] == [
        ("early", "Fell at home"),
        ("late", None),
    ]


def test_another_timeline_of_the_case_is_shown_without_pairs(web, world, evaluation):
    answer = web.get(world.address, {"t": world.second.public_id, "e": evaluation.public_id})
    assert answer.status_code == 200
    assert "Pairs of the evaluation" not in extract_text(answer)


def test_pairs_of_an_evaluation_that_is_not_theirs_are_not_found(web, world, evaluation):
    foreign = make_evaluation(factories.make_study(), [])
    store_case(foreign, world.encounter)
    assert web.get(world.address, {"e": foreign.public_id}).status_code == 404
    assert web.get(world.address, {"e": "nothing"}).status_code == 404
    assert web.get(world.address, {"e": evaluation.public_id, "b": "nothing"}).status_code == 404


# Text that stays text


def test_markup_in_any_text_stays_text(web, world, evaluation):
    Evaluation.objects.filter(pk=evaluation.pk).update(label=MARKUP, sources=[MARKUP])
    for address in (
        reverse("timelines:evaluations"),
        build_address(evaluation),
        f"{build_address(evaluation)}?basis=embedding&published=1&s=3",
        drill(evaluation, world),
        f"{world.address}?t={world.revised.public_id}&e={evaluation.public_id}",
        reverse("home"),
    ):
        body = web.get(address).content.decode()
        assert "window.hit" in body, f"{address} does not show the text at all"
        assert "<script>window.hit" not in body
        assert "<img src=x" not in body
        assert "{{ 7|add:1 }}" in body


# The evidence funnel


def test_each_figure_of_the_funnel_opens_its_occurrences(web, world, evaluation):
    page = web.get(build_address(evaluation)).content.decode()
    section = page[page.index('<section id="funnel"') :]
    section = section[: section.index("</section>")]
    links = re.findall(r'href="([^"]+/funnel/[^"]*)">\s*([^<]+?)\s*</a>', section)
    shown = {html.unescape(link).partition("?")[2]: words for link, words in links}
    number = list(make_report().keys).index(REVISED)
    assert shown[f"s={number}"] == "40"
    assert shown[f"s={number}&step=cited"] == "0.600"
    assert shown[f"s={number}&kind=lab&step=in-time"] == "0.840"
    assert shown[f"s={number}&lost=not-selected"] == "16"
    assert f"s={number}&lost=not-cited" not in shown, "no occurrence, no link"
    for link, _ in links:
        assert web.get(html.unescape(link)).status_code == 200


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["ct", "fall", "andexanet"]),
        ("kind=lab", []),
        ("step=candidate", ["ct", "fall", "andexanet"]),
        ("step=in-time", ["fall", "andexanet"]),
        ("step=cited", ["andexanet"]),
        ("lost=not-cited", ["ct"]),
        ("lost=below-threshold", ["fall"]),
        ("lost=time-differs", []),
    ],
)
def test_a_cell_lists_its_occurrences_each_with_its_place_on_the_case_page(
    web, world, evaluation, query, names
):
    page = web.get(f"{build_address(evaluation, name='evaluation_funnel')}?{query}")
    links = re.findall(r'href="([^"]*/cases/[^"]*&amp;o=[^"]*)">([^<]+)</a>', page.content.decode())
    assert [words for _, words in links] == [
        html.escape(world.occurrences[name].mention) for name in names
    ]
    for link, words in links:
        case = web.get(html.unescape(link))
        assert case.status_code == 200
        assert words in case.content.decode()
    events = AuditEvent.objects.filter(action="evaluation.funnel")
    opened = [world.encounter.public_id] if names else []
    assert list(events.values_list("object_id", flat=True)) == opened


@pytest.mark.parametrize(
    "query", ["s=99", "s=x", "kind=nothing", "step=nothing", "lost=x", "step=cited&lost=not-cited"]
)
def test_a_cell_that_the_funnel_lacks_is_not_found(web, evaluation, query):
    address = build_address(evaluation, name="evaluation_funnel")
    assert web.get(f"{address}?{query}").status_code == 404


def test_an_evaluation_without_a_funnel_shows_none(web, world):
    bare = make_evaluation(world.study, [world.encounter.dataset], report=make_report(funnel=()))
    assert 'id="funnel"' not in web.get(build_address(bare)).content.decode()
    assert web.get(build_address(bare, name="evaluation_funnel")).status_code == 404


def test_an_occurrence_of_a_deleted_timeline_is_listed_without_a_link(web, world):
    evaluation = make_evaluation(world.study, [world.encounter.dataset], report=make_report())
    store_case(evaluation, world.encounter)
    shown = extract_text(web.get(build_address(evaluation, name="evaluation_funnel")))
    assert "timeline deleted Labs" in shown


def test_a_long_list_is_paged_by_few_queries(web, world, evaluation):
    one = case_from_plain(evaluation.cases.get().result)
    for n in range(45):
        encounter = factories.make_encounter(world.encounter.dataset, case_id=f"x{n:02}")
        store_case(evaluation, encounter, replace(one, case_id=f"x{n:02}"))
    address = build_address(evaluation, name="evaluation_funnel")
    listed = []
    for number in (1, 2, 3):
        with CaptureQueriesContext(connection) as asked:
            page = web.get(f"{address}?page={number}").content.decode()
        assert len(asked) < 25
        listed += re.findall(r'/cases/[\w-]+/">([\w-]+)</a>', page)
    cases = sorted([world.encounter.case_id, *(f"x{n:02}" for n in range(45))])
    assert listed == [case for case in cases for _ in range(3)]


# Bounds


def test_bounds_are_shown_by_group_and_by_width(web, evaluation):
    page = web.get(build_address(evaluation)).content.decode()
    section = page[page.index('<section id="bounds"') :].partition("</section>")[0]
    table, widths = section.split("<details")
    assert table.count('scope="rowgroup"') == widths.count('scope="rowgroup"') == 3
    words = " ".join(html.unescape(re.sub("<[^>]*>", " ", table)).split())
    assert "Coverage of bounds Median width , h Share open" in words
    assert "rules · revised All 110 0.810 0.780 to 0.840 14.0 12.5 to 15.5 0.125" in words
    assert "Row matched by a rule 107 0.860" in words
    assert "Without row or rule 3 – no entry has a bound – no entry has bounds on both" in words
    assert "rules/no_rows" not in words
    assert MARKUP not in section
    assert 'data-figure="reliability"' in table
    name = build_address(evaluation, "bounds", "csv", name="evaluation_table")
    lines = web.get(name).content.decode().splitlines()
    assert len(lines) == 1 + 4 * 5
    assert lines[0].startswith("Source,Group,Occurrences,Coverage of bounds,Coverage of bounds low")
    made = web.get(build_address(evaluation, "reliability", "json", name="evaluation_table"))
    assert len(json.loads(made.content)["rows"]) == 4 * 9


def test_an_evaluation_of_an_earlier_version_says_that_it_has_no_bounds(web, world):
    report = make_report()
    old = make_evaluation(world.study, [world.encounter.dataset], report=report)
    assert old.report is not None
    del old.report["bounds"]
    old.save()
    page = web.get(build_address(old)).content.decode()
    section = page[page.index('<section id="bounds"') :].partition("</section>")[0]
    assert "made before bounds were evaluated" in section
    assert "<table" not in section
    assert "data-figure" not in section
