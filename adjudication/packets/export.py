"""Every link of a packet's chain as lines of a file, and its columns.

Text of notes and reviewers is optional.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjudication import export_files
from adjudication.blinding.visibility import swap_answer
from adjudication.chain import encode_canonical
from adjudication.export_files import BOOL, INT, NUMBER, TEXT, Column
from adjudication.models import Decision, Packet
from adjudication.packets.chain.storage import build_payload

COLUMNS = (
    Column("packet", TEXT, "", "public id of the packet"),
    Column("sequence", INT, "", "position in the packet's chain, from 1 without gaps"),
    Column("kind", TEXT, "", "answer, amendment, withdrawal, late, sign, unsign, guess or search"),
    Column("counts", BOOL, "", "whether this is the decision that counts for its person and item"),
    Column("reviewer", TEXT, "", "user name", free=True),
    Column("role", TEXT, "", "reviewer or adjudicator (the third person)"),
    Column("item", TEXT, "", "public id of the item; empty for signatures and searches"),
    Column("case", TEXT, "", "case id", free=True),
    Column("pairing", TEXT, "", "the two sources, in the judge run's order", free=True),
    Column("stratum", TEXT, "", "stratum of the validation sample"),
    Column("finding", TEXT, "", "public id of the finding"),
    Column("finding_type", TEXT, "", "type as the judge reported it, in its own labels A and B"),
    Column("verdict", TEXT, "", "the judge's verdict, in its labels"),
    Column("answer", TEXT, "", "the reviewer's answer, in the judge's labels"),
    Column("answer_shown", TEXT, "", "the same in the labels the reviewer saw"),
    Column("shown_swapped", BOOL, "", "whether the reviewer's page showed the judge's B as A"),
    Column("upheld", BOOL, "", "whether the answer equals the verdict"),
    Column("own_time", NUMBER, "hours", "the time that the reviewer proposes, from admission"),
    Column("flagged", BOOL, "", "marked for a second look"),
    Column("active_seconds", NUMBER, "seconds", "how long the reviewer looked at the item"),
    Column("at", TEXT, "", "when it was stored, ISO 8601, UTC"),
    Column("amends", TEXT, "", "public id of the decision that this one amends or withdraws"),
    Column("decision", TEXT, "", "public id of this link"),
    Column("judge", TEXT, "", "judge that reported the finding, with its version", free=True),
    Column("previous_hash", TEXT, "", "hash of the link before"),
    Column("hash", TEXT, "", "SHA-256 over this link and the hash before (manage.py verify_chain)"),
    Column("comment", TEXT, "", "what the reviewer wrote", text=True),
    Column("a_event", TEXT, "", "words of the judge's row A", text=True),
    Column("a_time", INT, "hours", "its whole hours from admission", text=True),
    Column("b_event", TEXT, "", "words of the judge's row B", text=True),
    Column("b_time", INT, "hours", "its whole hours from admission", text=True),
    Column("note_evidence", TEXT, "", "the judge's quote of the note", text=True),
    Column("reason", TEXT, "", "the judge's reason", text=True),
    Column(
        "payload",
        TEXT,
        "",
        "the hashed text: `hash` is SHA-256 over previous_hash, a line feed and this, in UTF-8",
        text=True,
    ),
)
DICTIONARY = "dictionary"
#: Format → (content type, ending).
FORMATS = {
    "csv": export_files.FORMATS["csv"][:2],
    "jsonl": export_files.FORMATS["jsonl"][:2],
    DICTIONARY: export_files.FORMATS["csv"][:2],
}
_JOINED = ("assignment__person", "item__finding__game__comparison__encounter", "amends", "packet")


def columns(*, with_text: bool) -> list[Column]:
    """Return the columns of a file."""
    return [c for c in COLUMNS if with_text or not c.text]


def lines(packet: Packet) -> Iterator[dict[str, Any]]:
    """Yield one record per link, in order, with all columns.

    Values are not yet escaped for spreadsheets.
    """
    rows = Decision.objects.filter(packet=packet).select_related(*_JOINED).order_by("sequence")
    counting = set(
        packet.items.filter(slots__decision__isnull=False).values_list("slots__decision", flat=True)
    )
    for d in rows.iterator(chunk_size=1000):
        yield _line(d, counts=d.pk in counting)


def _line(d: Decision, *, counts: bool) -> dict[str, Any]:
    finding = d.item.finding if d.item else None
    versions = d.item.versions if d.item else {}
    line = {
        "packet": d.packet.public_id, "sequence": d.sequence, "kind": d.kind, "counts": counts,
        "reviewer": d.assignment.person.get_username(), "role": d.assignment.role,
        "item": d.item.public_id if d.item else None,
        "case": finding.game.comparison.encounter.case_id if finding else None,
        "pairing": d.item.pairing if d.item else None, "stratum": d.item.stratum if d.item else None,
        "finding": finding.public_id if finding else None, "finding_type": finding.type if finding else None,
        "verdict": finding.verdict if finding else None, "answer": d.answer or None,
        "answer_shown": swap_answer(d.answer, bool(d.shown_swapped)) or None, "shown_swapped": d.shown_swapped,
        "upheld": d.answer == finding.verdict if finding and d.answer else None,
        "own_time": d.own_time, "flagged": d.flagged, "active_seconds": d.active_seconds, "at": d.at.isoformat(),
        "amends": d.amends.public_id if d.amends else None, "decision": d.public_id,
        "judge": " ".join(str(versions[k]) for k in ("judge", "judge_version") if versions.get(k)) or None,
        "previous_hash": d.previous_hash, "hash": d.hash, "comment": d.comment,
        "payload": encode_canonical(build_payload(d)).decode(),
    }  # fmt: skip
    names = ("a_event", "a_time", "b_event", "b_time", "note_evidence", "reason")
    return line | {name: getattr(finding, name) if finding else None for name in names}


def parts(packet: Packet, form: str, *, with_text: bool) -> Iterator[bytes]:
    """Yield the file of one of `FORMATS`."""
    chosen = columns(with_text=with_text)
    if form == DICTIONARY:
        return export_files.write_dictionary(chosen)
    return export_files.FORMATS[form][2](lines(packet), chosen)


def file_name(packet: Packet, form: str, *, with_text: bool) -> str:
    """Name a downloaded file; "-with-text" marks text of patients."""
    stem = "data-dictionary" if form == DICTIONARY else "chain"
    return f"{stem}-{packet.public_id}{'-with-text' if with_text else ''}.{FORMATS[form][1]}"
