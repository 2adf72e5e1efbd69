"""Who may do what at the root's own addresses."""

from __future__ import annotations

from tests.integration.site.matrix.world import SIGN_IN, Row, answers, expect_signed_in

#: Operators alone, with or without a study.
OPERATORS = answers(
    anonymous=SIGN_IN,
    clinician=403,
    reviewer=403,
    admin=403,
    outsider=403,
    nobody=403,
    superuser=200,
)

ROWS = [
    # Probes and monitoring ask without a person. Without METRICS_TOKEN there are no metrics.
    Row("healthz", expect_signed_in(200, anonymous=200)),
    Row("readyz", expect_signed_in(200, anonymous=200)),
    Row("metrics", expect_signed_in(404, anonymous=404)),
    Row("operations", OPERATORS),
    Row("operations_models", OPERATORS),
    Row("operations_retry", {**OPERATORS, "superuser": 302}, method="post"),
    Row("api-schema", expect_signed_in(200, anonymous=401)),
    Row("api-docs", expect_signed_in(200, anonymous=401)),
    *(
        Row(
            "api-unknown",
            expect_signed_in(404, anonymous=401),
            method=method,
            path=lambda world: {"rest": "nothing/of/the/kind/"},
        )
        for method in ("get", "post")
    ),
]
