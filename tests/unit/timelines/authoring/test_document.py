"""Edits of a draft as pure functions: effects, refusals, exact undo."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from timelines.drafts.document import (
    Change,
    Document,
    add_occurrence,
    apply_change,
    change_occurrence,
    make_document,
    merge_occurrences,
    remove_occurrence,
    split_occurrence,
)
from timelines.drafts.undoing import Stacks, find_undone, stacks
from timelines.drafts.values import DraftOccurrence, EditRefused

LENGTH = 60


def one(uid: str, start: int = 0, **values) -> DraftOccurrence:
    return DraftOccurrence(uid, start, start + 5, f"mention {uid}", **values)


def three() -> Document:
    """c leans on b and a, b on a."""
    return make_document(
        LENGTH,
        [
            one("000a"),
            one("000b", 10, context=("000a",)),
            one("000c", 20, context=("000b", "000a"), placed=True, time=3.0, rows=(4,)),
        ],
    )


def expect_refusal(field: str):
    return pytest.raises(EditRefused, check=lambda error: error.field == field)


def test_an_added_occurrence_is_all_that_changes():
    document = three()
    change = add_occurrence(document, "000d", {"start": 1, "end": 2, "mention": "d"})
    assert (change.before, [o.uid for o in change.after], change.removed) == ((), ["000d"], ())
    assert apply_change(apply_change(document, change), change.inverse) == document


def test_a_removed_occurrence_leaves_the_contexts():
    document = three()
    change = remove_occurrence(document, "000a")
    after = apply_change(document, change)
    assert {uid: o.context for uid, o in after.occurrences.items()} == {
        "000b": (),
        "000c": ("000b",),
    }
    assert change.removed == ("000a",)
    assert apply_change(after, change.inverse) == document


def test_a_split_keeps_the_uid_for_its_first_part():
    document = three()
    parts = [
        {"start": 10, "end": 12, "mention": "b1"},
        {"start": 12, "end": 15, "mention": "b2", "polarity": "absent"},
    ]
    after = apply_change(document, split_occurrence(document, "000b", parts, ["00b2"]))
    assert (after.get("000b").mention, after.get("00b2").mention) == ("b1", "b2")
    assert (after.get("000b").polarity, after.get("00b2").polarity) == ("present", "absent")
    assert after.get("00b2").context == ("000a",), "a part has what the whole had"
    assert after.get("000c").context == ("000b", "000a")


def test_a_merge_keeps_the_first_and_contexts_follow():
    document = three()
    after = apply_change(
        document, merge_occurrences(document, ["000b", "000a"], {"mention": "both"})
    )
    assert set(after.occurrences) == {"000b", "000c"}
    both = after.get("000b")
    assert (both.start, both.end, both.mention, both.context) == (0, 15, "both", ())
    assert after.get("000c").context == ("000b",)


def test_a_merge_gathers_rows_and_at_most_five_contexts():
    others = [one(f"00f{n}", 30) for n in range(7)]
    first = one("000a", rows=(1, 2), context=("00f0", "00f1", "00f2"))
    second = one("000b", 10, rows=(2, 3), context=("00f2", "00f3", "00f4", "00f5"))
    document = make_document(LENGTH, [first, second, *others])
    whole = apply_change(document, merge_occurrences(document, ["000a", "000b"], {})).get("000a")
    assert (whole.rows, whole.context) == ((1, 2, 3), ("00f0", "00f1", "00f2", "00f3", "00f4"))


@pytest.mark.parametrize(
    ("field", "edit"),
    [
        ("end", lambda d: change_occurrence(d, "000a", {"end": LENGTH + 1})),
        ("start", lambda d: change_occurrence(d, "000a", {"start": 5})),
        ("mention", lambda d: change_occurrence(d, "000a", {"mention": " "})),
        ("context", lambda d: change_occurrence(d, "000a", {"context": ("dead",)})),
        ("context", lambda d: change_occurrence(d, "000a", {"context": ("000a",)})),
        ("context", lambda d: change_occurrence(d, "000a", {"context": ("000b", "000b")})),
        ("lower", lambda d: change_occurrence(d, "000c", {"lower": 4.0})),
        ("upper", lambda d: change_occurrence(d, "000c", {"upper": 2.0})),
        (
            "lower",
            lambda d: change_occurrence(d, "000c", {"time": None, "lower": 2.0, "upper": 1.0}),
        ),
        ("placed", lambda d: change_occurrence(d, "000c", {"placed": False})),
        ("time", lambda d: change_occurrence(d, "000c", {"time": float("nan")})),
        ("uid", lambda d: change_occurrence(d, "dead", {})),
        ("uid", lambda d: remove_occurrence(d, "dead")),
        ("uid", lambda d: add_occurrence(d, "000a", {"start": 0, "end": 1, "mention": "x"})),
        ("parts", lambda d: split_occurrence(d, "000a", [{"mention": "x"}], [])),
        ("mention", lambda d: split_occurrence(d, "000a", [{"mention": "x"}, {}], ["00ff"])),
        ("uids", lambda d: merge_occurrences(d, ["000a"], {})),
        ("uids", lambda d: merge_occurrences(d, ["000a", "000a"], {})),
        ("uid", lambda d: merge_occurrences(d, ["000a", "dead"], {})),
    ],
)
def test_what_would_not_hold_is_refused(field, edit):
    with expect_refusal(field):
        edit(three())


def test_a_change_applies_only_to_what_it_was_made_on():
    document = three()
    change = change_occurrence(document, "000a", {"mention": "other"})
    with expect_refusal("uid"):
        apply_change(
            apply_change(document, change_occurrence(document, "000a", {"mention": "meanwhile"})),
            change,
        )
    with expect_refusal("uid"):
        apply_change(apply_change(document, remove_occurrence(document, "000a")), change)


def test_plain_values_are_the_occurrence():
    o = three().get("000c")
    assert DraftOccurrence.from_dict(o.to_dict()) == o


def test_the_document_is_in_order_of_the_note_and_counts():
    document = three()
    assert [o.uid for o in document.ordered] == ["000a", "000b", "000c"]
    assert (document.placed, document.unplaced) == (1, ["000a", "000b"])


def test_stacks_of_a_log():
    log = [(1, "add", None), (2, "change", None), (3, "undo", 2), (4, "undo", 1), (5, "redo", 1)]
    assert stacks(log) == Stacks([1], [2])
    assert find_undone(log) == {2}
    assert stacks([*log, (6, "add", None)]) == Stacks([1, 6], []), (
        "a new edit forgets what had been taken back"
    )
    assert stacks([*log, (6, "submit", None), (7, "reopen", None)]) == Stacks([1], [2])


class Editing(RuleBasedStateMachine):
    """Any edits, undos and redos.

    The draft after an undo is the draft before the edit, and every draft is valid.
    """

    def __init__(self) -> None:
        super().__init__()
        self.document = Document(LENGTH)
        self.log: list[tuple[int, str, int | None]] = []
        self.changes: dict[int, Change] = {}
        self.states = [self.document]
        self.next_uid = 0

    def take(self, kind: str, make) -> None:
        try:
            change = make()
        except EditRefused:
            return
        number = len(self.log) + 1
        self.document = apply_change(self.document, change)
        self.changes[number] = change
        self.log.append((number, kind, None))
        position = len(stacks(self.log).undo)
        self.states[position:] = [self.document]

    def uid(self) -> str:
        self.next_uid += 1
        return f"{self.next_uid:04x}"

    def some(self, data, count: int) -> list[str]:
        return data.draw(
            st.lists(
                st.sampled_from(sorted(self.document.occurrences)),
                min_size=count,
                max_size=count,
                unique=True,
            )
        )

    @rule(start=st.integers(0, LENGTH), length=st.integers(0, 9))
    def add(self, start: int, length: int) -> None:
        values = {"start": start, "end": start + length, "mention": "m"}
        self.take("add", lambda: add_occurrence(self.document, self.uid(), values))

    @precondition(lambda self: bool(self.document.occurrences))
    @rule(data=st.data(), time=st.none() | st.floats(-10, 10), lower=st.none() | st.floats(-10, 10))
    def change(self, data, time, lower) -> None:
        (uid,) = self.some(data, 1)
        context = tuple(
            data.draw(st.lists(st.sampled_from(sorted(self.document.occurrences)), max_size=6))
        )
        values = {"placed": True, "time": time, "lower": lower, "context": context}
        self.take("change", lambda: change_occurrence(self.document, uid, values))

    @precondition(lambda self: bool(self.document.occurrences))
    @rule(data=st.data())
    def remove(self, data) -> None:
        (uid,) = self.some(data, 1)
        self.take("remove", lambda: remove_occurrence(self.document, uid))

    @precondition(lambda self: bool(self.document.occurrences))
    @rule(data=st.data())
    def split(self, data) -> None:
        (uid,) = self.some(data, 1)
        self.take(
            "split",
            lambda: split_occurrence(
                self.document, uid, [{"mention": "p"}, {"mention": "q"}], [self.uid()]
            ),
        )

    @precondition(lambda self: len(self.document.occurrences) > 1)
    @rule(data=st.data())
    def merge(self, data) -> None:
        uids = self.some(data, 2)
        self.take("merge", lambda: merge_occurrences(self.document, uids, {}))

    @precondition(lambda self: bool(stacks(self.log).undo))
    @rule()
    def undo(self) -> None:
        target = stacks(self.log).undo[-1]
        self.document = apply_change(self.document, self.changes[target].inverse)
        self.log.append((len(self.log) + 1, "undo", target))

    @precondition(lambda self: bool(stacks(self.log).redo))
    @rule()
    def redo(self) -> None:
        target = stacks(self.log).redo[-1]
        self.document = apply_change(self.document, self.changes[target])
        self.log.append((len(self.log) + 1, "redo", target))

    @invariant()
    def stands_where_its_history_says(self) -> None:
        assert self.document == self.states[len(stacks(self.log).undo)]


Editing.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestEditing = Editing.TestCase


@given(st.lists(st.sampled_from(["add", "undo", "redo"]), max_size=30))
def test_an_edit_is_undoable_redoable_or_forgotten(kinds):
    log: list[tuple[int, str, int | None]] = []
    for kind in kinds:
        found = stacks(log)
        targets = {"undo": found.undo, "redo": found.redo}.get(kind)
        if targets is None:
            log.append((len(log) + 1, kind, None))
        elif targets:
            log.append((len(log) + 1, kind, targets[-1]))
    found = stacks(log)
    assert found.undo == sorted(found.undo)
    assert not set(found.undo) & set(found.redo)
    assert set(found.undo) == {n for n, kind, _ in log if kind == "add"} - find_undone(log)
