"""What calls cost and how they ended, counted in SQL.

Answers found in the ledger are counted apart: nothing was paid for them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from django.db.models import Count, Q, QuerySet, Sum

from llm_runtime.models import POST, ModelCall, Outcome

#: Calls that were made; the post of the exchange is none of them.
_PAID = Q(reused=False) & ~Q(outcome__in=POST)
#: Parts that differ between two faults of the same kind: identifiers, numbers, and the place
#: named before the fault.
_NUMBER = re.compile(r"\b[0-9a-f]{4}\b|\d+(?:\.\d+)?")
_PLACE = re.compile(r"^(?:.{1,60}?: )+")
KINDS_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Spent:
    """Counts of calls and tokens.

    `seconds` are those of the calls, which run side by side. `refused` counts paid attempts that
    gave no answer, by outcome.

    Tokens are those that servers reported; None if calls were made and no server reported any
    (some servers, files of the exchange).
    """

    calls: int = 0
    reused: int = 0
    tokens_in: int | None = 0
    tokens_cached: int | None = 0
    tokens_out: int | None = 0
    seconds: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)

    @property
    def refused_words(self) -> str:
        return ", ".join(
            f"{n} {Outcome(outcome).label}" for outcome, n in sorted(self.refused.items())
        )

    def figures(self) -> dict[str, float | None]:
        """Return plain values for exports, without the outcomes.

        Null means no server reported tokens.
        """
        return {
            "calls": self.calls,
            "reused": self.reused,
            "tokens_in": self.tokens_in,
            "tokens_cached": self.tokens_cached,
            "tokens_out": self.tokens_out,
            "seconds": round(self.seconds, 3),
        }

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.reused + other.reused,
            _sum_known((self.calls, self.tokens_in), (other.calls, other.tokens_in)),
            _sum_known((self.calls, self.tokens_cached), (other.calls, other.tokens_cached)),
            _sum_known((self.calls, self.tokens_out), (other.calls, other.tokens_out)),
            self.seconds + other.seconds,
            dict(Counter(self.refused) + Counter(other.refused)),
        )


def spent_by_owner(calls: QuerySet[ModelCall]) -> dict[str, Spent]:
    """owner_id → what its calls cost, in two queries."""
    found = (
        calls.order_by()
        .values("owner_id")
        .annotate(
            paid=Count("pk", filter=_PAID),
            found=Count("pk", filter=Q(reused=True)),
            into=Sum("tokens_in", filter=_PAID),
            cached=Sum("tokens_cached", filter=_PAID),
            out=Sum("tokens_out", filter=_PAID),
            took=Sum("seconds", filter=_PAID, default=0.0),
        )
    )
    refused: dict[str, dict[str, int]] = {}
    without = (
        calls.filter(_PAID)
        .exclude(outcome=Outcome.ACCEPTED)
        .order_by()
        .values_list("owner_id", "outcome")
        .annotate(n=Count("pk"))
    )
    for owner, outcome, n in without:
        refused.setdefault(owner, {})[outcome] = n
    return {
        row["owner_id"]: Spent(
            row["paid"],
            row["found"],
            _sum_known((row["paid"], row["into"])),
            _sum_known((row["paid"], row["cached"])),
            _sum_known((row["paid"], row["out"])),
            row["took"],
            refused.get(row["owner_id"], {}),
        )
        for row in found
    }


def _sum_known(*parts: tuple[int, int | None]) -> int | None:
    """Sum the reported tokens of pairs (calls made, tokens reported).

    None if calls were made and no server reported tokens.
    """
    made = [tokens for calls, tokens in parts if calls]
    reported = [tokens for tokens in made if tokens is not None]
    return sum(reported) if reported or not made else None


def total(parts: Iterable[Spent]) -> Spent:
    """All of them together."""
    return sum(parts, Spent())


def reason_kinds(calls: QuerySet[ModelCall], most: int = KINDS_SHOWN) -> list[tuple[str, int]]:
    """Return (kind of fault, number of paid attempts with it).

    Most frequent first; identifiers and numbers are left out of the words.
    """
    counted: Counter[str] = Counter()
    for reasons in (
        calls.filter(_PAID)
        .exclude(outcome=Outcome.ACCEPTED)
        .values_list("reasons", flat=True)
        .iterator()
    ):
        counted.update({generalize_reason(reason) for reason in reasons})
    return counted.most_common(most)


def generalize_reason(reason: str) -> str:
    """ "timeline 2: 3f0c is missing" → "… is missing"."""
    return _NUMBER.sub("…", _PLACE.sub("", reason))
