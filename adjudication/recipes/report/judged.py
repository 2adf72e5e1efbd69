"""The sections of judge runs, planted differences and packets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from accounts.wording import format_count
from adjudication.findings.changes import find_comparable_runs
from adjudication.models import JudgeRun, Packet, PlantedRecall
from adjudication.planting.plain import tally_from_plain
from adjudication.planting.recall import overall, report_of_kinds
from adjudication.planting.recall import report as recall_table
from adjudication.ratings.card.data import compute_card
from adjudication.ratings.data import compare_runs, compute_report
from adjudication.reports.card.result import describe_card
from adjudication.reports.card.tables import TABLES as CARD_TABLES
from adjudication.reports.league import tables
from adjudication.reports.league.result import describe_ratings
from adjudication.reports.league.values import JudgeReport
from adjudication.study_report.published import (
    published_agreement,
    published_dots,
    published_profile,
    published_ratings,
    published_review,
)
from adjudication.study_report.values import Dot, Figure, Section, name_section
from timelines.evaluation.tables import Table


def judge_sections(runs: Mapping[str, JudgeRun]) -> Iterator[Section]:
    """Yield a section for each judge run, and how it agrees with others."""
    for key, run in runs.items():
        report = compute_report(run)
        if not report.games:
            yield Section(name_section(key), key.capitalize(), missing="No game was judged.")
            continue
        made = [build(report) for build in tables.TABLES.values()]
        made += _compare(run, runs)
        published = [published_ratings(), published_profile()]
        yield Section(
            name_section(key),
            key.capitalize(),
            tuple(filter(None, (describe_ratings(report.rated), _describe_games(report)))),
            tuple(t for t in (*made, *published) if t.rows),
            (_draw_ratings(report),),
        )


def _describe_games(report: JudgeReport) -> str:
    return (
        f"{report.games} games of {report.cases} cases gave {report.findings} findings, of which"
        f" {report.decisive} are decisive."
        + (f" {format_count(report.unjudged, 'game')} not judged." if report.unjudged else "")
    )


def _draw_ratings(report: JudgeReport) -> Figure:
    dots = [
        Dot(r.source, r.rating, r.low, r.high) for r in report.rated.ratings if r.rating is not None
    ]
    return Figure("ratings", "Ratings with 95 % intervals", "Rating", (*dots, *published_dots()))


def _compare(run: JudgeRun, runs: Mapping[str, JudgeRun]) -> list[Table]:
    """Return the agreement with later judge runs of the same comparisons."""
    others = {r.pk for r in runs.values() if r.pk > run.pk}
    made = []
    for other in find_comparable_runs(run):
        if other.pk in others:
            _, rows = compare_runs(run, other)
            title = f"Against {other.label or other.judge_name}"
            heads = ("This run", "The other")
            made.append(tables.overlap_table("agreement", title, heads, rows))
    return made


def planted_section(key: str, recall: PlantedRecall) -> Section:
    """Return a judge's recall and precision on planted differences."""
    if recall.report is None:
        return Section(name_section(key), key.capitalize(), missing="It has not been measured.")
    counts = tally_from_plain(recall.report["counts"])
    found, right = overall(counts)
    shares = [f"{100 * x:.1f} %" if x is not None else "no" for x in (found, right)]
    sentence = (
        f"{recall.judge_name} found {shares[0]} of the planted differences; {shares[1]} of its"
        f" findings were planted. {recall.report['cases']} cases, copies of {recall.source}."
    )
    if unjudged := recall.report["unjudged"]:
        sentence += f" {format_count(unjudged, 'further case')} not judged."
    made = (
        _words("recall", "Planted differences, by type and size", recall_table(counts)),
        _words("kinds", "Planted differences, by kind of change", report_of_kinds(counts)),
    )
    return Section(name_section(key), key.capitalize(), (sentence,), made)


def _words(name: str, title: str, rows: list[tuple[str, ...]]) -> Table:
    return Table(name, title, rows[0], tuple(rows[1:]))


def packet_section(key: str, packet: Packet) -> Section:
    """Return how the review of a packet went, once it is closed."""
    if packet.state != Packet.State.CLOSED:
        return Section(
            name_section(key),
            key.capitalize(),
            missing=(
                f"The packet is {packet.get_state_display().lower()}. Its figures are here once it"
                " is closed."
            ),
            tables=(published_review(), published_agreement()),
        )
    card = compute_card(packet)
    made = [build(card) for build in CARD_TABLES.values()]
    sentence = describe_card(card) or "No item was decided."
    return Section(
        name_section(key),
        key.capitalize(),
        (sentence,),
        tuple(t for t in (*made, published_review(), published_agreement()) if t.rows),
    )
