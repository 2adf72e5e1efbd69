"""Quality of the rules backbone on notes in eighteen styles.

Floors are a little under the measured values (docs/quality.md).
"""

from __future__ import annotations

import pytest

from tests.spec.pipeline.quality.measured import STYLES, QualityFigures, measure_cases

pytestmark = [pytest.mark.slow, pytest.mark.deep, pytest.mark.timeout(900)]


@pytest.fixture(scope="module", params=["tuning", "later", "blind"])
def figures(request: pytest.FixtureRequest) -> QualityFigures:
    folders = sorted(path for path in (STYLES / request.param).iterdir() if path.is_dir())
    assert len(folders) == 12
    return measure_cases(folders)


def test_floors(figures: QualityFigures) -> None:
    assert figures.span_recall >= 0.83
    assert figures.span_precision >= 0.75
    assert figures.text_within >= 0.69
    assert figures.revised_within >= 0.72
    assert figures.evidence_precision >= 0.85
    assert figures.evidence_recall >= 0.60
    assert figures.coverage >= 0.85
    assert figures.stated_coverage >= 0.84


def test_evidence_helps(figures: QualityFigures) -> None:
    assert figures.revised_error <= figures.text_error
    assert figures.revised_mean_log <= figures.text_mean_log - 0.1
