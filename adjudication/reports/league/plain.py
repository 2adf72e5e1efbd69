"""Convert reports on judge runs to plain JSON and back without loss.

No Django. pydantic does the work from the types in `values.py`.
"""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from adjudication.reports.league.values import Agreement, JudgeReport

_REPORT: TypeAdapter[JudgeReport] = TypeAdapter(JudgeReport)
_AGREEMENT: TypeAdapter[Agreement] = TypeAdapter(Agreement)


def report_to_plain(report: JudgeReport) -> dict[str, Any]:
    """As `RunFigures.figures` keeps it."""
    plain: dict[str, Any] = _REPORT.dump_python(report, mode="json")
    return plain


def report_from_plain(plain: object) -> JudgeReport:
    """Return the report of plain values.

    Raises pydantic's ValidationError, a ValueError, naming the field.
    """
    return _REPORT.validate_python(plain)


def agreement_to_plain(agreement: Agreement) -> dict[str, Any]:
    """As `RunFigures.figures` keeps it."""
    plain: dict[str, Any] = _AGREEMENT.dump_python(agreement, mode="json")
    return plain


def agreement_from_plain(plain: object) -> Agreement:
    """Return the agreement again; errors as above."""
    return _AGREEMENT.validate_python(plain)
