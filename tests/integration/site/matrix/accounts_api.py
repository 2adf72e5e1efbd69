"""Who may read studies and the audit trail in the API."""

from __future__ import annotations

from tests.integration.site.matrix.world import Row, answers, expect_signed_in

ROWS = [
    Row("accounts_api:studies", expect_signed_in(200, anonymous=401)),
    Row(
        "accounts_api:study",
        answers(
            anonymous=401,
            clinician=200,
            reviewer=200,
            admin=200,
            outsider=404,
            two_studies=200,
            nobody=404,
            superuser=404,
        ),
        path=lambda world: {"study_id": world.study.public_id},
    ),
    Row(
        "accounts_api:audit_trail",
        answers(
            anonymous=401,
            clinician=403,
            reviewer=403,
            admin=200,
            outsider=200,
            nobody=403,
            superuser=403,
        ),
    ),
]
