"""Gather the report of a launch from what it has made."""

from __future__ import annotations

from collections.abc import Iterator

from accounts.wording import format_count
from adjudication.models import RecipeStep
from adjudication.recipes.report.evaluated import evaluation_sections
from adjudication.recipes.report.judged import judge_sections, packet_section, planted_section
from adjudication.recipes.report.settings import (
    describe_differences,
    gather_settings,
    spent_section,
)
from adjudication.recipes.results import StudyResults
from adjudication.study_report.values import Section, StudyReport
from timelines.evaluation.tables import Table, TableRow

#: Kinds of parts that the published design has: (kind, what a report without one says).
EXPECTED = (
    (RecipeStep.Kind.EVALUATION, "Evaluation", "The recipe names no evaluation."),
    (RecipeStep.Kind.JUDGE, "Judge", "The recipe names no judge."),
    (RecipeStep.Kind.PLANTED, "Planted differences", "The recipe measures no planted ones."),
    (RecipeStep.Kind.PACKET, "Review", "The recipe draws no packet."),
)


def gather_report(results: StudyResults) -> StudyReport:
    """Return the report; what was found comes first."""
    sections = tuple(_sections(results))
    return StudyReport(
        title=results.recipe.name,
        about=results.recipe.about,
        found=tuple(s for section in sections if section.leads for s in section.found),
        sections=sections,
        differences=tuple(describe_differences(results)),
        settings=gather_settings(results),
    )


def _sections(results: StudyResults) -> Iterator[Section]:
    for key, evaluation in results.evaluations.items():
        yield from evaluation_sections(key, evaluation)
    yield from judge_sections(results.judge_runs)
    for key, recall in results.planted.items():
        yield planted_section(key, recall)
    for key, packet in results.packets.items():
        yield packet_section(key, packet)
    cost = spent_section(results)
    if cost.tables:
        yield cost
    yield from _missing(results)


def _missing(results: StudyResults) -> Iterator[Section]:
    """Yield a section for each kind without a step, and one of what failed."""
    there = {step.kind for step in results.steps}
    for kind, title, words in EXPECTED:
        if kind not in there:
            yield Section(f"no-{kind}", title, missing=f"Not part of this study: {words}")
    if rows := tuple(_list_incomplete(results)):
        count = format_count(len(results.steps), "step")
        sentence = f"{len(rows)} of {count} failed or are incomplete; the last table lists them."
        heads = ("Step", "State", "Reason")
        table = Table("incomplete", "Steps that failed or are incomplete", heads, rows)
        yield Section("incomplete", "What is missing", (sentence,), (table,))


def _list_incomplete(results: StudyResults) -> Iterator[TableRow]:
    """Yield each step that is not done, or done without some of its cases."""
    for step in results.steps:
        if step.state != RecipeStep.State.DONE or step.reason:
            yield (step.key, step.get_state_display(), step.reason or "Not done yet.")
