"""Convert reports to plain JSON values and back without loss.

A stored report of another form is refused. No Django. pydantic does the work from the types in
`values.py`.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from timelines.evaluation.values import CaseResult, EvaluationSettings, Report

_REPORT: TypeAdapter[Report] = TypeAdapter(Report)
_CASE: TypeAdapter[CaseResult] = TypeAdapter(CaseResult)
_SETTINGS: TypeAdapter[EvaluationSettings] = TypeAdapter(EvaluationSettings)


def report_to_plain(report: Report) -> dict[str, Any]:
    """As `Evaluation.report` keeps it."""
    plain: dict[str, Any] = _REPORT.dump_python(report, mode="json")
    return plain


def report_from_plain(plain: object) -> Report:
    """Return the report of plain values.

    Raises pydantic's ValidationError, a ValueError, naming the field.
    """
    return _REPORT.validate_python(plain)


def case_to_plain(case: CaseResult) -> dict[str, Any]:
    """As `EvaluationCase.result` keeps it."""
    plain: dict[str, Any] = _CASE.dump_python(case, mode="json")
    return plain


def case_from_plain(plain: object) -> CaseResult:
    """The case result again; errors as above."""
    return _CASE.validate_python(plain)


def settings_to_plain(settings: EvaluationSettings) -> dict[str, Any]:
    """As `Evaluation.config` keeps them."""
    plain: dict[str, Any] = _SETTINGS.dump_python(settings, mode="json")
    return plain


def settings_from_plain(plain: object) -> EvaluationSettings:
    """The settings again; errors as above."""
    return _SETTINGS.validate_python(plain)
