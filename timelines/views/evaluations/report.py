"""One evaluation: progress, then tables and plots, and tables as files."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import json_script
from django.views.decorators.http import require_GET

from accounts.ids import parse_place
from accounts.permissions import CASE_READERS, user_can_manage_study
from accounts.scoping import StudyRequest, study_role_required
from timelines.evaluation import published, tables
from timelines.evaluation.naming import split_source
from timelines.evaluation.plain import report_from_plain, settings_from_plain
from timelines.evaluation.spread import SPREAD_METRICS
from timelines.evaluation.values import Basis, Report
from timelines.evaluations.cases import CASE_METRICS, CaseLine, case_lines
from timelines.evaluations.opening import ACTIVE, chosen_basis, open_evaluation
from timelines.evaluations.table_files import export_table
from timelines.models import Evaluation
from timelines.pipeline.config import Variant
from timelines.presentation.evaluation import tables as shown
from timelines.presentation.evaluation.bounds import bounds_rows, width_rows
from timelines.presentation.evaluation.funnel import funnel_rows
from timelines.presentation.evaluation.plots import payload
from timelines.presentation.evaluation.result import describe_result

CASES_PER_PAGE = 100
RHO_METRICS = (
    "concordance",
    "aultc",
    "median_error",
    "within_tolerance",
    "evidence_precision",
    "evidence_recall",
)


@require_GET
@study_role_required(*CASE_READERS)
def evaluation(request: StudyRequest, public_id: str) -> HttpResponse:
    """Show one evaluation.

    `basis`, `published`, `s` (a timeline's number), `d` (a dataset) and `sort` choose the content.
    """
    found = open_evaluation(request, public_id)
    context: dict[str, Any] = {
        "evaluation": found,
        "settings": settings_from_plain(found.config),
        "active": found.state in ACTIVE,
        "may_start": user_can_manage_study(request.user, found.study),
    }
    if request.htmx:  # type: ignore[attr-defined]  # set by django-htmx's middleware
        response = render(request, "timelines/evaluations/_progress.html", context)
        if not context["active"]:
            response["HX-Refresh"] = "true"
    else:
        if found.report is not None:
            context |= _report_context(request, found, report_from_plain(found.report))
        response = render(request, "timelines/evaluations/page.html", context)
    response["Vary"] = "HX-Request"
    return response


@require_GET
@study_role_required(*CASE_READERS)
def evaluation_table(request: StudyRequest, public_id: str, name: str, format: str) -> HttpResponse:
    """Return one table as a file.

    `basis` chooses the pairing; "ablation-0" is the first backbone's table of variants.
    """
    return export_table(request, public_id, name, format)


def _report_context(request: StudyRequest, found: Evaluation, report: Report) -> dict[str, Any]:
    basis = chosen_basis(request, report)
    results = shown.main_results(report, basis)
    ablation = shown.ablation_results(report, basis)
    main = shown.build_table(results, shown.HEADLINE, basis)
    varied = shown.build_table(ablation, shown.HEADLINE, basis) if ablation else None
    with_published = request.GET.get("published") == "1" and basis is not Basis.SPAN
    return {
        "report": report,
        "result": describe_result(report, basis),
        "basis": basis,
        "bases": [(b.value, shown.BASIS_WORDS[b], b is basis) for b in report.settings.bases],
        "basis_sentence": shown.BASIS_SENTENCES[basis],
        "can_publish": basis is not Basis.SPAN,
        "published": shown.published_lines(published.main_table(), main) if with_published else [],
        "main": main,
        "further": shown.build_table(results, shown.FURTHER, basis),
        "missing": any(r.missing_cases for r in results),
        "ablation": varied,
        "ablation_published": (
            shown.published_lines(published.ablation_table(), varied)
            if with_published and varied
            else []
        ),
        "spanless": basis is Basis.SPAN and any(_has_no_spans(r.key.source) for r in ablation),
        "ablation_files": _ablation_files(report, basis),
        "comparisons": shown.comparisons(report.differences, basis, variants=False),
        "variant_comparisons": shown.comparisons(report.differences, basis, variants=True),
        "strata": [
            (
                s.stratum,
                s.cases,
                shown.build_table(
                    [r for r in _filter_results(s.results, basis) if r.key.alternative == 1],
                    shown.HEADLINE,
                    basis,
                ),
            )
            for s in report.strata
        ],
        "alternatives": _alternatives(report, basis),
        "spread": shown.spread_rows(report, basis),
        "spread_heads": [shown.metric_words(m, basis) for m in SPREAD_METRICS],
        "against": [
            (
                r.reference,
                shown.build_table(_filter_results(r.results, basis), SPREAD_METRICS, basis),
            )
            for r in (*report.references, *([report.closest] if report.closest else ()))
        ],
        "first_basis": shown.BASIS_WORDS[report.settings.bases[0]].lower(),
        "funnel": funnel_rows(report),
        "funnel_steps": list(tables.STEP_WORDS.values()),
        "funnel_lost": list(tables.LOST_WORDS.values()),
        "funnel_page": reverse("timelines:evaluation_funnel", args=[found.public_id]),
        "rho_heads": [shown.metric_words(m, basis) for m in RHO_METRICS],
        "rho": shown.rho_rows(report.rho, RHO_METRICS),
        "bounds": bounds_rows(report, basis),
        "bounds_heads": tables.BOUNDS_HEADS,
        "widths": width_rows(report, basis),
        "width_heads": tables.WIDTH_HEADS,
        "errors": [
            (r, [shown.figure("share", e) for _, e in r.cumulative])
            for r in results
            if r.cumulative
        ],
        "horizons": [words for words, _ in results[0].cumulative] if results else [],
        "bands": shown.band_groups(results),
        "s_max": report.s_max.get(basis.value),
        "plots": json_script(payload(report, basis), "evaluation-data"),
        "has_sweep": any(r.sweep for r in results),
        **_cases(request, found, report, basis),
    }


def _filter_results(results: Any, basis: Basis) -> list[Any]:
    return [r for r in results if r.basis is basis and not split_source(r.key.source)[1]]


def _has_no_spans(source: str) -> bool:
    """Return whether the source's revision names events by their words.

    Such events have no place in the note.
    """
    return split_source(source)[1].split("/")[0] == Variant.NO_UID


def _alternatives(report: Report, basis: Basis) -> shown.Table | None:
    results = _filter_results(report.alternatives, basis)
    return shown.build_table(results, shown.HEADLINE, basis) if results else None


def _ablation_files(report: Report, basis: Basis) -> list[tuple[str, str]]:
    """Return (backbone, name of its table) of backbones with variants.

    Their tables have more than the full and the text-only rows.
    """
    sources = tables.backbones(report)
    return [
        (s, f"ablation-{n}")
        for n, s in enumerate(sources)
        if len(tables.ablation(report, basis, s).rows) > 2
    ]


def _cases(
    request: StudyRequest, found: Evaluation, report: Report, basis: Basis
) -> dict[str, Any]:
    """Return the list of cases for one timeline.

    It is the chosen timeline, else the first revised one.
    """
    keys = list(report.keys)
    if not keys:
        return {}
    number = parse_place(request.GET.get("s", ""), len(keys))
    if number is None:
        number = next((n for n, key in enumerate(keys) if key.kind == "revised"), 0)
    dataset = request.GET.get("d", "")
    sort = request.GET.get("sort", "")
    page = Paginator(
        sorted_lines(case_lines(found, keys[number], basis, dataset), sort), CASES_PER_PAGE
    ).get_page(request.GET.get("page"))
    return {
        "page": page,
        "case_rows": page.object_list,
        "case_columns": [_sort_column(m, shown.metric_words(m, basis), sort) for m in CASE_METRICS],
        "case_sort": sort,
        "case_sources": [(n, key.label) for n, key in enumerate(keys)],
        "case_datasets": found.datasets.order_by("name").values_list("public_id", "name"),
        "case_source": number,
        "case_dataset": dataset,
    }


def sorted_lines(lines: list[CaseLine], sort: str) -> list[CaseLine]:
    """Sort by a metric ("aultc", or "-aultc" from the largest).

    Cases without a value come last. Otherwise the order is by case id, as given.
    """
    metric = sort.removeprefix("-")
    if metric not in CASE_METRICS:
        return lines
    with_value = [line for line in lines if line.values.get(metric) is not None]
    without = [line for line in lines if line.values.get(metric) is None]
    return (
        sorted(
            with_value, key=lambda line: line.values[metric] or 0.0, reverse=sort.startswith("-")
        )
        + without
    )


def _sort_column(metric: str, words: str, sort: str) -> dict[str, str]:
    """Return a sortable column head.

    It has its words, the order that its link asks for next, and the current order.
    """
    state = "ascending" if sort == metric else "descending" if sort == f"-{metric}" else ""
    return {
        "words": words,
        "next": f"-{metric}" if state == "ascending" else metric,
        "state": state,
    }
