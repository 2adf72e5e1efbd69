"""The variants without identifiers and from summaries, scripted.

What is shown, accepted, refused, recorded.
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehr.presentation.rendering import retrieval_text
from ehr.summarise import summarise
from llm_runtime.base import Limits
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.errors import AttemptsExhausted
from llm_runtime.prompts import load
from llm_runtime.providers.scripted import ScriptedModel
from tests.unit.ehr.rows import table
from tests.unit.timelines.prompted.answers import block, make_good_model
from timelines.backbones.prompted.backbone import ROLES, prompted_backbone
from timelines.backbones.prompted.reviser import convert_clocks
from timelines.backbones.prompted.tables import CITING_COLUMNS, hours_text
from timelines.backbones.prompted.unidentified import CITING_COLUMNS as NAMED_COLUMNS
from timelines.domain import (
    Anchor,
    Entry,
    Evidence,
    Expansion,
    KeptSummary,
    NamedTimeline,
    NoRows,
    RowLink,
    SourceRow,
    TaggedNote,
    TaggedSpan,
    TimeKind,
    Timeline,
    TimelineKind,
    Window,
)
from timelines.pipeline.config import PipelineConfig, Preset, preset_config
from timelines.pipeline.summaries import revise_by_summaries
from timelines.pipeline.uids import assign_uids
from timelines.pipeline.unidentified import revise_unidentified

NOTE = "Fever for two days. Lactate 4.1, then fluids. Sent home."
WORDS = ("Fever", "Lactate 4.1", "Sent home")
WINDOW = Window(Anchor(datetime(2180, 3, 4, 14, 38)), 30.0)
TABLE = "mention|time|bounds|known\nFever|-48|[-60,-40]|1\nLactate 4.1|6.5|[6.5,6.5]|1\nSent home|N/A|[N/A, 30]|0"


def make_tagged_note(note: str = NOTE) -> TaggedNote:
    return TaggedNote(
        note,
        assign_uids(
            [TaggedSpan(note.index(w), note.index(w) + len(w), w) for w in WORDS], rng=Random(0)
        ),
    )


def text_only(note: TaggedNote, later: float = 0.0) -> Timeline:
    entries = [
        Entry(o.uid, o.ordinal + later, context=(note.inventory.uids[0],) if o.ordinal else ())
        for o in note.inventory
    ]
    return Timeline.complete(note.inventory, entries, TimelineKind.TEXT_ONLY)


def answer(*tables: str) -> str:
    listed = [
        {"timeline_id": f"timeline_{n}", "data": data, "reasoning": "weighed"}
        for n, data in enumerate(tables, start=1)
    ]
    return json.dumps({"reasoning_summary": "compared", "timelines": listed})


STAY = SourceRow(1, 0.0, "admission:hospital admission", time_kind=TimeKind.ADMINISTRATIVE)


def revise_without_uids(
    model: ScriptedModel,
    ledger: MemoryLedger,
    note: TaggedNote,
    alternatives: int = 1,
    **config: Any,
) -> list[NamedTimeline]:
    """Revise in the published preset; settings may differ from it."""
    askers = {role: Asker(role, model, ledger) for role in ROLES}
    settings = preset_config(Preset.PUBLISHED, **config)
    reviser = prompted_backbone(askers, settings).unidentified_reviser
    assert reviser is not None
    uid = note.inventory.uids[1]
    lactate = SourceRow(7, 6.5, "lab:lactate:blood", "4.1", "mmol/L", time_kind=TimeKind.COLLECTION)
    venous = SourceRow(8, 9.0, "lab:lactate|venous", "2.0", "", time_kind=TimeKind.RESULT)
    rows = (Evidence(uid, 0, lactate, 1, 0.7, 0.9), Evidence(uid, 0, venous, 2, 0.44, None))
    return list(
        revise_unidentified(
            reviser,
            note,
            text_only(note),
            Expansion(
                rows,
                {note.inventory.uids[0]: NoRows.OVER_BUDGET},
                (STAY,) if settings.cite_rows else (),
            ),
            WINDOW,
            alternatives=alternatives,
            exactly=settings.force_alternatives,
        )
    )


def test_without_identifiers_the_published_prompt_has_none_and_asks_for_none() -> None:
    model, note = ScriptedModel([answer(TABLE)]), make_tagged_note()
    (timeline,) = revise_without_uids(model, MemoryLedger(), note)
    shown = model.requests[0].messages[1].content
    assert not [uid for uid in note.inventory.uids if uid in shown]
    assert "identifier" not in shown
    assert "context" not in shown
    assert model.requests[0].schema is None
    assert block(model.requests[0], "NOTE") == NOTE
    assert block(model.requests[0], "TIMELINE").split("\n")[1:] == [
        "Fever | 0 | [N/A, N/A] | 0",
        "Lactate 4.1 | 1 | [N/A, N/A] | 0",
        "Sent home | 2 | [N/A, N/A] | 0",
    ]
    # Relevance as in the full variant: of the rerank, else the cosine.
    assert block(model.requests[0], "EVIDENCE").split("\n") == [
        "mention | event | value | hours | kind of moment | relevance",
        "Lactate 4.1 | lab:lactate:blood | 4.1 mmol/L | 6.5 | collection | 0.90",
        "Lactate 4.1 | lab:lactate/venous | 2.0 | 9 | result | 0.44",
    ]
    assert [
        (line.event, line.time, line.lower, line.upper, line.known) for line in timeline.entries
    ] == [
        ("Fever", -48, -60, -40, True),
        ("Lactate 4.1", 6.5, 6.5, 6.5, True),
        ("Sent home", None, None, 30, False),
    ]


CITING_HEADER = "mention|time|bounds|known|rows|near"
CITING = (
    f"{CITING_HEADER}\nFever|-48|[-60,-40]|1|[]|[r1, r3]\nLactate 4.1|6.5|[6.5,6.5]|1|[r2]|[]\n"
    "Sent home|N/A|[N/A, 30]|0|[]|[]"
)
LONG = "two days before the admission " + "x" * 100


def explain(table: str, words: str) -> str:
    """Give the first line of a table a reason; the others end without one."""
    header, first, *others = table.split("\n")
    return "\n".join([f"{header}|why", f"{first}|{words}", *others])


def test_without_identifiers_the_default_prompt_prints_numbered_rows() -> None:
    model, note = ScriptedModel([answer(explain(CITING, LONG))]), make_tagged_note()
    (timeline,) = revise_without_uids(model, MemoryLedger(), note, cite_rows=True)
    shown = model.requests[0].messages[1].content
    assert not [uid for uid in note.inventory.uids if uid in shown]
    assert "identifier" not in shown
    assert block(model.requests[0], "TIMELINE").split("\n") == [
        "mention | time | bounds | known | rows found for it",
        "Fever | 0 | [N/A, N/A] | 0 | over budget",
        "Lactate 4.1 | 1 | [N/A, N/A] | 0 | r2 r3",
        "Sent home | 2 | [N/A, N/A] | 0 | none found",
    ]
    assert block(model.requests[0], "EVIDENCE").split("\n") == [
        "== the stay",
        "r1 | 0 | admission:hospital admission",
        "",
        "== lab:lactate:blood | mmol/L | collection",
        "r2 | 6.5 | 4.1",
        "",
        "== lab:lactate/venous | result",
        "r3 | 9 | 2.0",
    ]
    fever, lactate, home = timeline.entries
    assert [(line.event, line.time) for line in timeline.entries] == [
        ("Fever", -48),
        ("Lactate 4.1", 6.5),
        ("Sent home", None),
    ]
    assert (fever.adopted_rows, fever.near_rows, fever.link) == ((), (1, 8), None)
    assert fever.reason == LONG, "whole, as in the full variant"
    assert (lactate.adopted_rows, lactate.near_rows) == ((7,), ())
    assert lactate.link is RowLink.CITED
    assert lactate.reason == "the model cites the rows that record it"
    assert (home.adopted_rows, home.near_rows, home.link, home.reason) == ((), (), None, "")
    assert timeline.reasoning == "compared\n\nweighed"


def test_without_identifiers_only_identifiers_differ_from_the_full_prompt() -> None:
    """Rules, columns and keys are the same, but for those of identifiers."""
    full, without = (
        load(f"timelines/{name}").parts[-1][1] for name in ("revise_table", "revise_no_uid")
    )
    rules = re.compile(r"## Your task.*?(?=## What must not change)", re.DOTALL)
    assert rules.search(full) is not None
    assert rules.findall(full) == rules.findall(without)
    assert [name for name in CITING_COLUMNS if name not in ("uid4", "context uid4s")] == list(
        NAMED_COLUMNS
    )
    for words in ("with exactly two keys", "has exactly three keys", 'A last column, "why", gives'):
        assert words in full
        assert words in without
    assert "uid4" not in without
    assert "identifier" not in without


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Fever|0|[0,0]|1|[r1]|[]", ""),
        ("Fever|6.52|[0,9]|1|[2]|[]", ""),
        ("Fever|9|[0,9]|1|[r1, r2, r3]|[]", ""),
        (
            "Fever|6.53|[0,9]|1|[r2]|[]",
            "the time equals the hour of none of the rows that it cites",
        ),
        ("Fever|N/A|[0,9]|1|[r2]|[]", "cites rows for N/A"),
        ("Fever|9|[0,9]|1|[r4]|[]", "rows are not at most 3 numbers of printed rows in brackets"),
        ("Fever|0|[0,9]|1|[r0]|[]", "rows are not at most 3 numbers of printed rows in brackets"),
        ("Fever|9|[0,9]|1|r3|[]", "rows are not at most 3 numbers of printed rows in brackets"),
        (
            "Fever|9|[0,9]|1|[r1,r2,r3,r3]|[]",
            "rows are not at most 3 numbers of printed rows in brackets",
        ),
        ("Fever|0|[0,9]|1|[r1]|[r2,r3]", ""),
        ("Fever|9|[0,9]|1|[]|[r1, 2, r3]", ""),
        ("Fever|0|[0,9]|1|[r1]|[r1]", "a row is named twice"),
        ("Fever|0|[0,9]|1|[]|[r2, r2]", "a row is named twice"),
        ("Fever|0|[0,9]|1|[]|[r4]", "near are not at most 5 numbers of printed rows in brackets"),
        (
            "Fever|0|[0,9]|1|[]|[r1,r1,r1,r1,r1,r1]",
            "near are not at most 5 numbers of printed rows in brackets",
        ),
    ],
)
def test_rows_are_cited_without_identifiers_by_the_same_rules(line: str, reason: str) -> None:
    ledger, table = MemoryLedger(), f"{CITING_HEADER}\n{line}"
    model = ScriptedModel([answer(table)] * 3)
    if not reason:
        assert revise_without_uids(model, ledger, make_tagged_note(), cite_rows=True)
        return
    with pytest.raises(AttemptsExhausted):
        revise_without_uids(model, ledger, make_tagged_note(), cite_rows=True)
    assert [call.reasons for call in ledger.calls] == [(f"timeline 1: row 1: {reason}",)] * 3


def test_a_line_that_cites_nothing_keeps_its_column() -> None:
    with pytest.raises(
        AttemptsExhausted, match=r"row 1 is not mention\|time\|bounds\|known\|rows\|near"
    ):
        revise_without_uids(
            ScriptedModel([answer(f"{CITING_HEADER}\nFever|0|[0,0]|1")] * 3),
            MemoryLedger(),
            make_tagged_note(),
            cite_rows=True,
        )


@pytest.mark.parametrize("count", [1, 2, 3])
def test_without_identifiers_fewer_timelines_are_enough_unless_forced(count: int) -> None:
    def ask(forced: bool) -> list[NamedTimeline]:
        return revise_without_uids(
            ScriptedModel([answer(*[TABLE] * count)] * 3),
            MemoryLedger(),
            make_tagged_note(),
            alternatives=3,
            force_alternatives=forced,
        )

    assert [t.alternative for t in ask(forced=False)] == [1, 2, 3][:count]
    if count == 3:
        assert len(ask(forced=True)) == 3
    else:
        with pytest.raises(AttemptsExhausted, match=f"there are {count} timelines, exactly 3"):
            ask(forced=True)


def test_an_event_that_is_lost_is_what_the_variant_measures() -> None:
    short = "\n".join(TABLE.split("\n")[:2])
    first, second = revise_without_uids(
        ScriptedModel([answer(TABLE, short)]), MemoryLedger(), make_tagged_note(), alternatives=2
    )
    assert (len(first.entries), len(second.entries)) == (3, 1)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (answer(TABLE, TABLE), "there are 2 timelines, exactly 1 are asked for"),
        (
            answer("mention|time|known\nFever|1|1"),
            "timeline 1: the first line must be the header mention|time|bounds|known",
        ),
        (answer("mention|time|bounds|known"), "timeline 1 is empty"),
        (answer(TABLE + "\nRash|soon|[0,1]|0"), "timeline 1: row 4: time or bounds are not hours"),
        (
            answer(TABLE + "\nRash|5|[0,1]|0"),
            "timeline 1: row 4: the bounds do not contain the time",
        ),
        (
            answer(TABLE + "\nRash|5|[0,9]|yes"),
            "timeline 1: row 4 is not mention|time|bounds|known",
        ),
        (TABLE, "not valid JSON at line 1, column 1"),
    ],
)
def test_wrong_tables_are_refused_three_times_and_quoted_never(wrong: str, reason: str) -> None:
    ledger = MemoryLedger()
    with pytest.raises(AttemptsExhausted) as caught:
        revise_without_uids(ScriptedModel([wrong] * 3), ledger, make_tagged_note())
    assert [call.reasons for call in ledger.calls] == [(reason,)] * 3
    assert "Rash" not in str(caught.value)


def test_what_was_cut_from_the_note_is_recorded() -> None:
    ledger, long = MemoryLedger(), make_tagged_note(NOTE + " Nothing else happened." * 40)
    revise_without_uids(
        ScriptedModel([answer(TABLE)]),
        ledger,
        long,
        revise_note_characters=300,
        revise_local_characters=80,
    )
    shown = block(ledger.calls[0].request, "NOTE")
    assert len(shown) < 300 < len(long.text)
    assert [call.shortened for call in ledger.calls] == [
        f"note of {len(long.text)} characters shown within 80 characters of each event"
    ]


@pytest.mark.parametrize("schema", [True, False])
def test_by_summaries_no_time_rests_on_a_row(schema: bool) -> None:
    model, note = make_good_model(schema=schema), make_tagged_note()
    reviser = prompted_backbone(
        {role: Asker(role, model, MemoryLedger()) for role in ROLES}, PipelineConfig()
    ).summary_reviser
    assert reviser is not None
    text = "lab:lactate\ncount 2, from 2180-03-04T21:08 to 2180-03-04T22:38:30\nfirst 4.1 at 2180-03-04T21:08"
    summary = KeptSummary(note.inventory.uids[1], 0, "lab:lactate", text, 1, 0.7, 0.93)
    found = revise_by_summaries(
        reviser, note, text_only(note, 20.0), [summary], WINDOW, alternatives=2
    )
    assert block(model.requests[0], "EVIDENCE").split("\n") == [
        "uid4 | summary",
        f"{note.inventory.uids[1]} | lab:lactate count 2, from 6.5 h to 8.01 h first 4.1 at 6.5 h",
    ]
    assert "relevance (" not in model.requests[0].messages[1].content
    assert [t.alternative for t in found] == [1, 2]
    assert [e.adopted_rows for t in found for e in t] == [()] * 6
    assert {e.reason for e in found[0]} == {"revised by the model from summaries of series"}


MINUTES = st.integers(-600_000, 600_000)
OBSERVED = st.lists(
    st.tuples(MINUTES, st.sampled_from(["4.1", "7", "alert", "confused at night", ""])),
    min_size=1,
    max_size=20,
)


@given(OBSERVED)
def test_a_summary_is_shown_in_hours_from_admission_and_in_no_clock_time(
    observed: list[tuple[int, str]],
) -> None:
    """Each moment of a rendered series is in hours, with no clock time left."""
    anchor = WINDOW.anchor
    (series,) = summarise(
        table([(minutes / 60, "chart:state::", value) for minutes, value in observed])
    )
    text = retrieval_text(series)
    shown = convert_clocks(text, anchor)
    assert not re.search(r"\d{4}-\d\d-\d\dT", shown)
    moments = [
        datetime.fromisoformat(found) for found in re.findall(r"\d{4}-\d\d-\d\dT[\d:.]+", text)
    ]
    assert moments
    assert re.findall(r"(?:at|from|to) (-?[\d.]+) h", shown) == [
        hours_text(anchor.hours(moment)) for moment in moments
    ]


def test_a_value_that_only_looks_like_a_moment_stays_as_it_is() -> None:
    assert convert_clocks("seen at 2180-99-04T21:08", WINDOW.anchor) == "seen at 2180-99-04T21:08"


def test_limits_of_a_server_without_schema_change_nothing_without_identifiers() -> None:
    model = ScriptedModel([answer(TABLE)], limits=Limits(context=128_000, schema=False))
    assert len(revise_without_uids(model, MemoryLedger(), make_tagged_note())) == 1
