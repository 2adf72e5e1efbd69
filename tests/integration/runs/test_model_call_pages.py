"""Model calls on pages: counts of a run, a case's list, whole calls.

Prompt and raw answer are on the chain.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from accounts.ids import new_public_id
from accounts.models import AuditEvent, Role
from llm_runtime.accounting import Spent, generalize_reason
from llm_runtime.base import ModelRequest
from llm_runtime.models import ModelCall
from tests import factories
from tests.model_server import Answer
from tests.support.pages import extract_text, join_markup
from tests.unit.timelines.prompted.answers import make_good_answer
from tests.worlds.prompted import finish_run, make_server, small_dataset
from timelines.models import STAGE_ORDER, CaseRun, Occurrence, Run, Stage
from timelines.pipeline.config import PipelineConfig
from timelines.runs import actions
from timelines.runs.calls import Shortened, find_calls, run_spent
from timelines.runs.costs import Range, StageCost, load_case_costs, summarise_costs

pytestmark = pytest.mark.django_db(transaction=True)

WRONG = "<b>I would rather not</b> & never"


@pytest.fixture
def run(monkeypatch) -> Iterator[Run]:
    """One case whose first inference is refused once."""

    def answer(request: ModelRequest, number: int) -> Answer | str:
        if request.seed == 1 and _infers(request):
            return WRONG
        return make_good_answer(request)

    with make_server(monkeypatch, answer):
        dataset = small_dataset()
        started = actions.start_run(
            dataset=dataset, backbone="prompted", config=PipelineConfig(alternatives=1), by=None
        )
        yield finish_run(started)


def _infers(request: ModelRequest) -> bool:
    return (
        request.schema is not None
        and "row" in request.schema.get("$defs", {})
        and "timelines" not in request.schema["properties"]
    )


@pytest.fixture
def client(run) -> Client:
    found = Client()
    found.force_login(factories.make_user(run.study, Role.ADMIN, username="ada"))
    return found


def test_calls_are_counted_by_stage_and_case_and_by_fault(run, client):
    spent = run_spent(run)
    made = ModelCall.objects.count()
    assert [s.label for s in spent.stages] == [
        "Tag occurrences",
        "Infer times from text",
        "Query, retrieve, rerank",
        "Revise jointly",
    ]
    assert (spent.total.calls, spent.total.reused) == (made, 0)
    assert (spent.total.tokens_in, spent.total.tokens_cached, spent.total.tokens_out) == (
        100 * made,
        64 * made,
        20 * made,
    )
    infer = spent.stages[1].spent
    assert (infer.calls, infer.refused) == (2, {"rejected": 1})
    assert spent.kinds == (("not valid JSON at line …, column …", 1),)
    assert [(c.case_id, c.spent.calls) for c in spent.cases] == [("case-0", made)]
    page = client.get(reverse("timelines:run_calls", args=[run.public_id])).content.decode()
    assert "1 refused by the check" in page
    assert str(100 * made) in page
    assert "hx-get" not in page, "a run that has ended asks no more"
    whole = client.get(reverse("timelines:run", args=[run.public_id])).content.decode()
    assert reverse("timelines:run_calls", args=[run.public_id]) in whole
    assert run.tools["reviser"] in whole


def test_time_and_cost_are_shown_by_stage_and_exported_by_case(run, client):
    page = extract_text(client.get(reverse("timelines:run_calls", args=[run.public_id])))
    assert "Wall time" in page
    assert "A whole case" in page
    stages = list(STAGE_ORDER)
    csv_file = client.get(reverse("timelines:run_costs", args=[run.public_id, "csv"]))
    lines = list(csv.DictReader(StringIO(csv_file.content.decode())))
    assert [line["stage"] for line in lines] == stages
    made = ModelCall.objects.count()
    assert sum(int(line["calls"]) for line in lines) == made
    assert {line["case_id"] for line in lines} == {"case-0"}
    infer = lines[stages.index("infer")]
    assert [infer[name] for name in ("calls", "tokens_in", "tokens_cached", "tokens_out")] == [
        "2", "200", "128", "40",
    ]  # fmt: skip
    assert all(float(line["wall_seconds"]) >= 0 for line in lines)
    json_file = client.get(reverse("timelines:run_costs", args=[run.public_id, "json"])).json()
    (whole,) = [line for line in json_file["summary"] if line["stage"] == "case"]
    assert whole["cases"] == 1
    tokens = {"mean": 100 * made, "min": 100 * made, "max": 100 * made}
    assert whole["tokens_in"] == tokens
    assert len(json_file["cases"]) == len(stages)
    assert (
        client.get(reverse("timelines:run_costs", args=[run.public_id, "xml"])).status_code == 404
    )


def test_every_case_and_stage_has_its_time_and_cost_on_a_page(run, client):
    linked = reverse("timelines:case_costs", args=[run.public_id])
    part = client.get(reverse("timelines:run_calls", args=[run.public_id])).content.decode()
    assert f'href="{linked}"' in part
    made = ModelCall.objects.count()
    shown = read_cost_rows(client.get(linked).content.decode())
    assert [row[0] for row in shown] == ["case-0", *(Stage(stage).label for stage in STAGE_ORDER)]
    (infer,) = [row for row in shown if row[0] == "Infer times from text"]
    assert infer[1] == "Done"
    assert infer[3:] == ["2", "200", "128", "40"]
    assert shown[0][3:] == [f"{n * made:,}" for n in (1, 100, 64, 20)]
    assert infer[2]


def read_cost_rows(page: str) -> list[list[str]]:
    """Return the words of each cell of the table, row by row."""
    table = page[page.index('<table class="table cost-table"') : page.index("</table>")]
    rows = re.findall(r"<tr.*?</tr>", table, re.S)[1:]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S) for row in rows]
    return [[" ".join(re.sub(r"<[^>]+>", " ", c).split()) for c in row] for row in cells]


def test_costs_are_paged_and_read_for_the_cases_of_the_page_alone(
    run, client, monkeypatch, django_assert_max_num_queries
):
    monkeypatch.setattr("timelines.views.runs.calls.CASES_PER_PAGE", 1)
    other = factories.make_encounter(dataset=run.dataset)
    CaseRun.objects.create(run=run, encounter=other)
    costs = reverse("timelines:case_costs", args=[run.public_id])
    page = client.get(costs).content.decode()
    assert "Page 1 of 2" in page
    assert read_cost_rows(page)[0][0] == "case-0"
    assert other.case_id not in page
    (case_run,) = CaseRun.objects.filter(run=run, encounter__case_id="case-0")
    with django_assert_max_num_queries(3):
        (found,) = load_case_costs([case_run])
    assert found.whole.spent.calls == ModelCall.objects.count()


def cost(case: str, stage: str, seconds: float | None, tokens: int | None, state="succeeded"):
    return StageCost(case, stage, state, seconds, Spent(calls=2, tokens_in=tokens))


def test_mean_and_range_are_over_the_cases_whose_stage_is_done():
    lines = summarise_costs(
        [
            cost("a", "tag", 10.0, 100),
            cost("a", "infer", 30.0, 1000),
            cost("b", "tag", 20.0, 300),
            cost("b", "infer", 5.0, 50, state="failed"),
            cost("c", "tag", 60.0, None),
            cost("c", "infer", None, None, state="queued"),
        ]
    )
    assert [(line.label, line.cases) for line in lines] == [
        ("Tag occurrences", 3),
        ("Infer times from text", 1),
        ("A whole case", 1),
    ]
    assert lines[0].cells[:3] == ["30 s (10 s–1 min)", "2", "200 (100–300)"]
    assert lines[0].ranges["tokens_in"] == Range(200, 100, 300), "unreported tokens are not zero"
    assert lines[2].cells[:3] == ["40 s", "4", "1,100"]


def test_the_run_page_counts_the_prompts_that_show_a_note_in_part_and_leads_to_them(run, client):
    page = reverse("timelines:run_calls", args=[run.public_id])
    assert run_spent(run).shortened == Shortened()
    assert "call-cuts" not in client.get(page).content.decode()
    (case_run,) = run.cases.all()
    words = "note of 9000 characters shown within 80 characters of each event"
    for stage, part, attempt in (
        ("infer", "batch 9", 1),
        ("infer", "batch 9", 2),
        ("revise", "all", 1),
        ("revise", "the rest", 1),
    ):
        call = find_calls(case_run.stages.filter(stage=stage)).first()
        call.pk, call.public_id, call.part, call.attempt, call.parameters = (
            None,
            new_public_id(),
            part,
            attempt,
            {"shortened": words},
        )
        call.save(force_insert=True)
    shortened = (("Infer times from text", 1), ("Revise jointly", 2))
    assert run_spent(run).shortened == Shortened(shortened, (("case-0", case_run.public_id),))
    listed = reverse("timelines:case_calls", args=[run.public_id, case_run.public_id])
    line = join_markup(client.get(page)).partition('id="call-cuts"')[2].partition("</p>")[0]
    assert "1 prompt of “Infer times from text”" in line
    assert "2 prompts of “Revise jointly”" in line
    assert listed in line
    assert words in client.get(listed).content.decode()


def test_a_run_that_finds_everything_in_the_ledger_paid_nothing(run, client):
    again = finish_run(
        actions.start_run(
            dataset=run.dataset, backbone="prompted", config=PipelineConfig(alternatives=1), by=None
        )
    )
    spent = run_spent(again).total
    assert (spent.calls, spent.tokens_in, spent.seconds, spent.refused) == (0, 0, 0.0, {})
    assert spent.reused == run_spent(run).total.calls


def test_a_call_shows_prompt_and_raw_answer_escaped_and_reading_it_is_recorded(run, client):
    (case_run,) = run.cases.all()
    listed = client.get(
        reverse("timelines:case_calls", args=[run.public_id, case_run.public_id])
    ).content.decode()
    refused = ModelCall.objects.get(outcome="rejected")
    assert reverse("timelines:model_call", args=[refused.public_id]) in listed
    assert "not valid JSON" in listed
    page = client.get(reverse("timelines:model_call", args=[refused.public_id])).content.decode()
    assert escape(WRONG) in page
    assert WRONG not in page
    assert "was started six hours later" in page
    assert refused.prompt_sha256 in page
    assert "JSON schema of the answer" in page
    event = AuditEvent.objects.filter(action="case.open").latest("pk")
    assert (event.object_id, event.detail) == (
        case_run.encounter.public_id,
        {"timelines": True, "call": refused.public_id},
    )


def test_the_chain_names_the_calls_that_decided_an_occurrence(run, client):
    (case_run,) = run.cases.select_related("encounter").all()
    occurrence = Occurrence.objects.filter(inventory__run=run)[1]
    page = client.get(
        reverse("timelines:chain", args=[case_run.encounter.public_id, occurrence.uid4])
    ).content.decode()
    accepted = ModelCall.objects.filter(outcome="accepted")
    for role in ("tagger", "timer", "query_writer", "reviser"):
        assert [
            c
            for c in accepted.filter(role=role)
            if reverse("timelines:model_call", args=[c.public_id]) in page
        ], role
    refused = ModelCall.objects.get(outcome="rejected")
    assert reverse("timelines:model_call", args=[refused.public_id]) not in page


def test_calls_are_exported_with_everything_or_as_a_table(run, tmp_path):
    out = StringIO()
    call_command(
        "export_model_calls",
        run=run.public_id,
        format="jsonl",
        out=tmp_path / "calls.jsonl",
        stdout=out,
    )
    lines = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert len(lines) == ModelCall.objects.count()
    assert {line["case_id"] for line in lines} == {"case-0"}
    assert [line["reply"]["text"] for line in lines if line["outcome"] == "rejected"] == [WRONG]
    assert lines[0]["request"]["messages"][0]["role"] == "system"
    call_command(
        "export_model_calls",
        run=run.public_id,
        format="csv",
        out=tmp_path / "calls.csv",
        stdout=out,
    )
    with (tmp_path / "calls.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["stage"] for row in rows] == [line["stage"] for line in lines]
    assert set(rows[0]) >= {
        "role",
        "model",
        "attempt",
        "outcome",
        "tokens_in",
        "tokens_cached",
        "tokens_out",
        "seconds",
        "reused",
    }
    assert (
        AuditEvent.objects.filter(action="run.export_calls", object_id=run.public_id).count() == 2
    )


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("timeline 2: 3f0c is missing", "… is missing"),
        (
            "sentence 3, entry 2: the sentence does not contain these words",
            "the sentence does not contain these words",
        ),
        ("not valid JSON at line 1, column 12", "not valid JSON at line …, column …"),
        (
            "Unavailable: fake@127.0.0.1:1: the server answered 500 (3 attempts)",
            "the server answered … (… attempts)",
        ),
    ],
)
def test_kinds_of_faults(reason, kind):
    assert generalize_reason(reason) == kind


def test_an_admin_launches_a_run_by_a_model_of_the_catalogue(run, client):
    page = client.get(reverse("timelines:run_new")).content.decode()
    assert '<option value="fake">fake</option>' in page
    data = {
        "dataset": run.dataset.public_id,
        "backbone": "prompted",
        "variant": "full",
        "preset": "default",
        "set_alternatives": "1",
        "model": "fake",
    }
    assert client.post(reverse("timelines:run_new"), data).status_code == 302
    launched = Run.objects.exclude(pk=run.pk).get()
    assert {facts["entry"] for facts in launched.language_models.values()} == {"fake"}
    refused = client.post(
        reverse("timelines:run_new"), {**data, "backbone": "rules"}
    ).content.decode()
    assert "the backbone rules uses no language model" in refused
