"""The seven stages in order, without Django.

A scripted backbone runs over a case with every link known.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.timelines.pipeline.reconstruction import (
    ANDEXANET,
    NOTE,
    SUMMARIES,
    case,
    record,
    script,
    tools,
)
from timelines.domain import NoRows, TimelineKind
from timelines.pipeline.config import QueryContext, Variant
from timelines.pipeline.run import reconstruct
from timelines.pipeline.uids import assign_uids, find_identities, uid_rng


def test_the_reversal_agent_moves_to_its_row_and_keeps_its_identifier():
    backbone = script()
    result = reconstruct(case(), record(), tools(backbone))
    assert backbone.calls == ["tag", "infer", "write", "revise"]
    assert [NOTE[o.start : o.end] for o in result.note.inventory] == [
        "apixaban",
        "reversal agent",
        "Lactate 4.1 😀",
    ]
    assert [o.mention for o in result.note.inventory] == [
        "apixaban taken",
        "reversal agent given",
        'lactate \\"4.1\\"',
    ]
    apixaban, reversal, lactate = result.note.inventory.uids
    assert [e.time for e in result.text_only] == [1.0, 2.0, 3.0]
    assert [(q.uid, q.text) for q in result.queries] == [
        (apixaban, "apixaban taken"),
        (reversal, "andexanet alfa"),
        (lactate, 'lactate \\"4.1\\"'),
    ]
    kept = [(c.uid, c.event) for c in result.candidates if c.kept]
    assert kept == [(reversal, ANDEXANET), (lactate, "lab:lactate:blood")]
    assert len(result.candidates) == 6, "what was not kept is there too"
    assert [(e.uid, e.row.row_index) for e in result.evidence] == [(reversal, 7), (lactate, 3)], (
        "row 9 is after discharge + 12 h"
    )
    assert result.without_evidence == {apixaban: NoRows.BELOW_THRESHOLD}
    assert [(t.kind, t.alternative) for t in result.revised] == [
        (TimelineKind.REVISED, 1),
        (TimelineKind.REVISED, 2),
    ]
    assert [e.time for e in result.revised[0]] == [1.0, 6.5, 1.0]
    assert result.revised[0].by_uid[reversal].adopted_rows == (7,)


@pytest.mark.parametrize(
    ("context", "names"),
    [(QueryContext.NAMES, tuple(SUMMARIES)), (QueryContext.BLIND, ())],
)
def test_the_query_writer_sees_the_names_of_the_series_if_the_settings_say_so(context, names):
    backbone = script()
    given = tools(backbone)
    given = replace(given, config=replace(given.config, query_context=context))
    reconstruct(case(), record(), given)
    assert backbone.names == names


def test_unimodal_sees_no_record_at_all():
    backbone = script()
    result = reconstruct(case(), record(), tools(backbone, Variant.UNIMODAL))
    assert backbone.calls == ["tag", "infer"]
    assert (result.queries, result.candidates, result.evidence, result.revised) == ((), (), (), ())


def test_a_repeated_run_gives_the_same_result():
    assert reconstruct(case(), record(), tools(script())) == reconstruct(
        case(), record(), tools(script())
    )


def test_identifiers_come_from_the_seed_and_the_note():
    result = reconstruct(case(), record(), tools(script()))
    assert result.note.inventory == assign_uids(
        script().spans, rng=uid_rng(0, case().sha256, find_identities(script().spans))
    )
