"""Authors see neither models' nor other authors' timelines too early.

Drafts are their authors' own.
"""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, Role
from jobs.models import JobState
from tests import factories
from tests.support.pages import join_markup
from tests.worlds.authored import NOTE, Page, make_author, make_case, make_draft
from timelines.access.authoring import hidden_timelines
from timelines.cases.choices import load_choices
from timelines.domain import TimelineKind
from timelines.models import (
    AnchorSuggestion,
    Authoring,
    CaseRun,
    Stage,
    StageBatch,
    StageRun,
    Timeline,
)

pytestmark = pytest.mark.django_db

MODEL = "Secretly inferred fall"


@pytest.fixture
def encounter():
    return make_case()


def reconstruct(encounter):
    """Store a finished run with a revealing mention and evidence at +5 h."""
    run = factories.make_run(encounter.dataset)
    run.tools = {"backbone": "rules 9", "embedder": "MiniLM"}
    run.save()
    inventory = factories.make_inventory(encounter.notes.get(), run)
    fell = factories.make_occurrence(inventory, "Fell at home", mention=MODEL)
    case_run = factories.make_case_run(run, encounter, inventory)
    row = factories.make_row(
        encounter, "procedure:ct head:start", 5.0, value="done", time_kind="performed"
    )
    series = factories.make_series(encounter, "procedure:ct head:start", [row])
    evidence = factories.make_evidence(
        factories.make_candidate(factories.make_query(case_run, fell, "fall"), series), row
    )
    factories.make_timeline(inventory, {fell: -2.0}, kind=TimelineKind.TEXT_ONLY, case_run=case_run)
    return evidence


def answer(client: Client, name: str, *arguments: str):
    return client.get(reverse(f"timelines:{name}", args=arguments))


def test_an_unaided_author_cannot_open_what_models_made_until_submission(encounter):
    reconstruct(encounter)
    page = Page(make_draft(encounter, make_author(encounter)))
    uid = page.add("Fell at home", time=-2)
    pages = [
        ("case", encounter.public_id),
        ("occurrence", encounter.public_id, "a000"),
        ("chain", encounter.public_id, "a000"),
        ("case_export", encounter.public_id, "csv"),
    ]
    for name, *arguments in pages:
        refused = answer(page.client, name, *arguments)
        assert refused.status_code == 403, name
        assert MODEL not in refused.content.decode()
        assert reverse("timelines:authoring", args=[page.id]) in refused.content.decode()
    assert page.client.get(reverse("ehr:record", args=[encounter.public_id])).status_code == 200
    for address in ("authoring", "authoring_history"):
        assert MODEL not in answer(page.client, address, page.id).content.decode()
    for suggestion in (
        page.client.get(reverse("timelines:authoring_suggestions", args=[page.id, uid])),
        page.post("suggestion", {"accept": True}, uid=uid, row=0),
    ):
        assert suggestion.status_code == 403
        assert "unaided" in suggestion.json()["message"]
    assert not AnchorSuggestion.objects.exists()
    page.post("submit", {})
    assert answer(page.client, "case", encounter.public_id).status_code == 200
    page.post("reopen", {"reason": "r"})
    assert answer(page.client, "case", encounter.public_id).status_code == 403, (
        "an open draft is an open draft"
    )


def test_the_editor_of_an_unaided_timeline_has_no_address_of_suggestions(encounter):
    page = Page(make_draft(encounter, make_author(encounter)))
    assert "suggestion" not in answer(page.client, "authoring", page.id).content.decode()
    aided = Page(make_draft(encounter, make_author(encounter), "assisted"))
    assert "suggestions/0000/0/" in answer(aided.client, "authoring", aided.id).content.decode()


def test_lists_do_not_tell_an_unaided_author_how_much_a_run_found(encounter):
    reconstruct(encounter)
    case_run = CaseRun.objects.get()
    stage = StageRun.objects.create(case_run=case_run, stage=Stage.INFER, state=JobState.SUCCEEDED)
    StageBatch.objects.create(stage_run=stage, ordinal=0, payload={"entries": 8731})
    page = Page(make_draft(encounter, make_author(encounter)))
    other = Client()
    other.force_login(make_author(encounter, username="other"))
    for client, tells in ((page.client, False), (other, True)):
        listed = client.get(reverse("timelines:cases"))
        assert [line.occurrences for line in listed.context["rows"]] == [1 if tells else None]
        shown = client.get(reverse("timelines:run", args=[case_run.run.public_id]))
        assert shown.status_code == (200 if tells else 403), "the run has no other case"
        assert (b"8731" in shown.content) is tells


def test_references_are_named_by_who_made_them_and_compared_with_the_cohorts_own(encounter):
    inventory = factories.make_inventory(encounter.notes.get())
    fell = factories.make_occurrence(inventory, "Fell at home")
    for source in ("a-ward", "author:ana", "reference"):
        factories.make_timeline(inventory, {fell: -2.0}, kind=TimelineKind.REFERENCE, source=source)
    assert [c.source for c in load_choices(encounter).references] == [
        "reference",
        "a-ward",
        "author:ana",
    ]
    client = Client()
    client.force_login(make_author(encounter))
    shown = join_markup(answer(client, "case", encounter.public_id))
    for name in ("> Reference </a>", "> Reference a-ward </a>", "> Reference by ana </a>"):
        assert name in shown, name


def test_someone_else_opens_the_case_of_an_unaided_author(encounter):
    reconstruct(encounter)
    make_draft(encounter, make_author(encounter))
    other = Client()
    other.force_login(make_author(encounter))
    assert answer(other, "case", encounter.public_id).status_code == 200


def test_exposure_is_recorded_from_the_trail(encounter):
    early, late, never = (make_author(encounter) for _ in range(3))
    client = Client()
    client.force_login(early)
    answer(client, "case", encounter.public_id)
    reconstruct(encounter)
    client.force_login(late)
    answer(client, "case", encounter.public_id)
    client.get(reverse("ehr:record", args=[encounter.public_id]))
    assert "recorded with your timeline" in join_markup(
        answer(client, "author_start", encounter.public_id)
    )
    assert [make_draft(encounter, who).exposed for who in (early, late, never)] == [
        False,
        True,
        False,
    ]


def test_what_is_looked_at_between_two_submissions_is_recorded(encounter):
    reconstruct(encounter)
    page = Page(make_draft(encounter, make_author(encounter)))
    page.add("Fell at home", time=-2)
    page.post("submit", {})
    answer(page.client, "case", encounter.public_id)
    assert not Authoring.objects.get().exposed
    page.post("reopen", {"reason": "r"})
    assert Authoring.objects.get().exposed


def test_authors_see_each_other_when_both_have_submitted(encounter):
    reconstruct(encounter)
    first = Page(make_draft(encounter, make_author(encounter, username="ana"), "assisted"))
    first.add("Fell at home", mention="Ana's fall", time=-2)
    first.post("submit", {})
    second = Page(make_draft(encounter, make_author(encounter, username="ben"), "assisted"))
    second.add("Fell at home", mention="Ben's fall", time=-3)
    reader = Client()
    reader.force_login(make_author(encounter))

    def seen(client: Client) -> list[str]:
        shown = join_markup(answer(client, "case", encounter.public_id))
        return [name for name in ("ana", "ben") if f"Reference by {name}" in shown]

    assert (seen(first.client), seen(second.client), seen(reader)) == (["ana"], [], ["ana"])
    anas = Timeline.objects.get(source="author:ana")
    peek = reverse("timelines:case", args=[encounter.public_id])
    assert second.client.get(peek, {"t": anas.public_id}).status_code == 404
    assert answer(second.client, "agreement", encounter.public_id).status_code == 403
    address = reverse("timelines:agreement", args=[encounter.public_id])
    pages = ((first.client, reverse("timelines:authoring", args=[first.id])), (reader, peek))
    assert not [page for client, page in pages if address in client.get(page).content.decode()], (
        "offered before it opens"
    )
    second.post("submit", {})
    assert all(address in client.get(page).content.decode() for client, page in pages)
    assert (seen(first.client), seen(second.client)) == (["ana", "ben"], ["ana", "ben"])
    assert address in answer(reader, "case", encounter.public_id).content.decode()
    agreement = answer(reader, "agreement", encounter.public_id).content.decode()
    assert "Ana&#x27;s fall" in agreement
    assert "Ben&#x27;s fall" in agreement
    assert "1 h earlier" in agreement
    second.post("reopen", {"reason": "r"})
    assert (seen(first.client), seen(second.client)) == (["ana"], ["ben"]), (
        "what each had submitted stays visible to its own author"
    )
    assert hidden_timelines(Authoring.objects.get(author__username="ben").author, encounter) == {
        anas.pk
    }
    assert seen(reader) == ["ana", "ben"]
    assert answer(reader, "agreement", encounter.public_id).status_code == 403


def test_a_draft_is_its_authors_alone(encounter):
    page = Page(make_draft(encounter, make_author(encounter), "assisted"))
    uid = page.add("Fell at home")
    for other in (make_author(encounter), make_author(encounter, Role.ADMIN)):
        page.client.force_login(other)
        for name, arguments in {
            "authoring": [],
            "authoring_history": [],
            "authoring_suggestions": [uid],
            "authoring_download": ["jsonl"],
        }.items():
            assert answer(page.client, name, page.id, *arguments).status_code == 404, name
        for name in ("edits", "time", "rows", "submit"):
            assert page.post(name, {}).status_code == 404, name


def test_who_lost_the_role_lost_the_draft(encounter):
    author = make_author(encounter)
    page = Page(make_draft(encounter, author))
    author.memberships.update(role=Role.REVIEWER)
    assert answer(page.client, "authoring", page.id).status_code == 403
    assert page.post("edits", {}).status_code == 403


def test_assisted_authors_are_shown_rows_and_what_they_do_is_kept(encounter):
    evidence = reconstruct(encounter)
    page = Page(make_draft(encounter, make_author(encounter), "assisted"))
    uid = page.add("Fell at home")
    address = reverse("timelines:authoring_suggestions", args=[page.id, uid])
    (row,) = page.client.get(address).json()["rows"]
    assert (row["row_index"], row["hours"], row["made_by"], row["state"]) == (
        evidence.row_index,
        5.0,
        "rules 9 · MiniLM",
        "shown",
    )
    assert (row["words"], row["kind"], row["when"]) == (
        "procedure ct head started",
        "time performed",
        "HD 1 · 19:38 (+5 h)",
    )
    page.client.get(address)
    assert AnchorSuggestion.objects.count() == 1, "shown twice, recorded once"
    for accept, state in ((False, "dismissed"), (True, "accepted")):
        assert (
            page.post("suggestion", {"accept": accept}, uid=uid, row=row["row_index"]).json()[
                "state"
            ]
            == state
        )
    assert page.client.get(address).json()["rows"][0]["state"] == "accepted"
    assert (
        page.post("suggestion", {"accept": "yes"}, uid=uid, row=row["row_index"]).status_code == 422
    )
    assert page.post("suggestion", {"accept": True}, uid=uid, row=99).status_code == 422
    events = (
        AuditEvent.objects.filter(action__startswith="authoring.suggestion")
        .order_by("pk")
        .values_list("action", "detail")
    )
    assert [(a, d.get("shown", d.get("accepted"))) for a, d in events] == [
        ("authoring.suggestions", 1),
        ("authoring.suggestion", False),
        ("authoring.suggestion", True),
    ]
    page.edit("change", uid=uid, values={"time": 5.0, "rows": [row["row_index"]]})
    page.post("submit", {})
    assert (
        page.post("suggestion", {"accept": False}, uid=uid, row=row["row_index"]).status_code == 423
    )
    assert len(page.client.get(address).json()["rows"]) == 1


def test_without_a_run_words_of_the_record_are_searched(encounter):
    rows = [
        factories.make_row(encounter, "med:andexanet alfa:start", hours)
        for hours in (0.5, 2.0, 3.0, 9.0, 20.0, 30.0, 40.0)
    ]
    factories.make_series(
        encounter, "med:andexanet alfa:start", rows, summary="med:andexanet alfa:start\n7 values"
    )
    other = factories.make_row(encounter, "lab:sodium:blood", 2.0, value="140")
    factories.make_series(
        encounter, "lab:sodium:blood", [other], summary="lab:sodium:blood\n1 value"
    )
    page = Page(make_draft(encounter, make_author(encounter), "assisted"))
    uid = page.add("andexanet alfa", mention="andexanet alfa start", time=10)
    found = page.client.get(reverse("timelines:authoring_suggestions", args=[page.id, uid])).json()[
        "rows"
    ]
    assert [row["hours"] for row in found] == [9.0, 3.0, 2.0, 0.5, 20.0], (
        "five, the nearest to the stated time first"
    )
    assert {row["made_by"] for row in found} == {"search of words"}


def test_rows_are_found_by_words_nearest_first(encounter):
    for hours in (1.0, 5.0, 30.0, None):
        factories.make_row(
            encounter, "lab:inr:blood", hours, value="2.1", unit="ratio", time_kind="collection"
        )
    factories.make_row(encounter, "med:warfarin:stop", 6.0)
    page = Page(make_draft(encounter, make_author(encounter)))
    assert [
        r["hours"] for r in page.post("rows", {"text": "INR blood", "near": 6}).json()["rows"]
    ] == [5.0, 1.0, 30.0]
    assert [r["hours"] for r in page.post("rows", {"text": "inr 2.1"}).json()["rows"]] == [
        1.0,
        5.0,
        30.0,
    ]
    assert [r["words"] for r in page.post("rows", {"text": "warfarin stopped"}).json()["rows"]] == [
        "med warfarin stopped"
    ]
    assert page.post("rows", {"text": "%_"}).json() == {"rows": [], "more": False}
    assert [r["row_index"] for r in page.post("rows", {"indices": [2, 0, 77]}).json()["rows"]] == [
        2,
        0,
    ]
    for body in (
        {"text": " "},
        {"text": "a", "near": "b"},
        {"indices": ["1"]},
        {"indices": list(range(60))},
    ):
        assert page.post("rows", body).status_code == 422, body
    for text in ("a\x00", "\ud83d", 7):
        assert page.post("rows", {"text": text}).status_code == 400, text
    for hours in range(40):
        factories.make_row(encounter, "vital:pulse", float(hours), value="80")
    many = page.post("rows", {"text": "pulse", "near": 20}).json()
    assert (len(many["rows"]), many["more"]) == (30, True)
    assert {abs(r["hours"] - 20) for r in many["rows"]} <= set(range(16))


def test_no_log_holds_what_was_typed(encounter, caplog):
    caplog.set_level("DEBUG")
    page = Page(make_draft(encounter, make_author(encounter), "assisted"))
    uid = page.add(
        "Fell at home", mention="zyxcanary fall", reason="zyxcanary reason", time_text="-3 d"
    )
    page.edit("change", uid=uid, expect=422, values={"time_text": "zyxcanary"})
    page.edit("change", uid="zyxcanary", expect=422, values={})
    page.post("rows", {"text": "zyxcanary"})
    page.post("time", {"text": "zyxcanary"})
    page.post("submit", {})
    page.post("reopen", {"reason": "zyxcanary"})
    assert caplog.records
    assert "zyxcanary" not in caplog.text
    assert not AuditEvent.objects.filter(detail__icontains="zyxcanary").exists()
    assert NOTE not in caplog.text
