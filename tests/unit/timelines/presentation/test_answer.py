"""The sentences above the steps of the provenance, one row a situation.

Clock times are worked out by hand from an admission at 14:38 on 24 February.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehr.presentation.clock import Clock
from timelines.domain import NoRows, Polarity, TimelineKind
from timelines.presentation.answer import Claim, Facts, RowFact, answer

CLOCK = Clock(datetime(2131, 2, 24, 14, 38))
GIVEN = RowFact("med:andexanet alfa:start", "880 mg", 6.5, "administration")
LATER = RowFact("med:andexanet alfa:start", "480 mg", 8.5, "administration")
STOP = RowFact("med:nicardipine:stop", "", 20.0, "administration")
ORDER = RowFact("order:andexanet alfa:start", "", 1.2, "order")
POTASSIUM = RowFact("lab:potassium:blood", "6.6 mEq/L", 1.5, "collection")
TUBE = RowFact("procedure:intubation:start", "", 2.0, "performed")
RATE = RowFact("chart:heart rate:", "128 bpm", 3.0, "charted")
CULTURE = RowFact("micro:blood culture:blood", "staph aureus", 30.0, "result")
WARD = RowFact("transfer:medicine:", "transfer", 30.0, "administrative")
OTHER = RowFact("omr:weight:", "80 kg", 3.0, "unknown")

TEXT = Facts(TimelineKind.TEXT_ONLY, 1.5, True, "about 1½ h after admission")
REVISED = replace(TEXT, kind=TimelineKind.REVISED, text=1.5, text_known=True)
INFERRED = replace(REVISED, known=False, text_known=False, words="then intubated")
REFERENCE = Facts(TimelineKind.REFERENCE, 6.5, True, "andexanet")
CITED = "Given HD 1 · 21:08, not 16:08."
QUOTED = "the note (“about 1½ h after admission”) says 16:08"


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        # adopted from a row
        (
            replace(REVISED, time=6.5, cited=[GIVEN], others=[ORDER]),
            f"{CITED} The medication record has andexanet alfa started, 880 mg; {QUOTED}. "
            "The order is from 15:50.",
        ),
        (
            replace(REVISED, time=6.5, cited=[GIVEN], others=[LATER]),
            f"{CITED} The medication record has andexanet alfa started, 880 mg; {QUOTED}. "
            "Another row fits: 23:08, 480 mg.",
        ),
        (
            replace(REVISED, time=6.5, cited=[GIVEN], others=[replace(LATER, hours=16.5)]),
            f"{CITED} The medication record has andexanet alfa started, 880 mg; {QUOTED}.",
        ),
        (
            replace(REVISED, time=20.0, cited=[STOP], words=""),
            "Stopped HD 2 · 10:38, not HD 1 · 16:08. The medication record has nicardipine "
            "stopped; the note says HD 1 · 16:08.",
        ),
        (
            replace(REVISED, time=1.2, cited=[ORDER]),
            "Ordered HD 1 · 15:50, not 16:08. The order list has andexanet alfa started; "
            f"{QUOTED}.",
        ),
        (
            replace(REVISED, cited=[POTASSIUM]),
            "Collected HD 1 · 16:08, as the note says. The laboratory has potassium (blood), "
            "6.6 mEq/L at the same time.",
        ),
        (
            replace(INFERRED, time=2.0, cited=[TUBE]),
            "Done HD 1 · 16:38, not 16:08. The procedure record has intubation started; the note "
            "(“then intubated”) was read as 16:08.",
        ),
        (
            replace(INFERRED, cited=[replace(TUBE, hours=1.5)]),
            "Done HD 1 · 16:08. The procedure record has intubation started at the same time.",
        ),
        (
            replace(REVISED, text=None, text_known=None, time=3.0, cited=[RATE]),
            "Charted HD 1 · 17:38. The chart has heart rate, 128 bpm; the note alone gives no "
            "time.",
        ),
        (
            replace(REVISED, time=30.0, cited=[CULTURE]),
            "Result known HD 2 · 20:38, not HD 1 · 16:08. Microbiology has blood culture (blood), "
            f"staph aureus; {QUOTED.replace('16:08', 'HD 1 · 16:08')}.",
        ),
        (
            replace(REVISED, time=30.0, cited=[WARD], words=""),
            "Recorded HD 2 · 20:38, not HD 1 · 16:08. The record has medicine, transfer; the note "
            "says HD 1 · 16:08.",
        ),
        (
            replace(REVISED, time=3.0, cited=[OTHER], words=""),
            "Recorded HD 1 · 17:38, not 16:08. The record has weight, 80 kg; the note says 16:08.",
        ),
        (
            replace(REVISED, time=6.0, cited=[GIVEN], words=""),
            "Given HD 1 · 20:38, not 16:08. The medication record has andexanet alfa started, "
            "880 mg at HD 1 · 21:08; the note says 16:08.",
        ),
        # kept
        (
            replace(REVISED, others=[GIVEN]),
            "HD 1 · 16:08, from the note. The note states it: “about 1½ h after admission”. No "
            "row was used; the nearest is andexanet alfa started, 880 mg at HD 1 · 21:08.",
        ),
        (
            replace(REVISED, no_rows=NoRows.NONE_FOUND),
            "HD 1 · 16:08, from the note. The note states it: “about 1½ h after admission”. The "
            "record has no row for it.",
        ),
        (
            replace(INFERRED, no_rows=NoRows.BELOW_THRESHOLD),
            "About HD 1 · 16:08, from the note. The note gives no time for “then intubated”; it "
            "was placed by its context. No series of the record was relevant enough.",
        ),
        (
            replace(INFERRED, no_rows=NoRows.OVER_BUDGET, relies_on=["CT head", "arrival"]),
            "About HD 1 · 16:08, from the note. The note gives no time for “then intubated”; it "
            "was placed by its context beside “CT head” and “arrival”. Rows were found, but there "
            "was no room to show them to the reviser.",
        ),
        (
            replace(REVISED, searched=False),
            "HD 1 · 16:08, from the note. The note states it: “about 1½ h after admission”. This "
            "run did not search the record for it.",
        ),
        (
            replace(REVISED, others=[replace(GIVEN, hours=None)]),
            "HD 1 · 16:08, from the note. The note states it: “about 1½ h after admission”.",
        ),
        # moved without a row
        (
            replace(INFERRED, time=4.0, relies_on=["propofol started"]),
            "HD 1 · 18:38, moved 2.5 h later, together with “propofol started”. The note was read "
            "as 16:08; no row is cited.",
        ),
        (
            replace(INFERRED, time=1.0),
            "HD 1 · 15:38, moved 30 min earlier. The note was read as 16:08; no row is cited.",
        ),
        # counted from a row of something else
        (
            replace(
                INFERRED,
                time=1.0,
                near=[RowFact("admission:ed registration:", "", 0.5, "administrative")],
            ),
            "HD 1 · 15:38, moved 30 min earlier. It is counted from ed registration at 15:08; the "
            "note was read as 16:08. No row records it.",
        ),
        # text alone
        (TEXT, "HD 1 · 16:08, from the note. The note states it: “about 1½ h after admission”."),
        (
            replace(TEXT, time=-87600.0, words="diabetes for 10 years"),
            "10 years before admission, from the note. The note states it: “diabetes for 10 years”.",
        ),
        (
            replace(TEXT, time=-6.0, words="woke at 8:38"),
            "6 h before admission (08:38), from the note. The note states it: “woke at 8:38”.",
        ),
        (
            replace(TEXT, time=-76.0, known=False, words="cough"),
            "About 3 d before admission, from the note. The note gives no time for “cough”; "
            "it was placed by its context.",
        ),
        (
            replace(TEXT, known=False, lower=0.0, upper=34.0, words="fever"),
            "About HD 1 · 16:08, from the note. The note gives no time for “fever”; it was placed "
            "by its context. Its bounds are HD 1 · 14:38 to HD 3 · 00:38.",
        ),
        (
            replace(TEXT, known=False, lower=0.0, upper=3.0, words="fever"),
            "About HD 1 · 16:08, from the note. The note gives no time for “fever”; it was placed "
            "by its context.",
        ),
        (
            replace(TEXT, polarity=Polarity.PLANNED, words="follow-up in clinic"),
            "Planned at HD 1 · 16:08. A plan is at the hour it was made: “follow-up in clinic”.",
        ),
        (replace(TEXT, words=""), "HD 1 · 16:08, from the note. The note states it."),
        (
            replace(TEXT, words="a " * 50),
            f"HD 1 · 16:08, from the note. The note states it: “{'a ' * 39}a …”.",
        ),
        # not placed
        (replace(TEXT, time=None, known=None), "Not placed. The note gives it no time."),
        (
            replace(REVISED, time=None, text=None, no_rows=NoRows.NONE_FOUND),
            "Not placed. The note gives it no time. The record has no row for it.",
        ),
        (
            replace(REVISED, time=None),
            "Not placed. The note was read as HD 1 · 16:08; revision took that back.",
        ),
        # authors and references
        (
            REFERENCE,
            "HD 1 · 21:08, placed by the author. No row of the record is cited.",
        ),
        (
            replace(REFERENCE, cited=[GIVEN]),
            "HD 1 · 21:08, placed by the author. The medication record has andexanet alfa "
            "started, 880 mg.",
        ),
        (
            replace(REFERENCE, time=None),
            "Not placed. The author gave it no time.",
        ),
        # what disagrees
        (
            replace(TEXT, reference=6.5),
            "HD 1 · 16:08, from the note. The note states it: “about 1½ h after admission”. The "
            "reference has 21:08.",
        ),
        (
            replace(TEXT, reference=1.5),
            "HD 1 · 16:08, from the note. The note states it: “about 1½ h after admission”.",
        ),
        (
            replace(TEXT, alternatives=[("Alternative 2", 10.0), ("Alternative 3", None)]),
            "HD 1 · 16:08, from the note. The note states it: “about 1½ h after admission”. "
            "Alternative 2 has HD 2 · 00:38.",
        ),
        # corrected by a person
        (
            replace(REVISED, time=6.5, cited=[GIVEN], made=1.5, correction=Claim("vega", 6.5)),
            "Corrected by vega to HD 1 · 21:08, was 16:08. The medication record has andexanet "
            "alfa started, 880 mg.",
        ),
        (
            replace(REVISED, time=6.25, cited=[GIVEN], made=None, correction=Claim("vega", 6.25)),
            "Corrected by vega to HD 1 · 20:53, was not placed. The medication record has "
            "andexanet alfa started, 880 mg at HD 1 · 21:08.",
        ),
        (
            replace(
                REVISED, time=None, made=1.5, correction=Claim("vega", None, False, "a plan only")
            ),
            "Corrected by vega: did not happen, was HD 1 · 16:08. Reason: “a plan only”.",
        ),
        (
            replace(REVISED, time=None, made=1.5, correction=Claim("vega", None)),
            "Corrected by vega: not placed, was HD 1 · 16:08.",
        ),
        (
            replace(REVISED, made=1.5, correction=Claim("vega", 1.5, reason="seen.")),
            "HD 1 · 16:08, confirmed by vega. Reason: “seen”.",
        ),
        (
            replace(
                REVISED,
                time=30.0,
                made=1.5,
                correction=Claim("chief", 30.0, settles=True),
                claims=[Claim("vega", 6.5), Claim("amir", None, happened=False)],
            ),
            "Settled by chief to HD 2 · 20:38, was HD 1 · 16:08. vega says HD 1 · 21:08. amir says "
            "it did not happen.",
        ),
        (
            replace(
                TEXT,
                claims=[Claim("vega", None), Claim("chief", None, settles=True, as_made=True)],
            ),
            "HD 1 · 16:08, from the note. The note states it: “about 1½ h after admission”. vega "
            "says it has no time. chief kept the reconstructed time.",
        ),
    ],
)
def test_each_situation_has_its_sentences(facts: Facts, said: str) -> None:
    a = answer(facts, CLOCK)
    assert " ".join([a.headline, *a.because, *a.asides]) == said


HOURS = st.one_of(st.none(), st.floats(-9e5, 9e3))
ROWS = st.lists(
    st.sampled_from([GIVEN, LATER, STOP, ORDER, POTASSIUM, TUBE, RATE, CULTURE, WARD, OTHER])
)


@given(
    st.builds(
        Facts,
        kind=st.sampled_from(TimelineKind),
        time=HOURS,
        known=st.none() | st.booleans(),
        words=st.text(),
        text=HOURS,
        text_known=st.none() | st.booleans(),
        lower=HOURS,
        upper=HOURS,
        polarity=st.sampled_from(Polarity),
        cited=ROWS,
        others=ROWS,
        relies_on=st.lists(st.text(min_size=1)),
        searched=st.booleans(),
        no_rows=st.none() | st.sampled_from(NoRows),
        reference=HOURS,
        alternatives=st.lists(st.tuples(st.just("Alternative 2"), HOURS)),
    )
)
def test_any_facts_have_a_sentence_that_ends_and_claims_no_row_without_one(facts: Facts) -> None:
    a = answer(facts, CLOCK)
    said = [a.headline, *a.because, *a.asides]
    assert all(s.endswith(".") and s.strip() == s for s in said)
    own = replace(facts, words="", relies_on=())
    words = " ".join([answer(own, CLOCK).headline, *answer(own, CLOCK).because]).lower()
    assert "evidence" not in words
    if not facts.cited:
        verbs = (
            "given ",
            "stopped ",
            "ordered ",
            "collected ",
            "charted ",
            "done ",
            "result known ",
        )
        assert not words.startswith(verbs)
