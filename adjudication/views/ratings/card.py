"""The judge's report card as a page and as files.

Every decision of a packet is a file too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.html import json_script
from django.views.decorators.http import require_GET

from accounts.scoping import StudyRequest, study_role_required
from adjudication.access.eligibility import load_visibility
from adjudication.blinding.page import ANSWER_WORDS
from adjudication.models import Packet
from adjudication.ratings.card.data import compute_card
from adjudication.ratings.card.page import (
    card_table,
    decisions_file,
    find_revealed_packet,
    record_access,
)
from adjudication.reports.card import tables
from adjudication.reports.card.result import describe_card
from adjudication.reports.card.values import Agreement, Disagreement, ReportCard
from timelines.evaluation.tables import Cell, Content, Table


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table that marks its columns of numbers.

    Heads and cells come with whether they are numbers. Each row comes with whether its first cell
    equals that of the row above.
    """

    title: str
    heads: list[tuple[str, bool]]
    rows: list[tuple[bool, list[tuple[Content, bool]]]]

    @classmethod
    def from_table(cls, table: Table) -> ShownTable:
        columns = [[row[at] for row in table.rows] for at in range(len(table.heads))]
        numbers = [
            bool(at) and bool(cells) and all(isinstance(c, int | Cell) for c in cells)
            for at, cells in enumerate(columns)
        ]
        first = [row[0] for row in table.rows]
        again = [n > 0 and first[n] == first[n - 1] for n in range(len(first))]
        rows = [
            (repeats, list(zip(row, numbers, strict=True)))
            for repeats, row in zip(again, table.rows, strict=True)
        ]
        return cls(table.title, list(zip(table.heads, numbers, strict=True)), rows)


@dataclass(frozen=True, slots=True)
class ShownDisagreement:
    """A disagreement with the answers in the words of the reviewer's page."""

    found: Disagreement
    verdict: str
    answers: tuple[tuple[str, str], tuple[str, str]]
    adjudicated: str

    @classmethod
    def from_disagreement(cls, agreement: Agreement, found: Disagreement) -> ShownDisagreement:
        def words(answer: str) -> str:
            return ANSWER_WORDS.get(answer, answer)

        answers = ((agreement.first, words(found.first)), (agreement.second, words(found.second)))
        return cls(found, words(found.verdict), answers, words(found.adjudicated))


@require_GET
@study_role_required()
def report_card(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show the card of all current decisions."""
    found = _find_packet(request, public_id)
    card = compute_card(found)
    context: dict[str, Any] = {
        "packet": found,
        "card": card,
        "result": describe_card(card),
        "tables": {
            name: ShownTable.from_table(build(card)) for name, build in tables.TABLES.items()
        },
        "confusions": [
            ShownTable.from_table(tables.confusion(a, ANSWER_WORDS)) for a in card.agreements
        ],
        "disagreements": [
            ShownDisagreement.from_disagreement(a, d)
            for a in card.agreements
            for d in a.disagreements
        ],
        "may_steer": load_visibility(request.user, found).colleagues_answers,
        "plot": json_script(_plot(card), "evaluation-data"),
        "corpus": sum(card.corpus.values()),
    }
    record_access(request, found, "packet.report")
    return render(request, "adjudication/ratings/report_card.html", context)


@require_GET
@study_role_required()
def report_table(request: StudyRequest, public_id: str, name: str, format: str) -> HttpResponse:
    """Return one table as a file."""
    return card_table(request, _find_packet(request, public_id), name, format)


@require_GET
@study_role_required()
def packet_download(request: StudyRequest, public_id: str, format: str) -> HttpResponseBase:
    """Return every link of the chain as a file."""
    return decisions_file(request, _find_packet(request, public_id), format)


def _find_packet(request: StudyRequest, public_id: str) -> Packet:
    """Return the packet of the active study. Raises Http404, NotAllowed."""
    found = Packet.objects.filter(study=request.study)
    return find_revealed_packet(found, request.user, public_id)


def _plot(card: ReportCard) -> dict[str, Any]:
    """Return rates in percent with their intervals, one row per stratum.

    For the forest plot.
    """
    primary = next((r for r in card.reviewers if r.reviewer == card.primary), None)
    if primary is None:
        return {"rows": []}
    rows = [(s.stratum, s.rate.rate, s.rate.low, s.rate.high) for s in primary.strata]
    rows += [("raw", primary.raw.rate, primary.raw.low, primary.raw.high)]
    rows += [
        (
            "standardised",
            primary.standardised.rate,
            primary.standardised.low,
            primary.standardised.high,
        )
    ]
    return {
        "rows": [
            [name, *(None if v is None else round(100 * v, 2) for v in values)]
            for name, *values in rows
        ]
    }
