"""Quality of the rules backbone on notes that its rules do not come from.

Floors are a little under the measured values.
"""

from __future__ import annotations

import pytest

from tests.spec.pipeline.quality.measured import FOLDER, QualityFigures, measure_cases

#: Scored at the beginning and at the end of the tuning, their errors never looked at.
BLIND = ("22081550", "24982426", "29279905")
#: Their errors were looked at while the rules were improved.
TUNED = ("20291550", "23819016", "26275841")

pytestmark = [pytest.mark.slow, pytest.mark.deep, pytest.mark.timeout(600)]


def test_every_case_belongs_to_one_part() -> None:
    assert sorted(path.name for path in FOLDER.iterdir() if path.is_dir()) == sorted(BLIND + TUNED)


@pytest.fixture(
    scope="module",
    params=[BLIND, TUNED],
    ids=["blind", "tuned"],
)
def figures(request: pytest.FixtureRequest) -> QualityFigures:
    return measure_cases([FOLDER / case for case in request.param])


def test_floors(figures: QualityFigures) -> None:
    assert figures.span_recall >= 0.80
    assert figures.evidence_precision >= 0.82
    assert figures.evidence_recall >= 0.55
    assert figures.concordance >= 0.85


def test_evidence_helps(figures: QualityFigures) -> None:
    assert figures.revised_error <= figures.text_error
    assert figures.revised_mean_log <= figures.text_mean_log - 0.2
