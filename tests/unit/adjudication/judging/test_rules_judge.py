"""The rules judge on small games whose findings follow by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest

from adjudication.domain import Finding, FindingType, Grounding, Relation, Side, Verdict
from adjudication.judging.input import Candidate, Judged, JudgeInput, Unjudged, judge_input
from adjudication.judging.rules.judge import RulesJudge
from adjudication.judging.validation import FIXED_TOLERANCE
from adjudication.scoring.errors import Category, Charge, charge
from tests.unit.adjudication.judging.judge_games import make_observation, series
from timelines.domain import Anchor, Polarity, SourceRow

ANCHOR = Anchor(datetime(2180, 3, 4, 14, 30))
NOTE = (
    "HOSPITAL COURSE: Fever began three days before admission. The lactate was 4.1 in the emergency room.\n"
    "She denied chest pain. The patient was extubated at noon on hospital day 3. Vancomycin was started.\n"
)
#: As long as the other, so that every place stays; but it does not say when.
UNDATED = NOTE.replace("extubated at noon on hospital day 3", "extubated without any difficulty at")


def candidate(
    words: str, event: str, time: float | None, uid: str, polarity: Polarity = Polarity.PRESENT
) -> Candidate:
    """A row whose place in the note is where `words` stand."""
    start = NOTE.index(words)
    return Candidate(
        event=event, time=time, uid=uid, start=start, end=start + len(words), polarity=polarity
    )


FEVER = candidate("Fever began three days before admission", "fever", -72.0, "0001")
LACTATE = candidate("lactate was 4.1", "lactate 4.1", 0.0, "0002")
PAIN = candidate("chest pain", "no chest pain", 0.0, "0003", Polarity.ABSENT)
EXTUBATED = candidate("extubated at noon on hospital day 3", "extubation", 45.5, "0004")
VANCOMYCIN = candidate("Vancomycin was started", "vancomycin started", 5.0, "0005")
ROWS = [FEVER, LACTATE, PAIN, EXTUBATED, VANCOMYCIN]


def game(
    first: list[Candidate],
    second: list[Candidate],
    *,
    seed: int = 0,
    note: str = NOTE,
    with_row: bool = False,
) -> JudgeInput:
    event = "procedure:extubation:"
    summaries = [series(event, make_observation(45.5, ""))] if with_row else []
    rows = [SourceRow(0, 45.5, event)] if with_row else []
    return judge_input(
        first, second, note=note, anchor=ANCHOR, seed=seed, series=summaries, rows=rows
    )


def judge_game(given: JudgeInput, judge: RulesJudge | None = None) -> list[Finding]:
    found = (judge or RulesJudge()).judge(given)
    assert isinstance(found, Judged)
    return [j.finding for j in found.findings]


def replace_row(change: Candidate) -> list[Candidate]:
    """The rows with one of them changed."""
    return [change if r.uid == change.uid else r for r in ROWS]


def is_first_right(finding: Finding, given: JudgeInput) -> bool:
    return finding.verdict == (Verdict.A if given.a_is_first else Verdict.B)


def test_equal_timelines_have_no_differences() -> None:
    assert judge_game(game(ROWS, ROWS)) == []


def test_times_within_the_tolerance_are_equal() -> None:
    assert judge_game(game(ROWS, replace_row(replace(EXTUBATED, time=49.9)))) == []
    (finding,) = judge_game(
        game(ROWS, replace_row(replace(EXTUBATED, time=49.9))), RulesJudge(FIXED_TOLERANCE)
    )
    assert finding.type is FindingType.TIMING


@pytest.mark.parametrize("seed", range(4))
def test_the_note_s_own_expression_decides_a_time(seed: int) -> None:
    given = game(ROWS, replace_row(replace(FEVER, time=72.0)), seed=seed)
    (finding,) = judge_game(given)
    assert (finding.type, finding.grounding) == (FindingType.TIMING, Grounding.NOTE)
    assert is_first_right(finding, given)
    assert finding.note_evidence is not None
    assert "Fever began three days before admission" in finding.note_evidence


def test_a_row_of_the_very_occurrence_decides_with_the_note() -> None:
    given = game(ROWS, replace_row(replace(EXTUBATED, time=20.0)), with_row=True)
    (finding,) = judge_game(given)
    assert is_first_right(finding, given)
    assert (finding.grounding, finding.table_evidence) == (
        Grounding.BOTH,
        "procedure:extubation: @ +45.5h",
    )


def test_a_row_that_no_summary_shows_decides_nothing() -> None:
    given = game(ROWS, replace_row(replace(EXTUBATED, time=90.0)), note=UNDATED, with_row=True)
    (shown,) = judge_game(given)
    assert (is_first_right(shown, given), shown.grounding) == (True, Grounding.BOTH)
    # The row is in the record, but the summaries that were supplied do not have it: nobody could
    # look at it.
    (unseen,) = judge_game(replace(given, summaries=()))
    assert (unseen.type, unseen.verdict, unseen.grounding) == (
        FindingType.TIMING,
        Verdict.UNCLEAR,
        Grounding.NOTE,
    )
    assert "record has it" not in unseen.reason


def test_a_reason_names_the_record_only_with_a_citation() -> None:
    given = replace(
        game(ROWS, replace_row(replace(EXTUBATED, time=20.0)), with_row=True),
        summaries=(),
    )
    (finding,) = judge_game(given)
    assert (is_first_right(finding, given), finding.grounding, finding.table_evidence) == (
        True,
        Grounding.NOTE,
        None,
    )
    assert "the note puts it" in finding.reason
    assert "the record has it" not in finding.reason


def test_what_nothing_dates_is_left_open() -> None:
    (finding,) = judge_game(game(ROWS, replace_row(replace(VANCOMYCIN, time=60.0))))
    assert (finding.type, finding.verdict) == (FindingType.TIMING, Verdict.UNCLEAR)


def test_a_supported_time_beats_an_unsupported_n_a() -> None:
    given = game(ROWS, replace_row(replace(FEVER, time=None)))
    (finding,) = judge_game(given)
    assert is_first_right(finding, given)
    (open_one,) = judge_game(game(ROWS, replace_row(replace(VANCOMYCIN, time=None))))
    assert open_one.verdict is Verdict.UNCLEAR


def test_the_value_that_the_note_tells_is_right() -> None:
    given = game(ROWS, replace_row(replace(LACTATE, event="lactate 8.2")))
    (finding,) = judge_game(given)
    assert finding.type is FindingType.VALUE
    assert is_first_right(finding, given)


def test_a_denial_against_an_assertion_is_a_value_that_nobody_is_charged_with() -> None:
    (finding,) = judge_game(game(ROWS, replace_row(replace(PAIN, event="chest pain"))))
    assert (finding.type, finding.verdict) == (FindingType.VALUE, Verdict.UNCLEAR)


def test_what_one_timeline_omits_is_charged_to_it() -> None:
    for gone, category in ((LACTATE, Category.MISSED_POSITIVE), (PAIN, Category.MISSED_NEGATIVE)):
        given = game(ROWS, [r for r in ROWS if r is not gone])
        (finding,) = judge_game(given)
        assert (finding.type.one_sided, finding.relation) == (True, Relation.NOVEL_EVENT)
        assert charge(finding) == Charge(Side.B if given.a_is_first else Side.A, category)


def test_an_event_of_which_nothing_is_told_is_over_annotation() -> None:
    given = game(
        ROWS, [*ROWS, Candidate(event="cochlear implant malfunction", time=3.0, uid="00ff")]
    )
    (finding,) = judge_game(given)
    assert charge(finding) == Charge(
        Side.B if given.a_is_first else Side.A, Category.OVER_ANNOTATION
    )
    assert (finding.note_evidence, finding.grounding) == ("none found", Grounding.NONE)


def test_a_copy_of_one_place_and_time_is_a_false_duplicate() -> None:
    given = game(ROWS, [*ROWS, replace(FEVER, uid="00fe")])
    (finding,) = judge_game(given)
    assert charge(finding) == Charge(
        Side.B if given.a_is_first else Side.A, Category.FALSE_DUPLICATE
    )


@pytest.mark.parametrize("time", [-72.0, -24.0, 30.0, None])
def test_a_missed_recurrence_is_never_charged(time: float | None) -> None:
    found = judge_game(game(ROWS, [*ROWS, replace(FEVER, uid="00fe", time=time)]))
    assert found
    assert Category.MISSED_RECURRENCE not in {
        charged.category for f in found if (charged := charge(f)) is not None
    }


def test_two_events_told_in_one_row_are_no_difference() -> None:
    merged = replace(FEVER, event="fever with lactate 4.1", end=LACTATE.end)
    together = [merged if r is FEVER else r for r in ROWS if r is not LACTATE]
    apart = [replace(r, time=-72.0) if r is LACTATE else r for r in ROWS]
    assert judge_game(game(apart, together)) == []


def test_what_both_invent_is_shared_and_unsupported() -> None:
    invented = Candidate(event="cochlear implant malfunction", time=3.0)
    (finding,) = judge_game(game([*ROWS, invented], [*ROWS, replace(invented, time=90.0)]))
    assert (finding.type, finding.verdict) == (FindingType.SHARED_UNSUPPORTED, Verdict.NEITHER)


def test_separate_inventories_meet_by_place_or_by_words() -> None:
    other = [replace(r, uid=f"a{i:03x}") for i, r in enumerate(ROWS)]
    assert judge_game(game(ROWS, other)) == []
    placeless = [replace(r, uid=None, start=None, end=None) for r in ROWS]
    assert judge_game(game(ROWS, placeless)) == []
    (finding,) = judge_game(
        game(ROWS, [replace(r, time=72.0) if r.event == "fever" else r for r in placeless])
    )
    assert finding.type is FindingType.TIMING


def test_a_uid_that_two_inventories_share_by_chance_links_nothing() -> None:
    given = game([FEVER], [replace(EXTUBATED, uid=FEVER.uid)])
    assert sorted(f.type for f in judge_game(given)) == [FindingType.A_ONLY, FindingType.B_ONLY]


def test_without_a_note_nothing_can_be_judged() -> None:
    assert isinstance(RulesJudge().judge(game(ROWS, ROWS[:2], note=" \n")), Unjudged)
