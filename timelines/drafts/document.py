"""A draft as a value, and its edits as pure functions with exact inverses.

An edit is a `Change`: the touched occurrences whole, before and after. Applying it needs the
document to be as `before` says, and `Change.inverse` takes it back exactly. UIDs are given once and
stay: a split keeps the UID for its first part, a merge that of the first occurrence named; contexts
follow. No Django.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from timelines.domain import MAX_CONTEXT
from timelines.drafts.values import DraftOccurrence, EditRefused

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """An edit: `before` is removed, `after` is added.

    A UID in both is changed.
    """

    before: tuple[DraftOccurrence, ...] = ()
    after: tuple[DraftOccurrence, ...] = ()

    @property
    def inverse(self) -> Change:
        return Change(self.after, self.before)

    @property
    def removed(self) -> tuple[str, ...]:
        """UIDs that are gone afterwards."""
        kept = {o.uid for o in self.after}
        return tuple(o.uid for o in self.before if o.uid not in kept)


@dataclass(frozen=True)
class Document:
    """All occurrences of a draft over a note of `length` code points.

    Raises EditRefused for an impossible span or context.
    """

    length: int
    occurrences: Mapping[str, DraftOccurrence] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for o in self.occurrences.values():
            if o.end > self.length:
                raise EditRefused("end", "The selection is outside the note.")
            if any(uid not in self.occurrences for uid in o.context):
                raise EditRefused("context", "A context occurrence is not in this timeline.")

    @property
    def ordered(self) -> list[DraftOccurrence]:
        """As the note reads."""
        return sorted(self.occurrences.values(), key=lambda o: o.order)

    @property
    def placed(self) -> int:
        """Return the number of decided occurrences; N/A is a decision."""
        return sum(o.placed for o in self.occurrences.values())

    @property
    def unplaced(self) -> list[str]:
        """UIDs still to do, as the note reads."""
        return [o.uid for o in self.ordered if not o.placed]

    def get(self, uid: str) -> DraftOccurrence:
        """Raises EditRefused for a UID that the draft does not have."""
        if (found := self.occurrences.get(uid)) is None:
            raise EditRefused("uid", "This occurrence was removed.")
        return found


def make_document(length: int, occurrences: Iterable[DraftOccurrence]) -> Document:
    """The document of these occurrences."""
    return Document(length, {o.uid: o for o in occurrences})


def apply_change(document: Document, change: Change) -> Document:
    """Return the document after the change.

    Raises EditRefused if the document is not as the change expects, or would become invalid.
    """
    left = dict(document.occurrences)
    for o in change.before:
        if left.pop(o.uid, None) != o:
            raise EditRefused("uid", "This occurrence was changed meanwhile.")
    for o in change.after:
        if o.uid in left:
            raise EditRefused("uid", "This identifier is already used.")
        left[o.uid] = o
    return Document(document.length, left)


def add_occurrence(document: Document, uid: str, values: Values) -> Change:
    """A new occurrence."""
    return _check_change(document, Change(after=(DraftOccurrence(**{**values, "uid": uid}),)))


def change_occurrence(document: Document, uid: str, values: Values) -> Change:
    """Other values for one occurrence."""
    before = document.get(uid)
    return _check_change(document, Change((before,), (replace(before, **values),)))


def remove_occurrence(document: Document, uid: str) -> Change:
    """Without one occurrence; it leaves the contexts of others."""
    gone = document.get(uid)
    others = _follow_contexts(document, {uid: None})
    return _check_change(document, Change((gone, *others), tuple(others.values())))


def split_occurrence(
    document: Document, uid: str, parts: Sequence[Values], new_uids: Sequence[str]
) -> Change:
    """Replace one occurrence by several.

    The first part keeps the UID, so contexts that name it stay true; the others get new ones. A
    part has the values of the original unless it states others, and always a mention of its own.
    """
    whole = document.get(uid)
    if len(parts) < 2:
        raise EditRefused("parts", "A split needs at least two parts.")
    if any("mention" not in part for part in parts):
        raise EditRefused("mention", "Name each part so that it is clear without the note.")
    made = [
        replace(whole, **{**part, "uid": own})
        for part, own in zip(parts, [uid, *new_uids], strict=True)
    ]
    return _check_change(document, Change((whole,), tuple(made)))


def merge_occurrences(document: Document, uids: Sequence[str], values: Values) -> Change:
    """Replace several occurrences by one.

    It keeps the UID, mention and time of the first one, spans all of them, and has their rows and
    contexts. `values` overrides this. Contexts that named the others name the merged one.
    """
    if len(uids) < 2 or len(set(uids)) != len(uids):
        raise EditRefused("uids", "A merge needs at least two different occurrences.")
    members = [document.get(uid) for uid in uids]
    first = members[0]
    context = [
        uid for uid in dict.fromkeys(uid for o in members for uid in o.context) if uid not in uids
    ]
    rows = tuple(dict.fromkeys(row for o in members for row in o.rows))
    whole = replace(
        first, start=min(o.start for o in members), end=max(o.end for o in members), rows=rows
    )
    whole = replace(whole, context=tuple(context[:MAX_CONTEXT]))
    others = {
        o: after
        for o, after in _follow_contexts(document, dict.fromkeys(uids[1:], first.uid)).items()
        if o.uid not in uids
    }
    return _check_change(
        document, Change((*members, *others), (replace(whole, **values), *others.values()))
    )


def _follow_contexts(
    document: Document, replaced: Mapping[str, str | None]
) -> dict[DraftOccurrence, DraftOccurrence]:
    """Point contexts that name a replaced UID to the new one.

    None as the new UID removes the reference.
    """
    found = {}
    for o in document.ordered:
        if o.uid not in replaced and any(uid in replaced for uid in o.context):
            names = (replaced.get(uid, uid) for uid in o.context)
            found[o] = replace(
                o, context=tuple(uid for uid in dict.fromkeys(names) if uid and uid != o.uid)
            )
    return found


def _check_change(document: Document, change: Change) -> Change:
    """Return the change once it is known to leave the document valid."""
    apply_change(document, change)
    return change
