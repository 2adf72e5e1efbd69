"""Who gets where in the API: as on the pages, with 401 for a sign-in and 403 or 404 without telling what there is.

The matrix sends forms, which addresses that take a body refuse with 415 to those who may ask at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.integration.matrix import adjudication_review as review
from tests.integration.matrix.world import Answer, Row, answers, everyone_signed_in


def _reviewers_own(answer: Answer) -> Mapping[str, Answer]:
    """The assigned person alone; that there is a review at all is told to nobody else."""
    return answers(anonymous=401, clinician=404, reviewer=answer, admin=404, outsider=404, nobody=404, superuser=404)


ITEM = ("put", "review_draft"), ("post", "review_skip"), ("put", "review_flag"), ("post", "review_decide"), ("post", "review_amend")
REVIEW = [
    Row("adjudication_api:reviews", everyone_signed_in(200, anonymous=401)),
    Row("adjudication_api:review", _reviewers_own(200), path=review._mine),
    Row("adjudication_api:review", _reviewers_own(404), path=review._draft),
    *(
        Row(f"adjudication_api:{name}", _reviewers_own(415), method="post", path=review._mine)
        for name in ("review_next", "review_undo", "review_sign", "review_unsign")
    ),
    Row("adjudication_api:review_answers", _reviewers_own(200), path=review._decided),
    Row("adjudication_api:review_practice", _reviewers_own(200), path=review._mine),
    Row("adjudication_api:review_practice_case", _reviewers_own(200), path=lambda world: {**review._mine(world), "number": "1"}),
    Row("adjudication_api:review_practice_case", _reviewers_own(404), path=lambda world: {**review._mine(world), "number": "99"}),
    Row(
        "adjudication_api:review_practice_case",
        _reviewers_own(415),
        method="post",
        path=lambda world: {**review._mine(world), "number": "1"},
    ),
    Row("adjudication_api:review_check", _reviewers_own(409), path=review._mine),
    Row("adjudication_api:review_check", _reviewers_own(200), path=review._decided),
    Row("adjudication_api:review_check", _reviewers_own(415), method="post", path=review._decided),
    Row("adjudication_api:review_receipt", _reviewers_own(200), path=review._signed),
    Row("adjudication_api:review_receipt", _reviewers_own(404), path=review._mine),
    Row("adjudication_api:review_item", _reviewers_own(200), path=review._item),
    Row("adjudication_api:review_series", _reviewers_own(200), path=lambda world: {**review._item(world), "number": "0"}),
    Row("adjudication_api:review_series", _reviewers_own(404), path=lambda world: {**review._item(world), "number": "99"}),
    *(Row(f"adjudication_api:{name}", _reviewers_own(415), method=method, path=review._item) for method, name in ITEM),
]
ROWS = [*REVIEW]
