"""Stage 2: one persistent identifier for each tagged span.

From here on UID, mention and span never change (protocol section 2). Two inventories of one note
never use one UID for different occurrences. Who stores an inventory passes the UIDs in use.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from random import Random

from timelines.domain import InvariantError, Inventory, Occurrence, TaggedSpan

#: Four hex digits name at most this many occurrences of one note.
CAPACITY = 16**4

#: The identity of an occurrence within its note: start, end (None without a place) and escaped
#: mention.
Identity = tuple[int | None, int | None, str]
#: UIDs that other inventories of the note use, each with its occurrence; None for a UID that nobody
#: else may take.
InUse = Mapping[str, Identity | None]

_SPECIAL = re.compile(r'[\\|"]')
_ESCAPED = re.compile(r'\\([\\|"])')


class UidsUsedUp(InvariantError):
    """The note has no free UID left. Trying again would fail the same way."""

    log_safe = True
    retryable = False

    def __init__(self) -> None:
        super().__init__(
            f"The note has no free UID: its timelines use all {CAPACITY:,} identifiers of four hex"
            " digits. Import the note into a new dataset and start further runs there."
        )


def assign_uids(
    spans: Sequence[TaggedSpan], *, rng: Random, in_use: InUse | None = None
) -> Inventory:
    """Return an inventory in the order of `spans`.

    Each occurrence has a UID drawn from `rng` and its mention escaped. A UID that this inventory
    has, or that another one uses for a different occurrence, is drawn again. One that another uses
    for the same occurrence is reused: so a repeated run gets the UIDs of the first, and does not
    exhaust those of the note. The same spans, seed and UIDs in use give the same UIDs. Raises
    UidsUsedUp.
    """
    identities = find_identities(spans)
    uids = draw_uids(identities, rng=rng, in_use=in_use or {})
    return Inventory(
        tuple(
            Occurrence(uid, ordinal, mention, span.start, span.end, span.polarity, span.lane)
            for ordinal, (uid, span, (_, _, mention)) in enumerate(
                zip(uids, spans, identities, strict=True)
            )
        )
    )


def draw_uids(identities: Sequence[Identity], *, rng: Random, in_use: InUse) -> list[str]:
    """Return a UID for each occurrence of one inventory. Raises UidsUsedUp."""
    drawn: dict[str, None] = {}
    for identity in identities:
        drawn[draw_uid(rng, Taken(drawn, in_use, identity))] = None
    return list(drawn)


class Taken(Container[str]):
    """The UIDs that an occurrence cannot have.

    Those of its own inventory, and of others if they mean another occurrence.
    """

    def __init__(self, own: Container[str], in_use: InUse, identity: Identity) -> None:
        self._own, self._in_use, self._identity = own, in_use, identity

    def __contains__(self, uid: object) -> bool:
        return uid in self._own or (
            uid in self._in_use and self._in_use[str(uid)] != self._identity
        )


def draw_uid(rng: Random, taken: Container[str]) -> str:
    """Return four lower-case hex digits that are not `taken`.

    Raises UidsUsedUp.
    """
    for _ in range(CAPACITY):
        if (uid := f"{rng.randrange(CAPACITY):04x}") not in taken:
            return uid
    left = [uid for uid in (f"{n:04x}" for n in range(CAPACITY)) if uid not in taken]
    if not left:
        raise UidsUsedUp
    return rng.choice(left)


def uid_rng(seed: int, note_sha256: str, identities: Iterable[Identity]) -> Random:
    """Return the generator of one inventory, the same on every machine.

    The spans are part of its seed: with the note alone, every run would draw one sequence, and two
    runs that tag different spans would give one UID to different occurrences.
    """
    spans = hashlib.sha256(
        "\n".join(f"{start}\t{end}\t{mention}" for start, end, mention in identities).encode(
            "utf-8", "surrogatepass"
        )
    )
    return Random(f"{seed}:{note_sha256}:{spans.hexdigest()}")


def find_identities(spans: Iterable[TaggedSpan]) -> list[Identity]:
    """Return what makes each span the occurrence that it is."""
    return [(span.start, span.end, escape_mention(span.mention)) for span in spans]


def escape_mention(mention: str) -> str:
    r"""Return the mention on one line, its `\`, `|` and `"` escaped.

    A backslash precedes each, so that tables and attributes can have the mention as it is. Done
    once, here: no later stage sees two forms of one mention.
    """
    return _SPECIAL.sub(r"\\\g<0>", " ".join(mention.split()))


def unescape_mention(mention: str) -> str:
    """Return the mention as people read it.

    The inverse of `escape_mention` on one-line mentions.
    """
    return _ESCAPED.sub(r"\1", mention)
