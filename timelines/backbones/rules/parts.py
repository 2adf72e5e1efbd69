"""Analyse a chart: each note has its own sections."""

from __future__ import annotations

from dataclasses import replace

from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.text import Analysis, analyse
from timelines.domain import NotePart, TaggedNote
from timelines.pipeline.backbone import Check


def analyse_note(note: TaggedNote, check: Check) -> Analysis:
    """Return the analysis of a note, or of a chart with its notes' sections."""
    analysis = analyse(note.text, check)
    found = [s for part in note.parts for s in find_own_sections(note.text, part, check)]
    return replace(analysis, sections=tuple(found)) if found else analysis


def find_own_sections(text: str, part: NotePart, check: Check) -> tuple[Section, ...]:
    """Return the sections that a note of a chart has alone."""
    return tuple(
        replace(
            s,
            start=s.start + part.start,
            end=s.end + part.start,
            body_start=s.body_start + part.start,
        )
        for s in analyse(text[part.start : part.end], check, part.kind).sections
    )
