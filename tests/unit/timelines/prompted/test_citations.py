"""A revision that cites printed rows: what it sees, and what is accepted.

Lactate 4.1 (the second occurrence) has rows r3 at 6.5 h and r4 at 8 h, the fever row r5; r1 and r2
are the stay itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from random import Random
from typing import Any

import pytest

from llm_runtime.base import Limits
from llm_runtime.calls.calling import Asker, MemoryLedger
from llm_runtime.errors import AttemptsExhausted
from llm_runtime.providers.scripted import ScriptedModel
from tests.unit.timelines.prompted.answers import block
from timelines.backbones.prompted.backbone import ROLES, prompted_backbone
from timelines.backbones.prompted.reviser import revision_schema
from timelines.backbones.prompted.tables import timeline_table
from timelines.domain import (
    Anchor,
    Entry,
    Evidence,
    Expansion,
    Inventory,
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
from timelines.pipeline.config import Preset, preset_config
from timelines.pipeline.revision import revise
from timelines.pipeline.uids import assign_uids

NOTE = "Fever for two days. Lactate 4.1, then lactate 2.0. No rash. Sent home."
WORDS = ("Fever", "Lactate 4.1", "lactate 2.0", "No rash", "Sent home")
WINDOW = Window(Anchor(datetime(2180, 3, 4, 14, 38)), 30.0)
TAGGED = TaggedNote(
    NOTE,
    assign_uids(
        [TaggedSpan(NOTE.index(w), NOTE.index(w) + len(w), w) for w in WORDS], rng=Random(0)
    ),
)
UIDS = FEVER, LACTATE, REPEAT, RASH, HOME = TAGGED.inventory.uids
LAB = "lab:lactate:blood"
ROWS = {
    1: SourceRow(50, -4.5, "transfer:ed:", "ED", time_kind=TimeKind.ADMINISTRATIVE),
    2: SourceRow(51, 0.0, "admission:hospital admission:", time_kind=TimeKind.ADMINISTRATIVE),
    3: SourceRow(7, 6.5, LAB, "4.1", "mmol/L", time_kind=TimeKind.COLLECTION),
    4: SourceRow(8, 8.0, LAB, "2.0", "mmol/L", time_kind=TimeKind.COLLECTION),
    5: SourceRow(9, -3.0, "vital:temperature:", "39", time_kind=TimeKind.CHARTED),
}
FOUND = Expansion(
    (
        Evidence(FEVER, 0, ROWS[5], 1, 0.5, 0.5),
        Evidence(LACTATE, 0, ROWS[3], 1, 0.7, 0.9),
        Evidence(LACTATE, 0, ROWS[4], 1, 0.7, 0.9),
    ),
    {
        REPEAT: NoRows.OVER_BUDGET,
        RASH: NoRows.BELOW_THRESHOLD,
        HOME: NoRows.NONE_FOUND,
    },
    (ROWS[1], ROWS[2]),
)
BEFORE = Timeline.complete(
    TAGGED.inventory,
    [Entry(uid, float(n), context=(FEVER,) if n else ()) for n, uid in enumerate(UIDS)],
    TimelineKind.TEXT_ONLY,
)


def answer(*timelines: dict[str, Any], **more: Any) -> str:
    """Return an answer in which every row that is not given is kept."""
    return json.dumps(
        {
            "reasoning_summary": "two lactates",
            "timelines": [{**dict.fromkeys(UIDS, "keep"), **rows} for rows in timelines],
            **more,
        }
    )


def revise_by(
    text: str, alternatives: int = 3, preset: Preset = Preset.DEFAULT, **settings: Any
) -> tuple[tuple[Timeline, ...], ScriptedModel, MemoryLedger]:
    """Return the revision of a model that answers `text`, up to three times."""
    schema = settings.pop("schema", True)
    model = ScriptedModel([text] * 3, limits=Limits(context=128_000, schema=schema))
    ledger, config = MemoryLedger(), preset_config(preset, **settings)
    stages = prompted_backbone({role: Asker(role, model, ledger) for role in ROLES}, config)
    found = FOUND if config.cite_rows else Expansion(FOUND.evidence)
    timelines = revise(
        stages.reviser,
        TAGGED,
        BEFORE,
        found,
        WINDOW,
        alternatives=alternatives,
        exactly=config.force_alternatives,
        config=config,
    )
    return timelines, model, ledger


def reject(text: str, **settings: Any) -> str:
    """Return why an answer is rejected, as the next attempt reads it."""
    with pytest.raises(AttemptsExhausted) as caught:
        revise_by(text, **settings)
    assert len(caught.value.reasons) == 3
    (reason,) = set(caught.value.reasons)
    return "; ".join(reason)


def entry(row: object, uid: str = LACTATE, **more: Any) -> Entry:
    ((timeline, *_), _, _) = revise_by(answer({uid: row, **more}))
    return timeline.by_uid[uid]


def test_the_prompt_prints_rows_once_and_their_numbers_behind_each_occurrence() -> None:
    _, model, _ = revise_by(answer({}))
    (request,) = model.requests
    assert block(request, "TIMELINE").split("\n") == [
        "uid4 | mention | time | bounds | known | context uid4s | rows found for it",
        f"{FEVER} | Fever | 0 | [N/A, N/A] | 0 | [] | r5",
        f"{LACTATE} | Lactate 4.1 | 1 | [N/A, N/A] | 0 | [{FEVER}] | r3 r4",
        f"{REPEAT} | lactate 2.0 | 2 | [N/A, N/A] | 0 | [{FEVER}] | over budget",
        f"{RASH} | No rash | 3 | [N/A, N/A] | 0 | [{FEVER}] | below threshold",
        f"{HOME} | Sent home | 4 | [N/A, N/A] | 0 | [{FEVER}] | none found",
    ]
    assert block(request, "EVIDENCE") == (
        "== the stay\nr1 | -4.5 | transfer:ed ED\nr2 | 0 | admission:hospital admission\n\n"
        "== lab:lactate:blood | mmol/L | collection\nr3 | 6.5 | 4.1\nr4 | 8 | 2.0\n\n"
        "== vital:temperature | charted\nr5 | -3 | 39"
    )


@pytest.mark.parametrize(
    ("time", "lower", "upper", "printed"),
    [
        (1.47, -22.68, 26.07, "1.47 | [-22.7, 26.1]"),
        (1.47, -8.52, 11.46, "1.47 | [-8.52, 11.46]"),
        (-48.0, None, -36.25, "-48 | [N/A, -36.2]"),
        (None, -22.68, 26.07, "N/A | [-22.68, 26.07]"),
    ],
)
def test_bounds_that_are_far_from_the_time_have_one_decimal(
    time: float | None, lower: float | None, upper: float | None, printed: str
) -> None:
    fever = Inventory((TAGGED.inventory.by_uid[FEVER],))
    table = timeline_table(fever, {FEVER: Entry(FEVER, time, lower, upper)})
    assert table.split("\n")[1] == f"{FEVER} | Fever | {printed} | 0 | []"


def test_the_published_prompt_prints_relevance_and_no_numbers() -> None:
    _, model, _ = revise_by(answer({}), alternatives=1, preset=Preset.PUBLISHED)
    assert block(model.requests[0], "TIMELINE").split("\n")[1].endswith("| 0 | []")
    assert block(model.requests[0], "EVIDENCE").split("\n")[:2] == [
        "uid4 | event | value | hours | kind of moment | relevance",
        f"{FEVER} | vital:temperature: | 39 | -3 | charted | 0.50",
    ]


@pytest.mark.parametrize(
    ("row", "cited", "near"),
    [
        ([6.5, 6.5, 6.5, 1, [3]], (7,), ()),
        ([6.52, None, None, 1, [3]], (7,), ()),
        ([6.48, None, None, 1, [3]], (7,), ()),
        ([8, 6, 9, 1, [3, 4], [5]], (7, 8), (9,)),
        ([8, 6, 9, 1, [3, 4, 5]], (7, 8, 9), ()),
        ([1.5, 0, 9, 0, [], [1, 2, 3, 4, 5]], (), (50, 51, 7, 8, 9)),
        ([-3, None, None, 1, [5]], (9,), ()),
        ([0, None, None, 1, [2]], (51,), ()),
        ([None, None, None, 0, [], [3]], (), (7,)),
        ([7.7, None, None, 0], (), ()),
    ],
)
def test_rows_that_revision_saw_may_be_cited(
    row: list[object], cited: tuple[int, ...], near: tuple[int, ...]
) -> None:
    """Also those found for another occurrence, and those of the stay itself."""
    found = entry(row)
    assert (found.adopted_rows, found.near_rows) == (cited, near)
    assert found.link is (RowLink.CITED if cited else None)
    assert found.time == row[0]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([6.5, None, None, 1, [6]], f"UID {LACTATE}: a row number that was not printed"),
        ([6.5, None, None, 1, [0]], f"UID {LACTATE}: a row number that was not printed"),
        ([6.5, None, None, 1, [-3]], f"UID {LACTATE}: a row number that was not printed"),
        ([6.5, None, None, 1, [7]], f"UID {LACTATE}: a row number that was not printed"),
        ([6.5, None, None, 1, [3], [6]], f"UID {LACTATE}: a row number that was not printed"),
        (
            [6.53, None, None, 1, [3]],
            f"UID {LACTATE}: the time equals the hour of none of the rows that it cites",
        ),
        (
            [6.47, None, None, 1, [3, 4]],
            f"UID {LACTATE}: the time equals the hour of none of the rows that it cites",
        ),
        ([6.5, None, None, 1, [1, 2, 3, 4]], f"UID {LACTATE}: cites 4 rows, at most 3"),
        ([6.5, None, None, 1, [], [1, 2, 3, 4, 5, 6]], f"{LACTATE}: 6 near rows, at most 5"),
        ([6.5, None, None, 1, [3, 3]], f"{LACTATE}: a row is named twice"),
        ([6.5, None, None, 1, [3], [3]], f"{LACTATE}: a row is named twice"),
        ([6.5, None, None, 1, [3], [4, 4]], f"{LACTATE}: a row is named twice"),
        ([None, None, None, 1, [3]], f"{LACTATE}: rows for a time of N/A"),
        ([6.5, None, None, 1, ["3"]], f"{LACTATE}: rows is not a list of row numbers"),
        ([6.5, None, None, 1, ["r3"]], f"{LACTATE}: rows is not a list of row numbers"),
        ([6.5, None, None, 1, [3.5]], f"{LACTATE}: rows is not a list of row numbers"),
        ([6.5, None, None, 1, [True]], f"{LACTATE}: rows is not a list of row numbers"),
        ([6.5, None, None, 1, 3], f"{LACTATE}: rows is not a list of row numbers"),
        ([6.5, None, None, 1, [3], 4], f"{LACTATE}: near is not a list of row numbers"),
        ([6.5, None, None, 1, [3], [], [], []], f"{LACTATE}: not a list of time, lower, upper"),
    ],
)
def test_other_citations_are_rejected_with_their_reason(row: list[object], reason: str) -> None:
    found = reject(answer({LACTATE: row}))
    assert found.startswith(f"timeline 1: {reason}")
    assert ";" not in found


def test_a_row_that_keeps_the_texts_time_cites_nothing() -> None:
    kept = entry("keep")
    assert (kept.time, kept.adopted_rows, kept.near_rows, kept.link) == (1.0, (), (), None)
    assert kept.reason == "kept as inferred from the text"


def test_a_row_of_the_first_timeline_is_copied_with_its_citations() -> None:
    row = [6.5, 6, 7, 1, [3], [5], [RASH]]
    ((one, two), _, _) = revise_by(answer({LACTATE: row}, {LACTATE: "first", RASH: "first"}))
    copied = two.by_uid[LACTATE]
    assert (copied.adopted_rows, copied.near_rows, copied.link) == ((7,), (9,), RowLink.CITED)
    assert (copied.time, copied.context) == (6.5, (RASH,))
    assert two.by_uid[RASH].adopted_rows == one.by_uid[RASH].adopted_rows == ()


@pytest.mark.parametrize(
    ("row", "context"),
    [
        ([6.5, None, None, 1], (FEVER,)),
        ([6.5, None, None, 1, [3]], (FEVER,)),
        ([6.5, None, None, 1, [3], [5]], (FEVER,)),
        ([6.5, None, None, 1, [3], [5], []], ()),
        ([6.5, None, None, 1, [3], [], [RASH, HOME]], (RASH, HOME)),
    ],
)
def test_a_context_that_is_left_out_stays(row: list[object], context: tuple[str, ...]) -> None:
    assert entry(row).context == context


def test_reasons_of_changes_are_stored_whole() -> None:
    long = "row of the act  \n" + "x" * 200
    why = [
        {"uid4": LACTATE, "words": "the row with 4.1"},
        {"uid4": RASH, "words": long},
        {"uid4": HOME, "words": "a\ud800"},
    ]
    ((found,), _, _) = revise_by(
        answer({LACTATE: [6.5, None, None, 1, [3]], RASH: [9, None, None, 0], "why": why})
    )
    assert found.by_uid[LACTATE].reason == "the row with 4.1"
    assert found.by_uid[RASH].reason == "row of the act " + "x" * 200
    assert found.by_uid[HOME].reason == "kept as inferred from the text"
    assert found.by_uid[FEVER].reason == "kept as inferred from the text"


def test_without_a_reason_the_entry_says_what_the_answer_shows() -> None:
    ((found,), _, _) = revise_by(
        answer({LACTATE: [6.5, None, None, 1, [3]], REPEAT: [9, None, None, 0]})
    )
    assert found.by_uid[LACTATE].reason == "the model cites the rows that record it"
    assert found.by_uid[REPEAT].reason == "revised by the model without a row of its own"


@pytest.mark.parametrize(
    "why",
    [
        "moved",
        [["uid", "words"]],
        [{"uid4": "zzzz", "words": "x"}],
        [{"uid4": LACTATE}],
        [{"uid4": LACTATE, "words": 3}],
        [{"uid4": LACTATE, "words": "x", "more": 1}],
    ],
)
def test_reasons_of_another_form_are_rejected(why: object) -> None:
    assert "why" in reject(answer({"why": why}))


def test_the_reasoning_of_answer_and_timeline_is_kept_with_the_timeline() -> None:
    ((one, two), _, _) = revise_by(answer({"reasoning": "likeliest"}, {"reasoning": " later \n"}))
    assert (one.reasoning, two.reasoning) == (
        "two lactates\n\nlikeliest",
        "two lactates\n\nlater",
    )
    ((bare,), _, _) = revise_by(answer({}, reasoning_summary=""))
    assert bare.reasoning == ""


@pytest.mark.parametrize(("count", "forced"), [(1, False), (2, False), (3, False), (3, True)])
def test_the_schema_asks_for_as_many_timelines_as_may_be_answered(count: int, forced: bool) -> None:
    found, model, _ = revise_by(answer(*[{}] * count), force_alternatives=forced)
    assert len(found) == count
    schema = model.requests[0].schema
    assert schema is not None
    listed = schema["properties"]["timelines"]
    assert (listed["minItems"], listed["maxItems"]) == (3 if forced else 1, 3)
    text = model.requests[0].messages[1].content
    assert ("Write 3 complete revised timelines." in text) is forced
    assert ("at most 3 timelines in all" in text) is not forced


def test_the_schema_allows_only_numbers_that_were_printed() -> None:
    rules = revision_schema(UIDS, UIDS, 2, printed=5)["$defs"]["row"]["anyOf"]
    assert rules[0]["enum"] == ["keep"]
    assert [len(rule["prefixItems"]) for rule in rules[1:]] == [4, 5, 6, 7]
    rows, near, context = rules[-1]["prefixItems"][4:]
    assert (rows["items"]["minimum"], rows["items"]["maximum"], rows["maxItems"]) == (1, 5, 3)
    assert (near["items"]["maximum"], near["maxItems"]) == (5, 5)
    assert context["items"]["enum"] == list(UIDS)
    nothing = revision_schema(UIDS, UIDS, 1, printed=0)["$defs"]["row"]["anyOf"][-1]
    assert [rule["maxItems"] for rule in nothing["prefixItems"][4:]] == [0, 0, 5]


def test_how_many_rows_a_time_cites_and_how_near_it_is_are_settings() -> None:
    row = [6.6, None, None, 1, [3, 4]]
    assert "cites 2 rows, at most 1" in reject(answer({LACTATE: row}), cited_rows=1)
    text = answer({LACTATE: [6.6, None, None, 1, [3]]})
    assert "equals the hour of none" in reject(text)
    ((found,), model, _) = revise_by(text, cited_hours=0.1, cited_rows=1)
    assert found.by_uid[LACTATE].time == 6.6
    request = model.requests[0]
    assert "this very occurrence, at most 1. The time" in request.messages[1].content
    assert request.schema is not None
    row_of = request.schema["$defs"]["row"]["anyOf"][-1]
    assert row_of["prefixItems"][4]["maxItems"] == 1


def test_the_published_preset_infers_links_from_equal_hours() -> None:
    rows = {
        LACTATE: [6.51, None, None, 1],
        REPEAT: [6.5, None, None, 1],
        FEVER: [-3.1, None, None, 1],
    }
    ((found,), _, _) = revise_by(answer(rows), alternatives=1, preset=Preset.PUBLISHED)
    linked = found.by_uid[LACTATE]
    assert (linked.adopted_rows, linked.link) == ((7,), RowLink.INFERRED)
    assert linked.reason == "the revised hour is that of a row found for it"
    assert found.by_uid[REPEAT].adopted_rows == (), "the row was found for another occurrence"
    assert found.by_uid[FEVER].adopted_rows == (), "6 minutes are not the same hour"
    assert {e.link for e in found if not e.adopted_rows} == {None}


def test_the_published_preset_takes_no_row_numbers() -> None:
    reason = reject(
        answer({LACTATE: [6.5, None, None, 1, [3]]}), alternatives=1, preset=Preset.PUBLISHED
    )
    assert reason == f"timeline 1: {LACTATE}: context is not a list of identifiers"


HEADER = "uid4|mention|time|bounds|known|rows|near|context_uid4s"


def table(row: str, header: str = HEADER, number: int = 1) -> str:
    """Return a table answer in which the row of the first lactate is `row`."""
    rows = [
        f"{uid}|{word}|N/A|[N/A, N/A]|0|[]|[]|[]" for uid, word in zip(UIDS, WORDS, strict=True)
    ]
    rows[1] = f"{LACTATE}|Lactate 4.1|{row}"
    data = "\n".join([header, *rows])
    listed = [{"timeline_id": "t", "data": data, "reasoning": "likeliest"}] * number
    return json.dumps({"reasoning_summary": "two lactates", "timelines": listed})


@pytest.mark.parametrize(
    ("row", "cited", "near"),
    [
        ("6.5|[6,7]|1|[r3]|[]|[]", (7,), ()),
        ("8|[6,9]|1|[3, r4]|[r5]|[]", (7, 8), (9,)),
        ("0|[0,0]|1|[r2]|[]|[]", (51,), ()),
        ("6|[6,7]|0|[]|[r3,r4]|[]", (), (7, 8)),
    ],
)
def test_a_table_cites_rows_in_brackets(
    row: str, cited: tuple[int, ...], near: tuple[int, ...]
) -> None:
    ((found,), _, _) = revise_by(table(row), schema=False)
    entry = found.by_uid[LACTATE]
    assert (entry.adopted_rows, entry.near_rows) == (cited, near)
    assert entry.link is (RowLink.CITED if cited else None)
    assert found.reasoning == "two lactates\n\nlikeliest"


def test_a_table_may_say_why_in_a_last_column_as_long_as_it_is() -> None:
    header = "uid4|mention|time|bounds|known|rows|near|context_uid4s|why"
    long = "the row with 4.1, " + "x" * 200
    ((found,), _, _) = revise_by(table(f"6.5|[6,7]|1|[r3]|[]|[]| {long} ", header), schema=False)
    assert found.by_uid[LACTATE].reason == long
    assert found.by_uid[FEVER].reason == "revised by the model without a row of its own"
    found_bare = revise_by(table("6.5|[6,7]|1|[r3]|[]|[]", header), schema=False)[0][0]
    assert found_bare.by_uid[LACTATE].reason == "the model cites the rows that record it"


def test_a_last_column_of_another_name_or_a_further_one_is_rejected() -> None:
    other = "uid4|mention|time|bounds|known|rows|near|context_uid4s|note"
    assert "must be the header" in reject(table("6.5|[6,7]|1|[r3]|[]|[]|x", other), schema=False)
    header = "uid4|mention|time|bounds|known|rows|near|context_uid4s|why"
    found = reject(table("6.5|[6,7]|1|[r3]|[]|[]|x|y", header), schema=False)
    assert "row 2 has 9 columns, not 8" in found


def test_a_model_that_thinks_elsewhere_leaves_the_reasoning_out_of_its_tables() -> None:
    answer = json.loads(table("6.5|[6,7]|1|[r3]|[]|[]"))
    del answer["reasoning_summary"], answer["timelines"][0]["reasoning"]
    ((found,), _, _) = revise_by(json.dumps(answer), schema=False)
    assert found.by_uid[LACTATE].adopted_rows == (7,)
    assert found.reasoning == ""


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("6.53|[6,7]|1|[r3]|[]|[]", "the time equals the hour of none of the rows that it cites"),
        ("6.5|[6,7]|1|[r6]|[]|[]", "a row number that was not printed"),
        ("6.5|[6,7]|1|[r3,r3]|[]|[]", "a row is named twice"),
        ("6.5|[6,7]|1|[r1,r2,r3,r4]|[]|[]", "4 rows, at most 3"),
        ("N/A|[6,7]|1|[r3]|[]|[]", "rows for a time of N/A"),
        ("6.5|[6,7]|1|r3|[]|[]", "rows are not a list of row numbers in brackets"),
        ("6.5|[6,7]|1|[x3]|[]|[]", "rows are not a list of row numbers in brackets"),
        ("6.5|[6,7]|1|[r3]|[]", "row 2 has 7 columns, not 8"),
    ],
)
def test_a_table_that_cites_wrongly_is_rejected_with_the_reason(row: str, reason: str) -> None:
    assert reason in reject(table(row), schema=False)


def test_a_table_without_the_columns_of_rows_is_rejected() -> None:
    header = "uid4|mention|time|bounds|known|context_uid4s"
    found = reject(table("6.5|[6,7]|1|[r3]|[]|[]", header), schema=False)
    assert found.startswith("timeline 1: the first line must be the header uid4 | mention | time")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_tables_may_be_fewer_too(number: int) -> None:
    found, _, _ = revise_by(table("6.5|[6,7]|1|[r3]|[]|[]", number=number), schema=False)
    assert [t.alternative for t in found] == [1, 2, 3][:number]


def test_a_rejected_citation_is_asked_for_again_with_its_reason() -> None:
    wrong = answer({LACTATE: [6.6, None, None, 1, [3]]})
    model = ScriptedModel([wrong, answer({LACTATE: [6.5, None, None, 1, [3]]})])
    stages = prompted_backbone(
        {role: Asker(role, model, MemoryLedger()) for role in ROLES}, preset_config(Preset.DEFAULT)
    )
    timelines: Sequence[Timeline] = stages.reviser.revise(TAGGED, BEFORE, FOUND, WINDOW, 3)
    assert timelines[0].by_uid[LACTATE].adopted_rows == (7,)
    assert "the time equals the hour of none of the rows" in model.requests[1].messages[-1].content
