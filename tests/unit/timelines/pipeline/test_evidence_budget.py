"""Stage 5 of the default preset: a budget in tokens, filled in rounds.

Prices by hand: a row costs 5 + 14 characters and its value, the first row of a series 12 and its
name more; 2.5 characters are a token.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timelines.domain import (
    Candidate,
    Entry,
    Expansion,
    Inventory,
    Lane,
    NoRows,
    Occurrence,
    SourceRow,
    TimeKind,
    Timeline,
    TimelineKind,
)
from timelines.pipeline.backbone import Backbone
from timelines.pipeline.config import PROTOCOL, PipelineConfig, Preset, preset_config
from timelines.pipeline.expansion import (
    MOST_OF_SERIES,
    Caps,
    expand,
    fill_rounds,
    find_caps,
)
from timelines.pipeline.infusions import find_other_half, split_runs

A, B, C = "0a1b", "a5d3", "c0de"
LAB = "lab:lactate:blood"
DEFAULT_CAPS = Caps(8)
START, END = "med:norepinephrine:start", "med:norepinephrine:end"


def row(
    index: int,
    time: float | None,
    value: str = "",
    event: str = "e",
    kind: TimeKind = TimeKind.UNKNOWN,
) -> SourceRow:
    return SourceRow(index, time, event, value, time_kind=kind)


def kept(uid: str, event: str, rho: float = 0.5, query: int = 0, rank: int = 1) -> Candidate:
    return Candidate(uid, query, event, rank, 0.5, rho, kept=True, fate="kept")


def run(
    mentions: dict[str, str],
    candidates: Sequence[Candidate],
    rows: Sequence[SourceRow],
    caps: Caps = DEFAULT_CAPS,
    lanes: dict[str, Lane] | None = None,
    config: PipelineConfig = PROTOCOL,
) -> Expansion:
    """Expand for occurrences at hour 0, in the order given."""
    inventory = Inventory(
        tuple(
            Occurrence(uid, n, mention, None, None, lane=(lanes or {}).get(uid, Lane.FINDING))
            for n, (uid, mention) in enumerate(mentions.items())
        )
    )
    text = Timeline.complete(inventory, [Entry(uid, 0) for uid in mentions], TimelineKind.TEXT_ONLY)
    by_event: dict[str, list[SourceRow]] = {}
    for item in rows:
        by_event.setdefault(item.event, []).append(item)
    return expand(
        inventory,
        text,
        candidates,
        by_event,
        discharge=None,
        caps=caps,
        config=config,
    )


def indices(found: Expansion, uid: str = A) -> list[int]:
    return [e.row.row_index for e in found.evidence if e.uid == uid]


# ---------------------------------------------------------------------------------------------
# Rows of one occurrence


def test_the_best_rows_of_all_series_precede_the_second_of_the_first() -> None:
    rows = [
        row(10 * n + i, i + 1.0, event=event) for n, event in enumerate("efg") for i in range(3)
    ]
    candidates = [kept(A, "g", 0.3), kept(A, "e", 0.9, rank=2), kept(A, "f", 0.6, rank=3)]
    found = run({A: "fever"}, candidates, rows, Caps(5))
    assert indices(found) == [0, 10, 20, 1, 11]


def test_a_row_that_states_the_value_leads_by_two_places() -> None:
    rows = [
        *(row(i, i + 1.0, "2.0", "e") for i in range(3)),
        *(row(10 + i, i + 1.0, value, "f") for i, value in enumerate(["3.0", "4.1", "4.1"])),
    ]
    found = run({A: "lactate 4.1"}, [kept(A, "e", 0.9), kept(A, "f", 0.1, rank=2)], rows)
    assert indices(found) == [11, 12, 0, 1, 2, 10]


def test_a_series_that_records_the_act_precedes_a_more_relevant_one() -> None:
    rows = [
        row(1, 1.0, event="order:heparin:", kind=TimeKind.ORDER),
        row(2, 9.0, event="med:heparin:", kind=TimeKind.ADMINISTRATION),
    ]
    candidates = [kept(A, "order:heparin:", 0.9), kept(A, "med:heparin:", 0.2, rank=2)]
    assert indices(run({A: "heparin given"}, candidates, rows)) == [2, 1]
    assert indices(run({A: "heparin"}, candidates, rows)) == [1, 2]


def test_a_series_brings_at_most_twelve_rows() -> None:
    rows = [row(i, float(i)) for i in range(20)]
    assert indices(run({A: "fever"}, [kept(A, "e")], rows, Caps())) == list(range(MOST_OF_SERIES))


def test_history_and_plans_carry_one_row_and_every_other_kind_eight() -> None:
    rows = [row(i, float(i)) for i in range(20)]
    for lane in Lane:
        found = run({A: "fever"}, [kept(A, "e")], rows, lanes={A: lane})
        most = 1 if lane in (Lane.HISTORY, Lane.PLAN) else 8
        assert len(found.evidence) == most, lane
        two = run(
            {A: "fever"},
            [kept(A, "e")],
            rows,
            lanes={A: lane},
            config=PipelineConfig(rows_per_history=2),
        )
        assert len(two.evidence) == (2 if most == 1 else 8), lane


# ---------------------------------------------------------------------------------------------
# Starts and stops


INFUSION = {
    START: [row(0, 1.0, event=START), row(1, 10.0, event=START), row(4, 40.0, event=START)],
    END: [row(2, 5.0, event=END), row(3, 20.0, event=END), row(5, 0.5, event=END)],
}


@pytest.mark.parametrize(("index", "other"), [(0, 2), (1, 3), (4, None), (2, 0), (3, 1), (5, None)])
def test_each_start_of_a_repeated_infusion_has_its_own_stop(index: int, other: int | None) -> None:
    (chosen,) = (r for rows in INFUSION.values() for r in rows if r.row_index == index)
    found = find_other_half(chosen, INFUSION)
    assert (None if found is None else found.row_index) == other


def test_an_order_ends_with_a_stop_and_at_the_same_hour_too() -> None:
    rows = {
        "order:heparin:start": [row(0, 3.0, event="order:heparin:start")],
        "order:heparin:stop": [row(1, 3.0, event="order:heparin:stop")],
    }
    assert find_other_half(rows["order:heparin:start"][0], rows) == row(
        1, 3.0, event="order:heparin:stop"
    )
    assert find_other_half(rows["order:heparin:stop"][0], rows) == row(
        0, 3.0, event="order:heparin:start"
    )


@pytest.mark.parametrize("event", [LAB, "med:heparin", "start", "med:heparin:administered"])
def test_a_row_that_is_neither_start_nor_stop_is_alone(event: str) -> None:
    rows = {event: [row(0, 1.0, event=event)], **INFUSION}
    assert find_other_half(rows[event][0], rows) is None


def test_a_pair_counts_once_and_the_other_half_names_the_series_that_was_found() -> None:
    every = [r for rows in INFUSION.values() for r in rows]
    found = run({A: "norepinephrine started"}, [kept(A, START)], every, Caps(2))
    assert [(e.row.row_index, e.series, e.found_in) for e in found.evidence] == [
        (0, "", START),
        (2, START, START),
        (1, "", START),
        (3, START, START),
    ]


def test_a_history_may_carry_one_pair() -> None:
    every = [r for rows in INFUSION.values() for r in rows]
    found = run({A: "pressors"}, [kept(A, START)], every, lanes={A: Lane.HISTORY})
    assert indices(found) == [0, 2]


def test_a_pair_found_through_both_series_is_there_once() -> None:
    every = [r for rows in INFUSION.values() for r in rows]
    candidates = [kept(A, START, 0.9), kept(A, END, 0.8, rank=2)]
    found = indices(run({A: "norepinephrine stopped"}, candidates, every))
    assert sorted(found) == [0, 1, 2, 3, 4, 5]


def test_a_stop_after_the_last_hour_is_no_other_half() -> None:
    rows = [row(0, 1.0, event=START), row(1, 113.0, event=END)]
    inventory = Inventory((Occurrence(A, 0, "norepinephrine", None, None),))
    text = Timeline.complete(inventory, [Entry(A, 0)], TimelineKind.TEXT_ONLY)
    found = expand(
        inventory,
        text,
        [kept(A, START)],
        {START: rows[:1], END: rows[1:]},
        discharge=100.0,
        caps=Caps(8),
        config=PipelineConfig(),
    )
    assert indices(found) == [0]


# ---------------------------------------------------------------------------------------------
# Runs of infusions


def rate(index: int, start: float, end: float | None, value: str = "0.05") -> list[SourceRow]:
    """Return the start of one rate, `index`, and its end, `index` + 1."""
    given = TimeKind.ADMINISTRATION
    ends = [] if end is None else [row(index + 1, end, event=END, kind=given)]
    return [row(index, start, value, START, given), *ends]


#: Nine rates without a pause, then, six hours later, a run of two.
FIRST_RUN = [r for n in range(9) for r in rate(2 * n, float(n), n + 1.0, str(n))]
SECOND_RUN = [*rate(20, 15.0, 16.0, "20"), *rate(22, 16.5, 20.0, "21")]
RATES = [*FIRST_RUN, *SECOND_RUN]


@pytest.mark.parametrize("mention", ["norepinephrine rate 4", "norepinephrine stopped", "pressors"])
@pytest.mark.parametrize("most", [1, 2, 8])
def test_a_run_is_printed_with_its_first_start_and_its_last_end(mention: str, most: int) -> None:
    for event in (START, END):
        found = run({A: mention}, [kept(A, event)], RATES, Caps(most))
        printed = set(found.by_index)
        for rows, ends in ((FIRST_RUN, {0, 17}), (SECOND_RUN, {20, 23})):
            if printed & {r.row_index for r in rows}:
                assert ends <= printed, (event, sorted(printed))
        assert {e.found_in for e in found.evidence} == {event}


def test_the_ends_of_a_run_are_paid_with_each_of_its_rows_and_printed_once() -> None:
    """The row of rate 4 with its pair and the ends of its run.

    Four rows of two series: (4·5 + 4·14 + 1 + 1 + 12 + 24 + 12 + 22) / 2.5 = 59.2. Row 7 is the end
    at the hour at which rate 4 starts.
    """
    for tokens, expected in ((59, []), (60, [8, 7, 0, 17])):
        mention = {A: "norepinephrine rate 4"}
        found = run(mention, [kept(A, START)], RATES, Caps(1, tokens=tokens))
        assert indices(found) == expected


def test_a_run_ends_after_its_last_end_and_a_pause() -> None:
    later = SECOND_RUN[-2:]
    assert split_runs(RATES) == [sort_rows(FIRST_RUN), sort_rows(SECOND_RUN)]
    # overlapping bags are one run, an end without a start begins none, a bolus starts and ends at once
    bags = [*rate(0, 0.0, 10.0), *rate(2, 5.0, 30.0), *rate(4, 28.0, 29.0)]
    assert split_runs(bags) == [sort_rows(bags)]
    orphan = row(9, -30.0, event=END, kind=TimeKind.ADMINISTRATION)
    bolus = rate(10, 3.0, 3.0)
    assert [[r.row_index for r in found] for found in split_runs([*later, *bolus, orphan])] == [
        [9],
        [11, 10],
        [22, 23],
    ]


def test_orders_and_procedures_are_pairs_and_no_runs() -> None:
    for kind in (TimeKind.ORDER, TimeKind.PERFORMED):
        rows = [replace(r, time_kind=kind) for r in RATES]
        found = run({A: "norepinephrine rate 4"}, [kept(A, START)], rows, Caps(1))
        assert indices(found) == [8, 7]


def test_a_run_without_an_end_has_its_start_alone() -> None:
    rows = [*rate(0, 0.0, 5.0), *rate(2, 5.0, None, "7")]
    found = run({A: "norepinephrine rate 7"}, [kept(A, START)], rows, Caps(1))
    assert indices(found) == [2, 1, 0]


def sort_rows(rows: Sequence[SourceRow]) -> list[SourceRow]:
    """In order of time, an end before a start."""
    return sorted(rows, key=lambda r: (r.time or 0.0, r.event == START))


# ---------------------------------------------------------------------------------------------
# The budget

STAY = row(90, 0.0, event="admission:hospital admission", kind=TimeKind.ADMINISTRATIVE)


@pytest.mark.parametrize(
    ("tokens", "expected"), [(20, []), (21, [(A, 1)]), (22, [(A, 1)]), (23, [(A, 1), (B, 1)])]
)
def test_a_row_that_two_occurrences_want_is_paid_once(
    tokens: int, expected: list[tuple[str, int]]
) -> None:
    """(5 + 14 + 3 + 12 + 17) / 2.5 = 20.4.

    The second occurrence pays its number: 5 / 2.5 = 2.
    """
    candidates = [kept(A, LAB), kept(B, LAB)]
    found = run(
        {A: "lactate", B: "acidosis"}, candidates, [row(1, 2.0, "4.1", LAB)], Caps(8, tokens=tokens)
    )
    assert [(e.uid, e.row.row_index) for e in found.evidence] == expected
    over = {uid for uid, reason in found.without_evidence.items() if reason is NoRows.OVER_BUDGET}
    assert over == {A, B} - {uid for uid, _ in expected}


@pytest.mark.parametrize(("tokens", "expected"), [(28, [1]), (29, [1]), (30, [1, 2])])
def test_the_name_of_a_series_is_paid_once(tokens: int, expected: list[int]) -> None:
    """20.4 for the first row, (5 + 14 + 3) / 2.5 = 8.8 for the second."""
    rows = [row(1, 2.0, "4.1", LAB), row(2, 3.0, "4.0", LAB)]
    found = run({A: "lactate"}, [kept(A, LAB)], rows, Caps(8, tokens=tokens))
    assert indices(found) == expected


@pytest.mark.parametrize(("tokens", "expected"), [(43, []), (45, [1])])
def test_the_stay_is_always_there_and_is_paid_first(tokens: int, expected: list[int]) -> None:
    """(5 + 14 + 12 + 28) / 2.5 = 23.6 for the admission, 20.4 for the lactate."""
    rows = [row(1, 2.0, "4.1", LAB), STAY]
    found = run({A: "lactate"}, [kept(A, LAB)], rows, Caps(8, tokens=tokens))
    assert found.skeleton == (STAY,)
    assert indices(found) == expected


def test_a_row_of_the_stay_costs_an_occurrence_only_its_number() -> None:
    candidates = [kept(A, STAY.event)]
    for tokens, expected in ((25, []), (26, [90])):
        found = run({A: "came to hospital"}, candidates, [STAY], Caps(8, tokens=tokens))
        assert (indices(found), found.skeleton) == (expected, (STAY,))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (39, [0, 10, 20]),
        (46, [0, 1, 10, 20]),
        (54, [0, 1, 10, 11, 20]),
        # 12.4 are left after two series: too little for a third, enough for a second row.
        (38, [0, 1, 10]),
    ],
)
def test_the_best_row_of_every_occurrence_precedes_the_second_of_any(
    tokens: int, expected: list[int]
) -> None:
    """(5 + 14 + 12 + 1) / 2.5 = 12.8 for the first row of a series.

    19 / 2.5 = 7.6 for a further one.
    """
    rows = [
        row(10 * n + i, i + 1.0, event=event) for n, event in enumerate("efg") for i in range(3)
    ]
    candidates = [kept(A, "e", 0.9), kept(B, "f", 0.5), kept(C, "g", 0.1)]
    mentions = {A: "fever", B: "rash", C: "cough"}
    found = run(mentions, candidates, rows, Caps(8, tokens=tokens))
    assert [e.row.row_index for e in found.evidence] == expected


QUEUES = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(st.integers(1, 30), max_size=6), max_size=6
)


@given(QUEUES, st.integers(0, 200))
def test_rounds_never_exceed_the_budget_and_leave_out_only_what_is_too_dear(
    prices: dict[str, list[int]], budget: int
) -> None:
    queues = {name: list(enumerate(found)) for name, found in prices.items()}
    asked: list[tuple[int, int]] = []

    def price_of(item: tuple[int, int]) -> int:
        asked.append(item)
        return item[1]

    found = fill_rounds(queues, price_of, budget)
    bought = {(name, place) for name, items in found.items() for place, _ in items}
    assert sum(price for items in found.values() for _, price in items) <= budget
    in_turn = sorted(
        (place, list(queues).index(name), name, price)
        for name, queue in queues.items()
        for place, price in queue
    )
    assert asked == [(place, price) for place, _, _, price in in_turn], "each once, in rounds"
    left = budget
    for place, _, name, price in in_turn:
        assert ((name, place) in bought) == (price <= left)
        left -= price if (name, place) in bought else 0


@given(st.lists(st.integers(0, 9), max_size=8), st.integers(0, 40))
def test_at_one_price_nobody_has_two_more_than_another_who_wants_more(
    sizes: list[int], budget: int
) -> None:
    queues = {str(n): list(range(size)) for n, size in enumerate(sizes)}
    found = fill_rounds(queues, lambda item: 1, budget)
    counts = {name: len(items) for name, items in found.items()}
    assert sum(counts.values()) == min(budget, sum(sizes))
    for name, count in counts.items():
        if count < len(queues[name]):
            assert max(counts.values()) <= count + 1


# ---------------------------------------------------------------------------------------------
# Reasons, caps


def test_every_occurrence_without_rows_has_its_reason() -> None:
    below = Candidate(A, 0, "e", 1, 0.9, 0.01, kept=False, fate="below threshold")
    untimed = row(7, None, event="u")
    rows = [row(1, 1.0), row(2, 1.0, event="f"), untimed]
    outside = replace(below, fate="outside the top summaries")
    for candidates, reason in (
        ([], NoRows.NONE_FOUND),
        ([below], NoRows.BELOW_THRESHOLD),
        ([outside], NoRows.NONE_FOUND),
        ([kept(A, "u")], NoRows.NONE_FOUND),
        ([kept(A, "f")], NoRows.OVER_BUDGET),
        ([below, kept(A, "f")], NoRows.OVER_BUDGET),
        ([kept(A, "f"), below], NoRows.OVER_BUDGET),
        ([kept(A, "u"), below], NoRows.BELOW_THRESHOLD),
    ):
        found = run({A: "fever"}, candidates, rows, Caps(8, tokens=1))
        assert (found.evidence, found.without_evidence) == ((), {A: reason})
    assert run({A: "fever"}, [kept(A, "f")], rows).without_evidence == {}


def test_a_row_that_was_chosen_and_too_dear_is_recorded() -> None:
    rows = [row(i, float(i), "4.1", LAB) for i in range(1, 20)]
    candidates = [kept(A, LAB), kept(B, LAB)]
    mentions = {A: "lactate first", B: "lactate last"}
    found = run(mentions, candidates, rows, Caps(2, tokens=32))
    assert (indices(found, A), indices(found, B)) == ([1], [19])
    assert found.without_evidence == {}
    assert found.over_budget == {A: (2,), B: (18,)}, "row 3 was not chosen for anything"
    assert run(mentions, candidates, rows, Caps(2)).over_budget == {}


def test_a_row_that_another_occurrence_has_printed_is_not_over_budget() -> None:
    mentions = {A: "lactate", B: "acidosis"}
    found = run(
        mentions, [kept(A, LAB), kept(B, LAB)], [row(1, 2.0, "4.1", LAB)], Caps(8, tokens=21)
    )
    assert (found.without_evidence, found.over_budget) == ({B: NoRows.OVER_BUDGET}, {})


def _backbone(pays: bool, tokens: int | None = None) -> Backbone:
    part: object = object()
    return Backbone("b", "1", part, part, part, part, pays, lambda: tokens)  # type: ignore[arg-type]


def test_caps_are_the_settings_as_far_as_the_backbone_needs_them() -> None:
    default, published = PipelineConfig(), preset_config(Preset.PUBLISHED)
    assert find_caps(_backbone(True), default) == Caps(8, tokens=24_000)
    assert find_caps(_backbone(True, 9_000), default) == Caps(8, tokens=9_000)
    assert find_caps(_backbone(True, 90_000), default) == Caps(8, tokens=24_000)
    assert find_caps(_backbone(False, 9_000), default) == Caps(8)
    assert find_caps(_backbone(True, 9_000), published) == Caps(per_case=100)
    assert find_caps(_backbone(False), published) == Caps()


# ---------------------------------------------------------------------------------------------
# Permutations

SERIES = (LAB, START, END, "transfer:transfer:", "order:heparin:start", "order:heparin:stop")
RECORD = st.lists(
    st.tuples(
        st.sampled_from(SERIES),
        st.one_of(st.none(), st.integers(-5, 40)),
        st.sampled_from(["", "4.1", "2.0", "Ward"]),
        st.sampled_from([TimeKind.ADMINISTRATIVE, TimeKind.ADMINISTRATION, TimeKind.COLLECTION]),
    ),
    max_size=30,
)
FOUND = st.sets(
    st.tuples(st.sampled_from([A, B, C]), st.integers(0, 2), st.sampled_from(SERIES)), max_size=18
)


@given(
    RECORD,
    FOUND,
    st.integers(1, 200),
    st.sampled_from(list(Preset)),
    st.randoms(use_true_random=False),
)
def test_neither_the_order_of_the_record_nor_of_equal_candidates_changes_the_rows(
    record: list[tuple[str, int | None, str, TimeKind]],
    found: set[tuple[str, int, str]],
    tokens: int,
    preset: Preset,
    rng: random.Random,
) -> None:
    rows = [
        SourceRow(i, time, event, value, time_kind=kind)
        for i, (event, time, value, kind) in enumerate(record)
    ]
    # Every score is the same; a query ranks each series it found.
    candidates = [
        Candidate(uid, query, event, SERIES.index(event) + 1, 0.5, 0.5, kept=True, fate="kept")
        for uid, query, event in sorted(found)
    ]
    inventory = Inventory(
        tuple(
            Occurrence(uid, n, mention, None, None)
            for n, (uid, mention) in enumerate(
                [(A, "repeat lactate 4.1"), (B, "norepinephrine stopped"), (C, "heparin ordered")]
            )
        )
    )
    text = Timeline.complete(
        inventory, [Entry(A, 5, 2, 9), Entry(B, None, 3), Entry(C, 12)], TimelineKind.TEXT_ONLY
    )

    def choose(rows: list[SourceRow], candidates: list[Candidate], names: list[str]) -> Expansion:
        return expand(
            inventory,
            text,
            candidates,
            {name: [r for r in rows if r.event == name] for name in names},
            discharge=20.0,
            caps=Caps(8, tokens=tokens) if preset is Preset.DEFAULT else Caps(per_case=tokens // 9),
            config=preset_config(preset),
        )

    assert choose(rows, candidates, list(SERIES)) == choose(
        rng.sample(rows, len(rows)),
        rng.sample(candidates, len(candidates)),
        rng.sample(SERIES, len(SERIES)),
    )
