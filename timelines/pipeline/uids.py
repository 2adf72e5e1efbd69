"""Stage 2: one persistent identifier per tagged span. From here on UID, mention and span never change (protocol section 2)."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from random import Random

from timelines.domain import InvariantError, Inventory, Occurrence, TaggedSpan

#: Four hex digits name at most this many occurrences of one case.
CAPACITY = 16**4

_SPECIAL = re.compile(r'[\\|"]')
_ESCAPED = re.compile(r'\\([\\|"])')


def assign_uids(spans: Sequence[TaggedSpan], *, rng: Random) -> Inventory:
    """An inventory in the order of `spans`, each with a UID drawn from `rng` and its mention escaped.

    A UID that the case already has is drawn again. The same spans and the same seed give the same UIDs.
    Raises InvariantError for more than 65,536 spans.
    """
    drawn: set[str] = set()
    occurrences = []
    for ordinal, span in enumerate(spans):
        uid = draw_uid(rng, drawn)
        drawn.add(uid)
        occurrences.append(Occurrence(uid, ordinal, escape_mention(span.mention), span.start, span.end, span.polarity, span.lane))
    return Inventory(tuple(occurrences))


def draw_uid(rng: Random, taken: Container[str]) -> str:
    """Four lower-case hex digits that are not `taken`. Raises InvariantError where none is left."""
    for _ in range(4 * CAPACITY):
        if (uid := f"{rng.randrange(CAPACITY):04x}") not in taken:
            return uid
    left = [uid for uid in (f"{n:04x}" for n in range(CAPACITY)) if uid not in taken]
    if not left:
        raise InvariantError(f"four hex digits name at most {CAPACITY} occurrences of one case")
    return rng.choice(left)


def uid_rng(seed: int, note_sha256: str) -> Random:
    """The generator of one case: the same note under the same seed gets the same UIDs, on every machine."""
    return Random(f"{seed}:{note_sha256}")


def escape_mention(mention: str) -> str:
    r"""The mention on one line, with `\`, `|` and `"` preceded by a backslash, so that tables and attributes hold it as it is.

    Done once, here: no later stage sees two forms of one mention.
    """
    return _SPECIAL.sub(r"\\\g<0>", " ".join(mention.split()))


def unescape_mention(mention: str) -> str:
    """The mention as people read it: the inverse of `escape_mention` on one-line mentions."""
    return _ESCAPED.sub(r"\1", mention)
