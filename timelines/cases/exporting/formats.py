"""The formats of a case's files: CSV, JSONL, FHIR R4 and a one-page PDF."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from django.utils.crypto import salted_hmac

from ehr.models import Encounter
from ehr.presentation.clock import Clock
from ehr.record.clock import clock_of
from timelines.cases.exporting.case_export import CaseExport
from timelines.cases.listing import title_line
from timelines.domain import TimelineKind
from timelines.formats.fhir.values import FhirStay, FhirTimeline
from timelines.formats.fhir.writer import write_fhir
from timelines.formats.report.drawing import draw_report
from timelines.formats.report.rows import LEGEND, make_rows
from timelines.formats.report.values import Milestone, Report
from timelines.formats.tables.writer import write_csv
from timelines.presentation import story
from timelines.transfer.case_chains import chain_values, load_chains

_MINUTE = "%Y-%m-%d %H:%M"
_FOOTER = (
    "For research and clinician-reviewed use only. It is not decision support. Hours count from"
    " admission; dates are de-identified."
)


@dataclass(frozen=True)
class Format:
    """A format: its label, a few words on it, content type, ending and writer."""

    label: str
    about: str
    content_type: str
    ending: str
    write: Callable[[CaseExport], bytes]


def _to_csv(made: CaseExport) -> bytes:
    with TemporaryDirectory() as folder:
        out = Path(folder) / "timeline.csv"
        write_csv([made.case], out, with_note_text=made.with_note_text)
        return out.read_bytes()


def _to_jsonl(made: CaseExport) -> bytes:
    found = load_chains(made.base)
    values = (
        chain_values(
            line, found.get(line.uid4 or ""), made.note, with_note_text=made.with_note_text
        )
        for line in made.lines
    )
    return "".join(json.dumps(v, ensure_ascii=False) + "\n" for v in values).encode()


def _to_fhir(made: CaseExport) -> bytes:
    encounter = made.encounter
    return write_fhir(
        made.judged_lines,
        FhirStay(
            encounter.public_id,
            _patient(encounter),
            encounter.admitted_at,
            encounter.discharged_at,
        ),
        FhirTimeline(
            made.timeline.public_id,
            made.timeline.created_at,
            made.choice.author or made.base.source,
            is_person=made.choice.kind is TimelineKind.REFERENCE,
            version=made.run.code_revision if made.run else "",
            correctors=made.correctors,
        ),
        with_note_text=made.with_note_text,
    )


def _patient(encounter: Encounter) -> str:
    """Return an opaque id: the same for all stays of a person in a dataset."""
    key = encounter.subject_key or encounter.public_id
    named = f"{encounter.dataset.public_id}:{key}"
    return salted_hmac("timelines.fhir.patient", named, algorithm="sha256").hexdigest()[:32]


def _to_pdf(made: CaseExport) -> bytes:
    encounter, clock = made.encounter, clock_of(made.encounter)
    days = f"admitted {encounter.admitted_at:{_MINUTE}}"
    if encounter.discharged_at is not None:
        days += f" → discharged {encounter.discharged_at:{_MINUTE}}"
    milestones = sorted(
        (m for day in made.story.days for m in day.milestones), key=lambda m: m.rank
    )
    shown = sorted(milestones[: made.story.shown], key=lambda m: m.time)
    # Of events that are one milestone, the first has its rank; the others follow all milestones.
    ranks = {
        uid: m.rank + len(milestones) * (n > 0) for m in milestones for n, uid in enumerate(m.uids)
    }
    return draw_report(
        Report(
            title=title_line(encounter),
            facts=f"Case {encounter.case_id} · {days} · {made.label}",
            story=tuple(_report_milestone(m, clock) for m in shown),
            rows=make_rows(
                made.judged_lines,
                made.text_times,
                clock,
                ranks=ranks,
                corrected=made.correctors.keys(),
                with_note_text=made.with_note_text,
            ),
            legend=LEGEND,
            footer=f"Timeline of {made.timeline.created_at:%Y-%m-%d}. {_FOOTER}",
        )
    )


def _report_milestone(milestone: story.Milestone, clock: Clock) -> Milestone:
    noted = f"(note: {milestone.noted.day})" if milestone.noted else ""
    return Milestone(
        f"{'≈ ' if milestone.approximate else ''}{clock.read(milestone.time).day}",
        " ".join(filter(None, (milestone.words, milestone.act, noted))),
    )


FORMATS: Mapping[str, Format] = {
    "pdf": Format("PDF", "one-page report", "application/pdf", "pdf", _to_pdf),
    "csv": Format("CSV", "one line for each event", "text/csv; charset=utf-8", "csv", _to_csv),
    "jsonl": Format(
        "JSONL",
        "with the chain of each time",
        "application/jsonl; charset=utf-8",
        "jsonl",
        _to_jsonl,
    ),
    "fhir": Format(
        "FHIR R4",
        "Bundle with provenance",
        "application/fhir+json; charset=utf-8",
        "fhir.json",
        _to_fhir,
    ),
}
