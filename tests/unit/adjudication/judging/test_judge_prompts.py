"""The judge's prompts: presets, hours, and a valid worked example."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from adjudication.domain import FindingType, Verdict
from adjudication.judge_runs import tools
from adjudication.judging.config import PUBLISHED, JudgeConfig, preset_config
from adjudication.judging.input import (
    Candidate,
    CandidateRow,
    Judged,
    JudgeInput,
    RecordTimes,
    Unjudged,
    judge_input,
)
from adjudication.judging.prompted.judge import (
    SERIES_STEPS,
    PromptedJudge,
    list_limits,
    render_game,
)
from adjudication.judging.table_evidence import read_table_evidence
from adjudication.judging.validation import Tolerance, validate_findings
from ehr.presentation.rendering import JUDGE_SERIES
from ehr.summarise import summarise
from llm_runtime.base import Limits
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.providers.scripted import ScriptedModel
from tests.unit.adjudication.judging.judge_games import (
    ADMISSION,
    ANCHOR,
    NOTE,
    game,
    make_observation,
    series,
)
from tests.unit.ehr.rows import ADMITTED, table
from timelines.domain import Anchor

#: The rows of the worked example: (hours, event, value[, unit]).
EXAMPLE_ROWS: list[tuple[float | None, str, str] | tuple[float | None, str, str, str]] = [
    (0, "admission:admission_type:", "EMERGENCY"),
    (1.1, "pharmacy:ceftriaxone:1 g", ""),
    (-3.8, "lab:potassium::", "5.9", "mmol/L"),
    (2, "chart:temperature::", "38.9", "°C"),
]
TIMES: tuple[RecordTimes, ...] = ("hours", "iso")


def prompt(times: RecordTimes = "hours", *, schema: bool = True) -> str:
    return render_game(game(record_times=times), schema=schema).messages[1].content


def parse_example(text: str) -> tuple[JudgeInput, list[dict[str, Any]], str]:
    """Return the example's game, its findings and its record as printed."""
    example = text[text.index("## Worked example") : text.index("## Answer")]
    record = re.search(r"\[TABULAR_EHR_SUMMARY_START].*\[TABULAR_EHR_SUMMARY_END]", example, re.S)
    note = re.search(r"The discharge summary:\n\n(.*?)\n\nTimeline A", example, re.S)
    answer = re.search(r"^\[\{.*?\}\]$", example, re.S | re.M)
    assert record
    assert note
    assert answer
    sides = []
    for label in "AB":
        lines = re.search(
            rf"Timeline {label}:\n\nrow \| event \| time\n(.*?)\n\n", example, re.DOTALL
        )
        assert lines
        cells = [line.split(" | ") for line in lines[1].split("\n")]
        sides.append(
            tuple(
                CandidateRow(
                    int(number),
                    event,
                    None if time == "N/A" else int(time),
                    Candidate(event=event, time=None),
                )
                for number, event, time in cells
            )
        )
    given = JudgeInput(
        note=note[1],
        a_rows=sides[0],
        b_rows=sides[1],
        anchor=Anchor(ADMITTED),
        summaries=tuple(summarise(table(EXAMPLE_ROWS), untimed=True)),
    )
    return given, json.loads(answer[0]), record[0]


@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize("times", TIMES)
def test_the_worked_example_is_valid_and_shows_every_type(times: RecordTimes, schema: bool) -> None:
    given, findings, record = parse_example(prompt(times, schema=schema))
    assert record == replace(given, record_times=times).record_text
    judged = [j.finding for j in validate_findings(findings, given)]
    assert {f.type for f in judged} == set(FindingType)
    assert {f.verdict for f in judged} == set(Verdict) - {Verdict.BOTH}
    assert all(not f.flagged for f in judged)
    numbers = {n for f in judged for n in (f.a_row, f.b_row)}
    unreported = {r.event for r in (*given.a_rows, *given.b_rows) if r.row not in numbers}
    assert unreported == {"cough", "fall without injury"}


def test_the_record_is_in_whole_hours_unless_it_is_published() -> None:
    hours, moments = game().record_text, game(record_times="iso").record_text
    assert "  observations: 4.1@+0h, 2.0@+19h" in hours
    assert "time=[NA, NA]" in hours
    assert "2180-" not in hours
    assert "  observations: 4.1@2180-03-04T14:45, 2.0@2180-03-05T09:00" in moments
    assert "All times are whole hours from time 0" in prompt("hours")
    assert "calendar moments in ISO form" in prompt("iso")
    names = {
        render_game(game(record_times=times), schema=schema).name
        for times in TIMES
        for schema in (True, False)
    }
    assert names == {
        f"adjudication/judge{preset}{form}"
        for preset in ("", "_published")
        for form in ("", "_array")
    }


@pytest.mark.parametrize(
    ("minutes", "shown"), [(30, "+1h"), (29, "+0h"), (-30, "-1h"), (-29, "+0h"), (-90, "-2h")]
)
def test_halves_of_an_hour_are_rounded_away_from_zero_and_may_be_cited_as_shown(
    minutes: int, shown: str
) -> None:
    lab = series("lab:x::", make_observation(minutes / 60, "7"))
    given = judge_input([], [], note=NOTE, anchor=ANCHOR, seed=1, series=[lab])
    assert f"  observations: 7@{shown}\n" in given.record_text
    cited = read_table_evidence(f"lab:x:: = 7 @ {shown}", given.by_series, ANCHOR)
    assert cited.series == "lab:x::"
    at = ADMISSION + timedelta(minutes=minutes)
    off = "+4h" if ANCHOR.hours(at) > 0 else "-4h"
    assert read_table_evidence(f"lab:x:: = 7 @ {off}", given.by_series, ANCHOR).faults


def test_a_preset_is_named_with_what_departs_from_it() -> None:
    assert JudgeConfig().preset == "default"
    assert JudgeConfig(**PUBLISHED).preset == "published"
    assert JudgeConfig.from_dict({}).preset == "published"
    assert not JudgeConfig.from_dict({}).uid_table
    assert JudgeConfig(repair=False).preset == "default, except repair"
    assert JudgeConfig(record_times="iso").preset == "default, except record_times"


def test_the_preset_that_was_chosen_is_recorded_with_every_departure() -> None:
    published = preset_config("published", series_limit=100)
    assert published.preset == "published, except series_limit"
    assert preset_config("default", **PUBLISHED).preset == (
        "default, except uid_table, record_times, repair"
    )
    assert JudgeConfig.from_dict(published.to_dict()).preset_name == "published"


@pytest.mark.parametrize("wrong", [{"least": -1.0}, {"share": 1.5}, {"least": float("nan")}])
def test_a_tolerance_is_a_number_of_hours_and_a_share(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="a tolerance has hours from 0"):
        Tolerance(**wrong)


def test_a_run_sets_the_attempts_at_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ScriptedModel(["no list"] * 3)
    monkeypatch.setattr(tools, "find_model", lambda *_: model)
    found = tools.build_judge("prompted", JudgeConfig(attempts=2), {}).judge(game())
    assert isinstance(found, Unjudged)
    assert len(model.requests) == 2


def test_a_run_from_before_the_presets_was_judged_as_published() -> None:
    before = {
        k: v for k, v in JudgeConfig().to_dict().items() if k not in ("record_times", "repair")
    }
    assert JudgeConfig.from_dict(before).preset == "published"
    assert JudgeConfig.from_dict(JudgeConfig().to_dict()) == JudgeConfig()


LARGE = tuple(series(f"lab:{n:04d}::", make_observation(1, "7")) for n in range(1000))


def large_game() -> JudgeInput:
    rows = [Candidate(event="fever", time=1.0)]
    return judge_input(rows, rows, note=NOTE, anchor=ANCHOR, seed=1, series=LARGE)


def test_fewer_series_are_tried_in_steps() -> None:
    assert list_limits(large_game()) == [JUDGE_SERIES, *SERIES_STEPS]
    assert list_limits(replace(large_game(), summaries=LARGE[:200])) == [900, 150, 80, 40]
    assert list_limits(replace(large_game(), series_limit=100)) == [100, 80, 40]
    assert list_limits(replace(large_game(), summaries=())) == [900]


def test_a_record_that_does_not_fit_is_shortened_step_by_step_and_its_size_is_recorded() -> None:
    shown = []
    for context in (128_000, 20_000, 13_000):
        model = ScriptedModel(['{"findings": []}'], limits=Limits(context=context, schema=True))
        found = PromptedJudge(Asker("judge", model, MemoryLedger())).judge(large_game())
        assert isinstance(found, Judged)
        text = model.requests[0].messages[1].content
        assert f"At most {found.series_shown} types are shown" in text
        assert f"... and {1000 - found.series_shown} more event types omitted." in text
        shown.append(found.series_shown)
    assert shown == sorted(shown, reverse=True)
    assert shown[0] == 900
    assert set(shown[1:]) < set(SERIES_STEPS)

    model = ScriptedModel([], limits=Limits(context=4_000, schema=True))
    found = PromptedJudge(Asker("judge", model, MemoryLedger())).judge(large_game())
    assert isinstance(found, Unjudged)
    assert found.reasons[0].startswith("PromptTooLong")
