"""Stage 7: the chain of each occurrence, and every broken link."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.timelines.pipeline.reconstruction import NOTE, case, record, script, tools
from timelines.domain import (
    Entry,
    Inventory,
    Query,
    Reconstruction,
    RowLink,
    SourceRow,
    TaggedNote,
    Timeline,
    TimelineKind,
)
from timelines.pipeline.provenance import BrokenChain, chains, verify
from timelines.pipeline.run import reconstruct


@pytest.fixture
def result() -> Reconstruction:
    return reconstruct(case(), record(), tools(script()))


def reasons(
    broken: Reconstruction, sha256: str = case().sha256, latest: float | None = 60.0
) -> list[str]:
    with pytest.raises(BrokenChain) as error:
        verify(broken, note_sha256=sha256, latest=latest)
    return list(error.value.reasons)


def test_a_chain_goes_from_the_quote_to_the_revised_times(result):
    first, second, third = chains(result)
    assert second.quote == "reversal agent"
    assert [q.text for q in second.queries] == ["andexanet alfa"]
    assert [c.kept for c in second.candidates] == [True, False]
    assert [e.row.row_index for e in second.evidence] == [7]
    assert (second.text_only.time, [e.time for e in second.revised]) == (2.0, [6.5, 6.5])
    assert (first.evidence, first.text_only.time, [e.time for e in first.revised]) == (
        (),
        1.0,
        [1.0, 1.0],
    )
    assert third.quote == "Lactate 4.1 😀"


def test_an_unbroken_chain_is_silent(result):
    verify(result, note_sha256=case().sha256, latest=60.0)


def test_another_note(result):
    assert reasons(result, sha256="0" * 64) == [
        "the note is not the one that was imported: its SHA-256 differs"
    ]


def test_a_span_moved_into_white_space(result):
    first = replace(result.note.inventory.occurrences[0], start=8, end=17)
    note = TaggedNote(NOTE, Inventory((first, *result.note.inventory.occurrences[1:])))
    assert f"UID {first.uid}: its span begins or ends in white space" in reasons(
        replace(result, note=note)
    )


def test_a_mention_that_lost_its_escape(result):
    last = replace(result.note.inventory.occurrences[2], mention='lactate "4.1"')
    note = TaggedNote(NOTE, Inventory((*result.note.inventory.occurrences[:2], last)))
    assert f"UID {last.uid}: the mention is not in its escaped form" in reasons(
        replace(result, note=note)
    )


def test_a_timeline_that_lost_an_entry(result):
    short = Timeline(result.revised[1].entries[:2], TimelineKind.REVISED, 2)
    assert reasons(replace(result, revised=(result.revised[0], short))) == [
        "revised timeline 2 does not have every UID once, in inventory order"
    ]


def test_alternatives_out_of_number(result):
    assert reasons(replace(result, revised=result.revised[::-1])) == [
        "revised timeline 1 is stored as revised timeline 2",
        "revised timeline 2 is stored as revised timeline 1",
    ]


def test_candidates_without_query_and_rows_without_candidate(result):
    uid = result.evidence[0].uid
    dropped = tuple(c for c in result.candidates if c.uid != uid)
    assert reasons(replace(result, candidates=dropped)) == [
        f"UID {uid}: row 7 without a kept candidate"
    ]
    queries = tuple(q for q in result.queries if q.uid != uid)
    assert (
        reasons(replace(result, queries=queries))
        == [f"UID {uid}: a candidate without its query"] * 2
    )
    assert reasons(replace(result, queries=(*result.queries, Query("zzzz", 0, "x")))) == [
        "UID zzzz: a query of no occurrence"
    ]


def test_a_row_after_the_last_hour(result):
    assert reasons(result, latest=6.0) == ["row 7 has no time or is later than discharge allows"]


def test_a_time_that_rests_on_a_row_that_revision_did_not_see(result):
    uid = result.note.inventory.uids[0]
    entries = (Entry(uid, 61.0, adopted_rows=(9,)), *result.revised[0].entries[1:])
    changed = Timeline(entries, TimelineKind.REVISED, 1)
    assert reasons(replace(result, revised=(changed, result.revised[1]))) == [
        f"alternative 1: UID {uid}: cites row 9, which revision did not see"
    ]


def test_a_stored_citation_whose_hour_is_not_the_time(result):
    uid = result.note.inventory.uids[0]
    cited = Entry(uid, 6.53, adopted_rows=(7,), link=RowLink.CITED)
    changed = Timeline((cited, *result.revised[0].entries[1:]), TimelineKind.REVISED, 1)
    assert reasons(replace(result, revised=(changed, result.revised[1]))) == [
        f"alternative 1: UID {uid}: the time equals the hour of none of the rows that it cites"
    ]


def test_a_row_found_for_another_occurrence_is_in_the_chain_of_the_time_that_cites_it(result):
    uid = result.note.inventory.uids[0]
    cited = Entry(uid, 6.5, adopted_rows=(7,), near_rows=(3,), link=RowLink.CITED)
    changed = Timeline((cited, *result.revised[0].entries[1:]), TimelineKind.REVISED, 1)
    whole = replace(result, revised=(changed, result.revised[1]))
    verify(whole, note_sha256=case().sha256, latest=60.0)
    first, second, _ = chains(whole)
    assert first.evidence == ()
    assert [row.row_index for row in first.other_rows] == [3, 7]
    assert second.other_rows == (), "it was found for this one"


def test_a_row_of_the_stay_may_be_cited_and_must_not_be_too_late(result):
    uid = result.note.inventory.uids[0]
    stay = SourceRow(20, 0.0, "admission:hospital admission")
    cited = Entry(uid, 0.0, adopted_rows=(20,), link=RowLink.CITED)
    changed = Timeline((cited, *result.revised[0].entries[1:]), TimelineKind.REVISED, 1)
    whole = replace(result, revised=(changed, result.revised[1]), skeleton=(stay,))
    verify(whole, note_sha256=case().sha256, latest=60.0)
    assert [row.row_index for row in next(chains(whole)).other_rows] == [20]
    late = replace(whole, skeleton=(replace(stay, time=60.5),), revised=result.revised)
    assert reasons(late) == ["row 20 has no time or is later than discharge allows"]
