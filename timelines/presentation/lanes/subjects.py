"""What the words of an occurrence are about, as the vocabulary knows it."""

from __future__ import annotations

from functools import lru_cache

from timelines.backbones.rules.querying.vocabulary import Hit, Kind, vocabulary
from timelines.domain import Lane

_MEASURED = (Kind.MEASUREMENT,)
#: The kinds that a lane's subjects have, the more likely first.
_KINDS: dict[Lane, tuple[Kind, ...]] = {
    Lane.MEDICATION: (Kind.DRUG, Kind.DRUG_CLASS),
    Lane.PROCEDURE: (Kind.PROCEDURE,),
    Lane.LAB: _MEASURED,
    Lane.FINDING: _MEASURED,
}


@lru_cache(maxsize=4096)
def find_subject(mention: str, lane: Lane) -> Hit | None:
    """Return the first thing of the lane's kind that the words name.

    Words that name it prevail over words that only imply it ("hyponatremia, Na 121").
    """
    hits = vocabulary().find(mention)
    for kind in _KINDS.get(lane, ()):
        of_kind = sorted((h for h in hits if h.concept.kind is kind), key=lambda h: h.implied)
        if of_kind:
            return of_kind[0]
    return None
