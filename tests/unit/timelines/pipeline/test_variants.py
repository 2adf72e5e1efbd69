"""Variants that change the input of revision.

Their stages by hand-made values, and the whole pipeline with a scripted backbone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.timelines.pipeline.reconstruction import (
    ANDEXANET,
    LACTATE,
    NOTE,
    ScriptedBackbone,
    case,
    record,
    script,
    tools,
)
from tests.unit.timelines.pipeline.scripted_reranker import ScriptedReranker
from timelines.domain import (
    Candidate,
    Evidence,
    Expansion,
    InvariantError,
    Inventory,
    KeptSummary,
    NamedRow,
    NamedTime,
    NamedTimeline,
    NoRows,
    Occurrence,
    RowLink,
    SourceRow,
    TaggedNote,
    TaggedSpan,
    Timeline,
    Window,
)
from timelines.pipeline.backbone import Backbone
from timelines.pipeline.config import PipelineConfig, Variant
from timelines.pipeline.expansion import Caps
from timelines.pipeline.provenance import BrokenChain
from timelines.pipeline.retrieval import reselect, select
from timelines.pipeline.revision import RevisionRejected
from timelines.pipeline.run import check_chain, reconstruct
from timelines.pipeline.summaries import select_summaries
from timelines.pipeline.unidentified import named_reasons
from timelines.pipeline.variants import VariantUnsupported


class EveryVariant(ScriptedBackbone):
    """A scripted backbone with both further revisions.

    It stores its input.
    """

    summaries: tuple[KeptSummary, ...] = ()
    seen: tuple[object, ...] = ()
    adopts = False
    answer: tuple[NamedTime, ...] = (NamedTime("apixaban taken", 1.5),)

    def revise_by_summaries(
        self,
        note: TaggedNote,
        text_only: Timeline,
        summaries: Sequence[KeptSummary],
        window: Window,
        alternatives: int,
    ) -> Sequence[Timeline]:
        self.calls.append("revise by summaries")
        self.summaries = tuple(summaries)
        rows = (7,) if self.adopts else ()
        entries = tuple(replace(e, adopted_rows=rows, decided_by="summary") for e in text_only)
        return [Timeline(entries, text_only.kind, n + 1) for n in range(alternatives)]

    def revise_unidentified(
        self,
        note: str,
        spans: Sequence[TaggedSpan],
        table: Sequence[NamedTime],
        evidence: Sequence[NamedRow],
        missing: Mapping[str, NoRows],
        window: Window,
        alternatives: int,
    ) -> Sequence[NamedTimeline]:
        self.calls.append("revise unidentified")
        self.seen = (note, *spans, *table, *evidence, dict(missing))
        made = NamedTimeline(self.answer, reasoning="thoughts")
        return [made] * (alternatives if self.answer else alternatives + 1)

    def backbone(self) -> Backbone:
        return replace(super().backbone(), summary_reviser=self, unidentified_reviser=self)


def every() -> EveryVariant:
    return EveryVariant(*script().spans)


def test_without_rows_revision_reads_the_kept_summaries_and_nothing_becomes_evidence():
    backbone = every()
    result = reconstruct(case(), record(), tools(backbone, Variant.NO_ROWS))
    assert backbone.calls == ["tag", "infer", "write", "revise by summaries"]
    apixaban, reversal, lactate = result.note.inventory.uids
    assert [(s.uid, s.event, s.text) for s in backbone.summaries] == [
        (reversal, ANDEXANET, "andexanet alfa administered"),
        (lactate, LACTATE, "lactate blood 4.1"),
    ]
    assert result.summaries == backbone.summaries
    assert result.evidence == ()
    assert result.without_evidence == {apixaban: NoRows.BELOW_THRESHOLD}
    assert len(result.revised) == 2
    assert [e.decided_by for e in result.revised[0]] == ["summary"] * 3


def test_a_revision_from_summaries_cannot_cite_a_row():
    backbone = every()
    backbone.adopts = True
    with pytest.raises(RevisionRejected, match="cites row 7, which revision did not see"):
        reconstruct(case(), record(), tools(backbone, Variant.NO_ROWS))


def test_without_identifiers_nothing_that_revision_sees_holds_one():
    backbone = every()
    result = reconstruct(case(), record(), tools(backbone, Variant.NO_UID))
    assert backbone.calls == ["tag", "infer", "write", "revise unidentified"]
    assert backbone.seen[0] == NOTE
    shown = repr(backbone.seen)
    assert not [uid for uid in result.note.inventory.uids if f"'{uid}'" in shown]
    assert [(e.event, e.time) for e in backbone.seen if isinstance(e, NamedTime)] == [
        ("apixaban taken", 1.0),
        ("reversal agent given", 2.0),
        ('lactate \\"4.1\\"', 3.0),
    ]
    rows = [(e.event, e.row.row_index) for e in backbone.seen if isinstance(e, NamedRow)]
    assert rows == [("reversal agent given", 7), ('lactate \\"4.1\\"', 3)]
    assert backbone.seen[-1] == {"apixaban taken": NoRows.BELOW_THRESHOLD}


def test_without_identifiers_occurrences_may_be_lost_and_nothing_restores_them():
    result = reconstruct(case(), record(), tools(every(), Variant.NO_UID))
    line = NamedTime("apixaban taken", 1.5)
    assert result.unidentified == tuple(
        NamedTimeline((line,), number, reasoning="thoughts") for number in (1, 2)
    )
    assert result.revised == ()
    assert len(result.text_only) == 3
    assert len(result.evidence) == 2, "the chain keeps what retrieval brought"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (NamedTime("a", 1.5, adopted_rows=(7,), near_rows=(3,), link=RowLink.MATCHED), ""),
        (NamedTime("a", 1.5, adopted_rows=(9,)), "a line: cites row 9, which revision did not see"),
        (NamedTime("a", 1.5, near_rows=(9,)), "a line: cites row 9, which revision did not see"),
        (
            NamedTime("a", 1.5, adopted_rows=(7,), link=RowLink.CITED),
            "a line: the time equals the hour of none of the rows that it cites",
        ),
    ],
)
def test_without_identifiers_rows_are_checked_as_with_them(line, reason):
    backbone = every()
    backbone.answer = (line,)
    if not reason:
        first, _ = reconstruct(case(), record(), tools(backbone, Variant.NO_UID)).unidentified
        assert first.entries == (line,)
        return
    with pytest.raises(RevisionRejected, match=reason):
        reconstruct(case(), record(), tools(backbone, Variant.NO_UID))
    backbone.answer = (NamedTime("a", 1.5),)
    good = reconstruct(case(), record(), tools(backbone, Variant.NO_UID))
    broken = replace(good, unidentified=(NamedTimeline((line,), 1),))
    with pytest.raises(BrokenChain, match=reason):
        check_chain(broken, case(), tools(backbone, Variant.NO_UID))


def test_one_mention_has_one_reason_and_none_if_rows_reached_it():
    inventory = Inventory(
        tuple(
            Occurrence(f"000{n}", n, mention, None, None)
            for n, mention in enumerate(["fever", "fever", "rash", "rash", "cough"])
        )
    )
    found = Expansion(
        (Evidence("0003", 0, SourceRow(1, 2.0, "e"), 1, 0.5),),
        {
            "0000": NoRows.OVER_BUDGET,
            "0001": NoRows.NONE_FOUND,
            "0002": NoRows.BELOW_THRESHOLD,
            "0004": NoRows.BELOW_THRESHOLD,
        },
    )
    assert named_reasons(TaggedNote("", inventory), found) == {
        "fever": NoRows.OVER_BUDGET,
        "cough": NoRows.BELOW_THRESHOLD,
    }


def test_without_identifiers_the_number_of_alternatives_still_counts():
    backbone = every()
    backbone.answer = ()
    with pytest.raises(RevisionRejected, match="3 alternatives, from 1 to 2"):
        reconstruct(case(), record(), tools(backbone, Variant.NO_UID))


@pytest.mark.parametrize(
    ("event", "time", "lower", "upper"),
    [
        (" ", 1, None, None),
        ("x", 1, 2, None),
        ("x", 1, None, 0),
        ("x", None, 3, 2),
        ("x", math.nan, None, None),
        ("x", 1, -math.inf, 2),
    ],
)
def test_a_line_without_identifier_is_held_to_its_event_its_numbers_and_its_bounds(
    event, time, lower, upper
):
    with pytest.raises(InvariantError):
        NamedTime(event, time, lower, upper)
    assert NamedTime("x", None, 1, 2).time is None


def test_mentions_alone_are_searched_and_nobody_writes_queries():
    backbone = script()
    result = reconstruct(case(), record(), tools(backbone, Variant.NO_QUERY))
    assert backbone.calls == ["tag", "infer", "revise"]
    assert [q.text for q in result.queries] == [o.mention for o in result.note.inventory]


def test_without_a_reranker_the_nearest_series_are_kept():
    result = reconstruct(case(), record(), tools(script(), Variant.NO_RERANKER))
    assert {c.rerank_score for c in result.candidates} == {None}
    assert all(c.kept for c in result.candidates), "two series, three places, no threshold"


@pytest.mark.parametrize(
    ("variant", "lack"),
    [(Variant.NO_ROWS, "from summaries alone"), (Variant.NO_UID, "without identifiers")],
)
def test_a_backbone_without_the_capability_is_refused_before_any_stage(variant, lack):
    backbone = script()
    with pytest.raises(VariantUnsupported, match=f"{lack}, which the backbone scripted lacks"):
        reconstruct(case(), record(), tools(backbone, variant))
    assert backbone.calls == []


def test_stage_seven_refuses_rows_beside_summaries_and_two_kinds_of_timelines():
    used = tools(every(), Variant.NO_ROWS)
    result = reconstruct(case(), record(), used)
    full = reconstruct(case(), record(), tools(script()))
    with pytest.raises(BrokenChain, match="saw summaries alone"):
        check_chain(
            replace(result, evidence=full.evidence, candidates=full.candidates), case(), used
        )
    with pytest.raises(BrokenChain, match="a summary without a kept candidate"):
        check_chain(replace(result, candidates=()), case(), used)
    with pytest.raises(BrokenChain, match="with and without identifiers"):
        check_chain(replace(full, unidentified=(NamedTimeline(()),)), case(), used)
    with pytest.raises(BrokenChain, match="not numbered"):
        check_chain(replace(full, revised=(), unidentified=(NamedTimeline((), 2),)), case(), used)


INVENTORY = Inventory(tuple(Occurrence(f"000{n}", n, "fever", None, None) for n in range(3)))


def test_summaries_are_kept_once_an_occurrence_and_capped_by_rho():
    def candidate(uid: str, query: int, event: str, rho: float, kept: bool = True) -> Candidate:
        return Candidate(uid, query, event, 1, 0.5, rho, kept)

    candidates = [
        candidate("0002", 0, "a", 0.9),
        candidate("0000", 0, "a", 0.3),
        candidate("0000", 1, "a", 0.8),
        candidate("0000", 1, "b", 0.7),
        candidate("0000", 2, "c", 0.6),
        candidate("0001", 0, "c", 0.5, kept=False),
    ]
    texts = {"a": "A", "b": "B", "c": "C"}

    def given(caps: Caps) -> list[tuple[str, int, str]]:
        return [
            (s.uid, s.query, s.text) for s in select_summaries(INVENTORY, candidates, texts, caps)
        ]

    assert given(Caps()) == [
        ("0000", 1, "A"),
        ("0000", 1, "B"),
        ("0000", 2, "C"),
        ("0002", 0, "A"),
    ]
    assert given(Caps(per_occurrence=2)) == [("0000", 1, "A"), ("0000", 1, "B"), ("0002", 0, "A")]
    assert given(Caps(per_case=2)) == [("0000", 1, "A"), ("0002", 0, "A")]


_SCORES = st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), min_size=1, max_size=12)


@given(
    st.lists(_SCORES, max_size=4),
    st.one_of(st.none(), st.floats(0, 1)),
    st.sampled_from([Variant.FULL, Variant.NO_RERANKER]),
)
def test_fates_decided_again_are_those_of_a_new_search(queries, rho, variant):
    """A second threshold decides as if it had been the first.

    This is so after any threshold on the stored candidates.
    """
    reranker = ScriptedReranker(lambda query, document: 0.0)
    config = PipelineConfig(variant=variant, rho_threshold=rho)
    scored = [
        [
            Candidate("0000", n, f"e{rank}", rank, dense, again)
            for rank, (dense, again) in enumerate(found, 1)
        ]
        for n, found in enumerate(queries)
    ]
    stored = [c for found in scored for c in select(found, 0.5, 3)]
    expected = []
    for found in scored:
        if variant is Variant.NO_RERANKER:
            expected += select([replace(c, rerank_score=None) for c in found], None, 3)
        else:
            expected += select(found, reranker.threshold if rho is None else rho, 3)
    assert reselect(stored, reranker, config) == tuple(expected)


def test_every_variant_reconstructs():
    for variant in Variant:
        used = tools(every(), variant)
        assert len(reconstruct(case(), record(), used).note.inventory) == 3
