"""The page from which researchers put timelines to use."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from accounts.permissions import CASE_READERS
from accounts.scoping import StudyRequest, study_role_required


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the app and the question that it answers."""

    title: str
    question: str
    url_name: str


SECTIONS = (
    Section("Concepts", "Which mentions and series mean one clinical thing?", "concepts"),
    Section("Windows", "Which stays meet criteria of events and times?", "windows"),
    Section("As of", "What was known at an hour, and what only later?", "as_of_reports"),
    Section("Trajectories", "How do stays go on from an event?", "trajectories"),
    Section("Where review is needed", "Where would a person's look change most?", "attention"),
)


@require_GET
@study_role_required(*CASE_READERS)
def overview(request: StudyRequest) -> HttpResponse:
    """Show the sections."""
    sections = [(section, reverse(f"cohorts:{section.url_name}")) for section in SECTIONS]
    return render(request, "cohorts/overview.html", {"sections": sections})
