"""Digests of what a packet depends on.

The audit trail stores them at the opening; `manage.py verify_chain` compares them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from adjudication.chain import digest
from adjudication.models import Assignment, Finding, Game, Packet
from timelines.access.authoring import SUPERSEDED

#: All fields of a finding that a decision is about.
_FINDING = (
    "public_id", "type", "verdict", "polarity", "a_event", "a_time", "b_event", "b_time", "a_row", "b_row", "note_evidence",
    "note_start", "note_end", "table_evidence", "grounding", "relation", "reason", "flagged", "category", "charged_first", "subject_sha256",
)  # fmt: skip
_ITEM = ("public_id", "finding__public_id", "ordinal", "stratum", "pairing", "quota", "versions")
_SIDE = ("public_id", "kind", "alternative", "inventory_id", "case_run_id", "encounter__public_id")
#: Of an item: its finding and its place, the game and its sides, and the two timelines.
_ORIGIN = (
    "public_id", *(f"finding__{name}" for name in _FINDING), "finding__ordinal", "finding__a_entry_id", "finding__b_entry_id",
    *(f"finding__game__{name}" for name in ("public_id", "run__public_id", "swapped", "seed", "a_is_first", "outcome", "input_sha256")),
    "finding__game__comparison__public_id", "finding__game__comparison__encounter__public_id",
    *(f"finding__game__comparison__{side}__{name}" for side in ("first", "second") for name in _SIDE),
    *(f"finding__{side}_entry__timeline__public_id" for side in "ab"),
)  # fmt: skip
_SOURCES = tuple(f"finding__game__comparison__{side}__source" for side in ("first", "second"))
_PACKET = (
    "study__public_id", "label", "judge_run__public_id", "judge_run__study__public_id", "judge_run__sources", "judge_run__judge",
    "judge_run__judge_name",
    "judge_run__judge_version", "judge_run__config", "drawn", "follows_id", "lease_minutes", "created_by__public_id",
)  # fmt: skip


def finding_digest(finding: Finding) -> str:
    """Return the SHA-256 of a finding, stored in every decision about it."""
    return digest({name: getattr(finding, name) for name in _FINDING})


def game_digest(game: Game) -> str:
    """Return the SHA-256 of a game's findings, stored in every search of it."""
    found = Finding.objects.filter(game=game).order_by("ordinal")
    rows = [(finding_digest(f), f.a_entry_id, f.b_entry_id) for f in found]
    return digest({"findings": [list(row) for row in rows]})


def items_digest(packet: Packet) -> str:
    """Return the SHA-256 of the packet's items as they were drawn."""
    return digest(
        {"items": [list(row) for row in packet.items.order_by("ordinal").values_list(*_ITEM)]}
    )


def terms_digest(packet: Packet) -> str:
    """Return the SHA-256 of the terms fixed before the first answer.

    These are how the packet was drawn, and when its judges' answers are shown.
    """
    return digest({"seed": packet.seed, "reveal": packet.reveal, "design": packet.design})


def origins_digest(packet: Packet) -> str:
    """Return the SHA-256 of the origin of the items and the packet.

    For items: their findings, and which timeline was on which side of their games.
    """
    own = Packet.objects.filter(pk=packet.pk).values_list(*_PACKET, "created_at").get()
    rows = packet.items.order_by("ordinal").values_list(*_ORIGIN, *_SOURCES)
    # A timeline that its author replaced is renamed (`timelines.access.authoring`) but is the same
    # one.
    items = [
        [*row[: -len(_SOURCES)], *(SUPERSEDED.sub("", source) for source in row[-len(_SOURCES) :])]
        for row in rows
    ]
    return digest({"packet": [*own[:-1], moment(own[-1])], "items": items})


def order_digest(assignment: Assignment) -> str:
    """Return the SHA-256 of the seed of a person's sides and order.

    Stored in each of their links.
    """
    return digest({"seed": assignment.seed})


def share_digest(assignment: Assignment) -> str:
    """Return the SHA-256 of a person's share, stored when they are assigned."""
    return digest(
        {
            "seed": assignment.seed,
            "pairings": assignment.pairings,
            "assignment": assignment.public_id,
        }
    )


def opening_facts(packet: Packet) -> dict[str, Any]:
    """Return the digests and time that the audit trail records at the opening."""
    return {
        "items_sha256": items_digest(packet),
        "terms_sha256": terms_digest(packet),
        "origins_sha256": origins_digest(packet),
        "opened_at": moment(packet.opened_at),
    }


def moment(at: datetime | None) -> str | None:
    """Write a time as digests and the audit trail have it."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="microseconds")
