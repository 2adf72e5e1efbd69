"""Check the audit trail's chain for changed, removed or added events.

These are changes past its trigger (docs/adr/0034-audit-chain.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounts.models import AuditLink

#: Most faults to report; a fault early in the chain would give one line for each event.
MOST = 100


@dataclass(frozen=True, slots=True)
class Head:
    """A place in the chain and its hash, noted by people as "12:ab…"."""

    sequence: int
    hash: str

    @classmethod
    def parse(cls, text: str) -> Head:
        """Read what `__str__` writes. Raises ValueError."""
        sequence, _, hash_ = text.partition(":")
        return cls(int(sequence), hash_.strip())

    @classmethod
    def from_detail(cls, detail: Mapping[str, Any]) -> Head:
        """Read what `as_detail` wrote."""
        return cls(detail["audit_sequence"], detail["audit_head"])

    def as_detail(self) -> dict[str, Any]:
        """How something that is signed notes the head."""
        return {"audit_sequence": self.sequence, "audit_head": self.hash}

    def __str__(self) -> str:
        return f"{self.sequence}:{self.hash}"


@dataclass(frozen=True, slots=True)
class AuditFault:
    """A break of the chain: its place (0: outside) and reason, no content."""

    sequence: int
    reason: str


def current_head() -> Head:
    """The last link; (0, "") of an empty trail."""
    last = AuditLink.objects.order_by("-sequence").values_list("sequence", "hash").first()
    return Head(*last) if last else Head(0, "")


def chain_faults(noted: Sequence[Head] = ()) -> list[AuditFault]:
    """Return every fault of the chain, at most MOST.

    `noted` are earlier heads, which the chain must still contain.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FAULTS, [MOST])
        found = [AuditFault(*row) for row in cursor.fetchall()]
    wanted = [head for head in noted if head.sequence]
    stored = dict(
        AuditLink.objects.filter(sequence__in=[head.sequence for head in wanted]).values_list(
            "sequence", "hash"
        )
    )
    return found + [
        AuditFault(h.sequence, "another head was noted there")
        for h in wanted
        if stored.get(h.sequence) != h.hash
    ]


# The hash is computed here too, so that a changed function in the database (`accounts_audit_hash`)
# is noticed.
_FAULTS = """
WITH links AS (
    SELECT sequence, event_id, hash, lag(sequence, 1, 0::bigint) OVER w AS before, lag(hash, 1, '') OVER w AS previous
    FROM accounts_auditlink WINDOW w AS (ORDER BY sequence)
), judged AS (
    SELECT l.sequence, CASE
        WHEN l.sequence <> l.before + 1 THEN 'links before it are missing'
        WHEN e.id IS NULL THEN 'its event is missing'
        WHEN l.hash <> encode(sha256(convert_to(l.previous || E'\\n' || jsonb_build_array(
            e.id, to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), e.actor_id, e.study_id, e.action, e.object_type,
            e.object_id, e.detail
        )::text, 'UTF8')), 'hex') THEN 'its event, or the link before it, was changed'
    END AS reason
    FROM links l LEFT JOIN accounts_auditevent e ON e.id = l.event_id
    UNION ALL
    SELECT 0, format('event %%s has no link', e.id) FROM accounts_auditevent e
    WHERE NOT EXISTS (SELECT 1 FROM accounts_auditlink l WHERE l.event_id = e.id)
)
SELECT sequence, reason FROM judged WHERE reason IS NOT NULL ORDER BY sequence LIMIT %s
"""
