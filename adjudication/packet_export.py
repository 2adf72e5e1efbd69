"""Every link of a packet's chain as lines of a file, with or without text of notes and reviewers, and what each column means."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from adjudication.chain import canonical
from adjudication.chain_storage import payload_of
from adjudication.models import Decision, Packet
from adjudication.visibility import unswapped
from timelines.exports.flat import safe_cell


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the file. `text`: holds words of a note, of a reviewer or of the judge, and stays away unless asked for."""

    name: str
    kind: str
    meaning: str
    text: bool = False


COLUMNS = (
    Column("packet", "text", "public id of the packet"),
    Column("sequence", "integer", "place in the packet's chain, from 1 without a gap"),
    Column("kind", "text", "answer, amendment, withdrawal, late, sign, unsign or guess"),
    Column("stands", "boolean", "whether this is the decision that counts for its person and item"),
    Column("reviewer", "text", "user name"),
    Column("role", "text", "reviewer or adjudicator (the third person)"),
    Column("item", "text", "public id of the item; empty for signatures"),
    Column("case", "text", "case id"),
    Column("pairing", "text", "the two sources, in the judge run's order"),
    Column("stratum", "text", "stratum of the validation sample"),
    Column("finding", "text", "public id of the finding"),
    Column("finding_type", "text", "type as the judge told it, in its own labels A and B"),
    Column("verdict", "text", "the judge's verdict, in its labels"),
    Column("answer", "text", "the reviewer's answer, in the judge's labels"),
    Column("answer_shown", "text", "the same in the labels the reviewer saw"),
    Column("shown_swapped", "boolean", "whether the judge's B stood as A on the reviewer's page"),
    Column("upheld", "boolean", "whether the answer equals the verdict"),
    Column("own_time", "number", "the time the reviewer would give, hours from admission"),
    Column("flagged", "boolean", "marked for a second look"),
    Column("active_seconds", "number", "seconds the item was before the reviewer's eyes"),
    Column("at", "text", "when it was stored, ISO 8601, UTC"),
    Column("amends", "text", "public id of the decision that this one amends or withdraws"),
    Column("decision", "text", "public id of this link"),
    Column("judge", "text", "judge that told the finding, with its version"),
    Column("previous_hash", "text", "hash of the link before"),
    Column("hash", "text", "SHA-256 over this link and the hash before (manage.py verify_chain)"),
    Column("comment", "text", "what the reviewer wrote", text=True),
    Column("a_event", "text", "words of the judge's row A", text=True),
    Column("a_time", "integer", "its whole hours from admission", text=True),
    Column("b_event", "text", "words of the judge's row B", text=True),
    Column("b_time", "integer", "its whole hours from admission", text=True),
    Column("note_evidence", "text", "the judge's quote of the note", text=True),
    Column("reason", "text", "the judge's reason", text=True),
    Column("payload", "text", "what was hashed: `hash` is SHA-256 over previous_hash, a line feed and this, in UTF-8", text=True),
)
_JOINED = ("assignment__person", "item__finding__game__comparison__encounter", "amends", "packet")


def columns(*, with_text: bool) -> list[Column]:
    """The columns of a file."""
    return [c for c in COLUMNS if with_text or not c.text]


def lines(packet: Packet) -> Iterator[dict[str, Any]]:
    """One record a link, in order, with all columns; nothing of it is safe for a spreadsheet yet."""
    rows = Decision.objects.filter(packet=packet).select_related(*_JOINED).order_by("sequence")
    stand = set(packet.items.filter(slots__decision__isnull=False).values_list("slots__decision", flat=True))
    for d in rows.iterator(chunk_size=1000):
        yield _line(d, stands=d.pk in stand)


def _line(d: Decision, *, stands: bool) -> dict[str, Any]:
    finding = d.item.finding if d.item else None
    versions = d.item.versions if d.item else {}
    told = {
        "packet": d.packet.public_id, "sequence": d.sequence, "kind": d.kind, "stands": stands,
        "reviewer": d.assignment.person.get_username(), "role": d.assignment.role,
        "item": d.item.public_id if d.item else None,
        "case": finding.game.comparison.encounter.case_id if finding else None,
        "pairing": d.item.pairing if d.item else None, "stratum": d.item.stratum if d.item else None,
        "finding": finding.public_id if finding else None, "finding_type": finding.type if finding else None,
        "verdict": finding.verdict if finding else None, "answer": d.answer or None,
        "answer_shown": unswapped(d.answer, bool(d.shown_swapped)) or None, "shown_swapped": d.shown_swapped,
        "upheld": d.answer == finding.verdict if finding and d.answer else None,
        "own_time": d.own_time, "flagged": d.flagged, "active_seconds": d.active_seconds, "at": d.at.isoformat(),
        "amends": d.amends.public_id if d.amends else None, "decision": d.public_id,
        "judge": " ".join(str(versions[k]) for k in ("judge", "judge_version") if versions.get(k)) or None,
        "previous_hash": d.previous_hash, "hash": d.hash, "comment": d.comment,
        "payload": canonical(payload_of(d)).decode(),
    }  # fmt: skip
    names = ("a_event", "a_time", "b_event", "b_time", "note_evidence", "reason")
    return told | {name: getattr(finding, name) if finding else None for name in names}


def write_csv(packet: Packet, *, with_text: bool) -> Iterator[str]:
    """A head and a line a link; cells that a spreadsheet would run are made safe."""
    names = [c.name for c in columns(with_text=with_text)]
    yield _row(names)
    for told in lines(packet):
        yield _row([_cell(told[name]) for name in names])


def write_jsonl(packet: Packet, *, with_text: bool) -> Iterator[str]:
    """A JSON object a line."""
    names = [c.name for c in columns(with_text=with_text)]
    for told in lines(packet):
        yield json.dumps({name: told[name] for name in names}, ensure_ascii=False) + "\n"


def write_dictionary(packet: Packet, *, with_text: bool) -> Iterator[str]:
    """What each column means, a line each."""
    yield _row(["column", "type", "meaning"])
    for column in columns(with_text=with_text):
        yield _row([column.name, column.kind, column.meaning])


def file_name(packet: Packet, form: str, *, with_text: bool) -> str:
    """What a downloaded file is called: a file that holds patients' text says so."""
    stem = "data-dictionary" if form == "dictionary" else "chain"
    return f"{stem}-{packet.public_id}{'-with-text' if with_text else ''}.{FORMATS[form][1]}"


def _row(cells: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return safe_cell(value) if isinstance(value, str) else str(value)


#: Format → (content type, ending, writer).
FORMATS: dict[str, tuple[str, str, Callable[..., Iterator[str]]]] = {
    "csv": ("text/csv", "csv", write_csv),
    "jsonl": ("application/jsonl", "jsonl", write_jsonl),
    "dictionary": ("text/csv", "csv", write_dictionary),
}
