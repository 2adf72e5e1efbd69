"""What a file of FHIR resources says, read without the importer's code."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ehr.formats.base import EncounterRecord, Rejection
from ehr.formats.stream import StreamFile

ENTRY = re.compile(r"entry\[(\d+)\]")
READ = {
    "Observation", "MedicationAdministration", "MedicationRequest", "MedicationDispense",
    "Condition", "Procedure", "ServiceRequest", "DocumentReference",
}  # fmt: skip
WITHDRAWN = ("entered-in-error", "cancelled")


def has_lines(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith((".ndjson", ".jsonl"))


def find_entry(rejection: Rejection) -> int | None:
    """Return the place of the entry that a rejection names, from 1."""
    found = ENTRY.match(rejection.field)
    return int(found[1]) + 1 if found else None


def read_resources(path: Path) -> dict[int, Any]:
    """Return place → resource; None for what is no resource."""
    content = path.read_bytes()
    content = gzip.decompress(content) if path.name.lower().endswith(".gz") else content
    content = content.removeprefix(b"\xef\xbb\xbf")
    if has_lines(path):
        lines = enumerate(content.split(b"\n"), start=1)
        return {number: _parse(line) for number, line in lines if line.strip(b" \t\r\n\x0b\x0c")}
    rest, entries = cut_entries(content.decode("utf-8", "surrogateescape"))
    document = json.loads(rest)
    if document["resourceType"] != "Bundle":
        return {1: _parse(content)}
    found = {}
    for number, text in enumerate(entries, start=1):
        entry = _parse(text.encode("utf-8", "surrogateescape"))
        found[number] = entry.get("resource") if isinstance(entry, dict) else None
    return found


def cut_entries(text: str) -> tuple[str, list[str]]:
    """Return the document with 0 for each entry, and the entries.

    It goes through the text character by character.
    """
    entries: list[str] = []
    rest, entry = "", ""
    depth, quoted, escaped, listing = 0, False, False, False
    for c in text:
        if not quoted and c in "{[":
            if depth == 1 and c == "[":
                listing = bool(re.search(r'"entry"\s*:\s*$', rest))
            depth += 1
        inside = listing and depth >= 3
        if inside:
            entry += c
        else:
            rest += c
        if quoted:
            quoted, escaped = escaped or c != '"', c == "\\" and not escaped
        elif c == '"':
            quoted = True
        elif c in "}]":
            depth -= 1
            if inside and depth == 2:
                entries, entry, rest = [*entries, entry], "", rest + "0"
            listing = listing and depth >= 2
    return rest, entries


def check_file(
    file: StreamFile,
    stored: Sequence[tuple[int, int, dict[str, Any]]],
    rejected: set[int],
    offered: int,
    encounters: Sequence[EncounterRecord],
) -> None:
    """Check that every resource is stored as it says, rejected, or of no stay."""
    resources = read_resources(file.path)
    assert offered == len(resources)
    for number, place, row in stored:
        _check_row(resources[number], row, encounters[place])
    kept = {number for number, *_ in stored}
    cases = {f"Encounter/{e.case_id}" for e in encounters}
    for number in resources.keys() - kept - rejected:
        resource = resources[number]
        if resource is None and file.entries:
            continue  # an entry without a resource
        assert isinstance(resource, dict), "what is no resource is rejected"
        if resource.get("resourceType") in READ and resource.get("status") not in WITHDRAWN:
            named = _find_encounter(resource)
            assert named not in cases, "a resource of an imported stay is lost"


def _check_row(resource: dict[str, Any], row: dict[str, Any], encounter: EncounterRecord) -> None:
    if "text" in row:
        parts = [c["attachment"] for c in resource.get("content") or ()]
        parts += resource.get("presentedForm") or []
        texts = [base64.b64decode(p["data"]).decode() for p in parts if "data" in p]
        words = " ".join(row["text"].split())
        plain = [" ".join(re.sub("<[^>]*>", " ", text).split()) for text in texts]
        plain += [" ".join(text.split()) for text in texts]
        assert words in plain or any("url" in p for p in parts)
        return
    said = json.dumps(resource, ensure_ascii=False)
    for time in (row["time"], row["result_time"]):
        assert time is None or time.isoformat()[:10] in said
        assert time is None or time.isoformat()[:16] in said or not time.hour + time.minute
    numbers = {str(n) for n in _find_numbers(resource)}
    assert (
        row["value"] in ("", "yes", "no")
        or row["value"] in numbers
        or all(word in said.replace("\\n", " ") for word in re.findall(r"[A-Za-z]+", row["value"]))
    )
    named = _find_encounter(resource)
    places = (f"Encounter/{encounter.case_id}", f"Encounter/{encounter.case_id}-icu")
    assert named in ("", *places)


def _find_encounter(resource: dict[str, Any]) -> str:
    """Return the reference to an encounter; "" without one."""
    context = resource.get("context") or {}
    listed = [resource.get("encounter"), context, *(context.get("encounter") or ())]
    found = (r.get("reference") for r in listed if isinstance(r, dict))
    return next((text for text in found if text), "")


def _find_numbers(value: Any) -> set[float]:
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return {n for part in parts for n in _find_numbers(part)}
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return {value, int(value)} if is_number and abs(value) < 1e15 else set()


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
