"""The files of a FHIR export, and their resources one by one.

NDJSON has a resource on each line; any other file is a Bundle or one resource. Each may be gzipped.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from ehr.formats.base import (
    RAW_CHARACTERS,
    FormatError,
    Rejection,
    WrongFile,
    describe_fault,
    describe_packing,
    safe_name,
)
from ehr.formats.fhir.bundles import LONGEST_RESOURCE, EntryCutter
from ehr.formats.limits import Limits

CHUNK_BYTES = 4 << 20
LINES = (".ndjson", ".jsonl")
DOCUMENTS = (".json",)
PACKED = ".gz"
#: The log that a bulk export writes beside its resources.
LOGS = ("log.ndjson",)
BOM, UTF_16 = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff")
TOO_LONG = f"the resource has more than {LONGEST_RESOURCE:,} bytes"


@dataclass(frozen=True, slots=True)
class Piece:
    """One resource of a file, not parsed yet; None if it is too long.

    `number` is its line, or the place of its `entry` in a Bundle, from 1.
    """

    number: int
    data: bytes | None
    entry: bool = False


@dataclass(frozen=True, slots=True)
class FhirFile:
    """A file; `name` is its path below the imported folder."""

    name: str
    path: Path

    @property
    def is_packed(self) -> bool:
        return self.path.name.lower().endswith(PACKED)

    @property
    def has_lines(self) -> bool:
        return self.path.name.lower().removesuffix(PACKED).endswith(LINES)

    def reject(self, piece: Piece, path: str, reason: str) -> Rejection:
        """Return a rejection that names the line, or the entry of a Bundle."""
        text = (piece.data or b"")[:RAW_CHARACTERS].decode("utf-8", "replace")
        if not piece.entry:
            return Rejection(self.name, reason, piece.number, path, text)
        place = f"entry[{piece.number - 1}].resource"
        return Rejection(self.name, reason, None, f"{place}.{path}".removesuffix("."), text)


def find_files(root: Path) -> tuple[list[FhirFile], list[str]]:
    """Return the files of resources and the names of logs.

    Raises FormatError if there is none.
    """
    if root.is_dir():
        found = sorted(p for p in root.rglob("*") if _is_resources(p.relative_to(root)))
        found = [p for p in found if p.is_file() or describe_fault(p)]
    else:
        found = [root] if _is_resources(Path(root.name)) and root.is_file() else []
    base = root if root.is_dir() else root.parent
    logs = [p for p in found if p.name.lower() in LOGS]
    files = [FhirFile(_say_name(p, base), p) for p in found if p not in logs]
    if not files:
        raise FormatError(
            f"{root} has no .ndjson or .json file. The fhir format is a Bundle, a bulk export"
            " or a folder of either; each file may be gzipped."
        )
    return files, [_say_name(p, base) for p in logs]


def read_pieces(file: FhirFile, limits: Limits) -> Iterator[Piece]:
    """Yield the resources of a file. Raises WrongFile if it is damaged.

    A file that is neither lines nor a Bundle is one resource.
    """
    if reason := describe_fault(file.path):
        raise WrongFile(Rejection(file.name, reason))
    if file.has_lines:
        yield from _read_lines(file, limits)
        return
    cutter, number = EntryCutter(), 0
    for chunk in _read_chunks(file, limits):
        for entry in cutter.feed(chunk):
            number += 1
            yield Piece(number, entry, entry=True)
        if len(cutter.skeleton) > LONGEST_RESOURCE:
            raise WrongFile(Rejection(file.name, TOO_LONG))
    skeleton = bytes(cutter.skeleton)
    document = _read_document(file, skeleton)
    entries = document.get("entry") or []
    if document["resourceType"] != "Bundle":
        if number:
            raise WrongFile(Rejection(file.name, "a list of entries, but not a Bundle"))
        yield Piece(1, skeleton)
    elif not isinstance(entries, list) or len(entries) != number:
        reason = "the entries are no list of objects, or appear twice"
        raise WrongFile(Rejection(file.name, reason, None, "entry"))


def _read_document(file: FhirFile, document: bytes) -> dict[str, Any]:
    """Return a document that has a resource type. Raises WrongFile."""
    try:
        found = orjson.loads(document)
    except orjson.JSONDecodeError as error:
        line = document.count(b"\n", 0, error.pos) + 1
        reason = "the file is not JSON, or cut short"
        if line > 1 and _is_json(document.partition(b"\n")[0]):
            reason = "a resource on each line; the file's name must end in .ndjson"
        raise WrongFile(Rejection(file.name, reason, line)) from None
    if not isinstance(found, dict) or not isinstance(found.get("resourceType"), str):
        raise WrongFile(Rejection(file.name, "not a FHIR resource", 1, "resourceType"))
    return found


def parse_piece(piece: Piece) -> tuple[dict[str, Any] | None, str]:
    """Return (resource, address) of a piece.

    The resource is None for an entry without one. Raises ValueError, whose words are a reason.
    """
    if piece.data is None:
        raise ValueError(TOO_LONG)
    try:
        found: Any = orjson.loads(piece.data)
    except orjson.JSONDecodeError:
        raise ValueError("not JSON, or cut short") from None
    address: Any = ""
    if piece.entry:
        if not isinstance(found, dict):
            raise ValueError("not an entry of a Bundle")
        if "resource" not in found:
            return None, ""
        address, found = found.get("fullUrl"), found["resource"]
    if not isinstance(found, dict) or not isinstance(found.get("resourceType"), str):
        raise ValueError("not a FHIR resource")
    if found["resourceType"] == "Bundle":
        raise ValueError("a Bundle inside a file; give each Bundle its own .json file")
    return found, address if isinstance(address, str) else ""


def _read_lines(file: FhirFile, limits: Limits) -> Iterator[Piece]:
    number, rest, long = 0, b"", False
    for chunk in _read_chunks(file, limits):
        first, *others = chunk.split(b"\n")
        rest += first
        for following in others:
            number += 1
            if long or rest.strip():
                yield Piece(number, None if long or len(rest) > LONGEST_RESOURCE else rest)
            rest, long = following, False
        if len(rest) > LONGEST_RESOURCE:
            rest, long = b"", True
    if long or rest.strip():
        yield Piece(number + 1, None if long else rest)


def _read_chunks(file: FhirFile, limits: Limits) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked. Raises WrongFile."""
    size, read = file.path.stat().st_size, 0
    try:
        if reason := describe_packing(file.path):
            raise WrongFile(Rejection(file.name, reason))
        with gzip.open(file.path) if file.is_packed else file.path.open("rb") as opened:
            while chunk := opened.read(CHUNK_BYTES):
                if read == 0:
                    chunk = _check_start(file, chunk)
                read += len(chunk)
                if file.is_packed and (reason := limits.find_excess(read, size, None)):
                    raise WrongFile(Rejection(file.name, reason))
                yield chunk
    except (EOFError, zlib.error, gzip.BadGzipFile):
        reason = "the compressed file is damaged or cut short"
        raise WrongFile(Rejection(file.name, reason)) from None
    except OSError:
        raise WrongFile(Rejection(file.name, "the file cannot be read")) from None
    if not read:
        raise WrongFile(Rejection(file.name, "the file is empty"))


def _check_start(file: FhirFile, chunk: bytes) -> bytes:
    """Return the first chunk without a byte order mark. Raises WrongFile."""
    if chunk.startswith(UTF_16):
        raise WrongFile(Rejection(file.name, "not UTF-8; FHIR JSON is always UTF-8", 1))
    return chunk.removeprefix(BOM)


def _is_resources(path: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.parts)
    return not hidden and path.name.lower().removesuffix(PACKED).endswith((*LINES, *DOCUMENTS))


def _is_json(data: bytes) -> bool:
    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False
    return True


def _say_name(path: Path, base: Path) -> str:
    return "/".join(safe_name(Path(part)) for part in path.relative_to(base).parts)
