"""Documents as notes: the kind, the time of writing and the text."""

from __future__ import annotations

from ehr.formats.base import NoteRecord
from ehr.formats.fhir.elements import Fault, Resource, say_concept
from ehr.formats.fhir.facts import read_choice, read_inside
from ehr.formats.fhir.texts import Places, read_attachments
from ehr.formats.fhir.times import NEVER, Moment, read_moment, read_period
from ehr.formats.limits import Limits

#: LOINC codes of documents → kinds of notes.
KINDS = {
    "18842-5": "discharge summary",
    "11490-0": "discharge summary",
    "28655-9": "discharge summary",
    "34105-7": "discharge summary",
    "34106-5": "discharge summary",
    "18761-7": "transfer summary",
    "34133-9": "summary of episode",
    "34117-2": "history and physical",
    "11488-4": "consultation",
    "11506-3": "progress note",
    "51847-2": "progress note",
    "11504-8": "operative note",
    "28570-0": "procedure note",
    "34746-8": "nursing note",
    "34111-5": "emergency note",
    "18748-4": "imaging report",
    "11526-1": "pathology report",
    "11502-2": "laboratory report",
}
LOINC = "http://loinc.org"
LONGEST_KIND = 40
#: Of a document whose type has neither a known code nor words.
OTHER = "other note"


def has_text(resource: Resource) -> bool:
    """Say if a resource becomes a note: a document, or a report's text."""
    type = resource["resourceType"]
    return type == "DocumentReference" or (
        type == "DiagnosticReport" and bool(resource.get("presentedForm"))
    )


def read_note(resource: Resource, places: Places, limits: Limits) -> NoteRecord:
    """Return a note. Raises Fault, SHAPE_ERRORS."""
    if resource["resourceType"] == "DocumentReference":
        parts = [content["attachment"] for content in resource["content"]]
        field, concept = "content[0].attachment", resource.get("type")
        written = read_moment(resource, "date")
    else:
        parts, field = resource["presentedForm"], "presentedForm[0]"
        concept, written = resource.get("code"), read_moment(resource, "issued")
        if written is NEVER:
            written, _ = read_choice(resource, "effective")
    created = [read_moment(part, "creation") for part in parts]
    times = [m.time for m in (*created, written) if m.time and not m.day]
    text = read_attachments(parts, field, places)
    if len(text.encode()) > limits.note_bytes:
        raise Fault(
            field, f"the note has more than {limits.note_bytes:,} bytes (IMPORT_NOTE_BYTES)"
        )
    return NoteRecord(text, times[0] if times else written.time, find_kind(concept))


def find_kind(concept: Resource | None) -> str:
    """Return the kind of a document by its LOINC code, else in its own words."""
    for coding in (concept or {}).get("coding") or ():
        if coding.get("system") == LOINC and coding.get("code") in KINDS:
            return KINDS[coding["code"]]
    words = "".join(c for c in say_concept(concept).lower() if c.isprintable())
    return words[:LONGEST_KIND].strip() or OTHER


def find_encounters(resource: Resource) -> tuple[list[Resource], str]:
    """Return the references to encounters, and the field they are in."""
    if resource["resourceType"] == "DocumentReference":
        context = resource.get("context") or {}
        return list(context.get("encounter") or ()), "context.encounter"
    for field in ("encounter", "context"):
        if resource.get(field) is not None:
            return [resource[field]], field
    return [], "encounter"


def read_service_time(resource: Resource) -> Moment:
    """Return the time of the care that a document describes, not of writing.

    A note is often written after the stay, so its own time says nothing.
    """
    if resource["resourceType"] == "DocumentReference":
        return read_inside(resource, "context", read_period, "period")[0]
    return read_choice(resource, "effective")[0]
