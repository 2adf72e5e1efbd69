"""Plans by hand: small costs times round numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.growth import growth
from benchmarks.plan import describe, main
from benchmarks.support.plan import Costs, Tokens, Workload, make_plan, read_costs

COSTS = Costs(
    row_bytes={"rows": 200, "vectors": 100},
    stay_bytes={"notes": 10_000, "rows": 50},
    row_seconds={"import": 0.0001, "backup": 0.00002},
    stay_seconds={"tag": 2.0, "retrieve": 6.0, "revise": 1.0, "evaluation": 0.5},
    backup_share=0.25,
    tokens={
        "tagger": Tokens(calls=2, tokens_in=3000, tokens_cached=1000, tokens_out=400),
        "reviser": Tokens(calls=1, tokens_in=5000, tokens_cached=1000, tokens_out=600),
    },
)


def test_a_plan_by_rules_is_costs_times_numbers():
    work = Workload(notes=1_000, rows=3_000_000, workers=10, backups=4)
    plan = make_plan(COSTS, work)
    # 3 million rows of 200 bytes, and 1,000 stays of 50.
    assert plan.disk["rows"] == 600_050_000
    assert plan.disk["vectors"] == 300_000_000
    assert plan.disk["notes"] == 10_000_000
    # Four backups of a quarter are as large as the database.
    assert plan.disk["backups"] == 910_050_000
    assert plan.cores == {
        "import": pytest.approx(300),
        "backup": pytest.approx(60),
        "tag": 2_000,
        "retrieve": 6_000,
        "revise": 1_000,
        "evaluation": 500,
    }
    # 9,500 seconds of stages on ten workers; import and backup are one process each.
    assert plan.clock == {
        "import": pytest.approx(300),
        "backup": pytest.approx(60),
        "stages": pytest.approx(950),
    }
    assert (plan.tokens_in, plan.tokens_out, plan.card_seconds) == (0, 0, 0)


def test_a_plan_with_a_language_model_takes_as_long_as_its_slower_half():
    work = Workload(
        notes=1_000, rows=0, backbone="prompted", workers=10, cards=2, reads=3000, writes=500
    )
    plan = make_plan(COSTS, work)
    assert "tag" not in plan.cores
    assert plan.cores["retrieve"] == 6_000
    assert (plan.tokens_in, plan.tokens_cached, plan.tokens_out) == (8e6, 2e6, 1e6)
    # 6 million tokens at 3,000 a second, and a million at 500.
    assert plan.card_seconds == 2_000 + 2_000
    assert plan.clock["stages"] == 2_000, "the cards, not the 650 seconds of the workers"
    many = make_plan(COSTS, replace(work, cards=100))
    assert many.clock["stages"] == 650


def test_thoughts_are_written_in_every_call():
    work = Workload(notes=10, rows=0, backbone="prompted", thinking=100)
    # 1,000 tokens and three calls with 100 more, in ten stays.
    assert make_plan(COSTS, work).tokens_out == 10 * (1_000 + 300)


def test_costs_of_one_are_those_of_a_study_divided():
    cost = {"wall": 9.0, "client": 3.0, "server": 1.0}
    study: dict[str, Any] = {
        "stays": 20,
        "rows": 2_000,
        "judged": 4,
        "costs": dict.fromkeys(
            (
                "import",
                "vacuum",
                "backup",
                "preparation of a run",
                "evaluation",
                "judging",
                "embedding of one stay",
            ),
            cost,
        ),
        "stages": {"tag": cost, "stays": 8},
        "bytes": {"all": {"rows": 4_000, "series": 0, "vectors": 2_000, "notes": 6_000}},
        "backup_bytes": 3_000,
    }
    found = read_costs(study, {})
    assert found.row_bytes == {"rows": 2, "series": 0, "vectors": 1}
    assert found.stay_bytes == {"notes": 300}
    assert found.row_seconds == dict.fromkeys(("import", "vacuum", "backup"), 0.002)
    assert found.stay_seconds == {
        "tag": 0.5,
        "preparation of a run": 0.2,
        "evaluation": 0.2,
        "judging": 1.0,
        "embedding": 4.0,
    }
    assert found.backup_share == 0.25


def test_the_plan_is_printed_in_hours_and_days(capsys):
    work = Workload(notes=43_200, rows=36_000_000, workers=9)
    lines = describe(make_plan(COSTS, work), work)
    # 43,200 stays of 9.5 seconds are 114 hours; 3,600 and 720 seconds of rows are 1.2.
    assert lines[2].startswith("core-hours  115:")
    # 45,600 of 86,400 seconds with nine workers.
    assert "stages 0.53" in lines[-1]
    assert main(["--notes", "1000", "--rows", "3000000", "--backbone", "prompted"]) == 0
    assert "million cached" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "power"), [((2.0, 20.0), 1.0), ((2.0, 200.0), 2.0), ((3.0, 3.0), 0.0)]
)
def test_growth_is_a_power_of_the_number_of_stays(seconds, power):
    assert growth([100, 1_000], seconds) == pytest.approx(power)


def test_one_size_shows_no_growth():
    assert growth([100], [1.0]) == 0.0
