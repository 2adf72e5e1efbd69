"""Who may do what at the root's own addresses."""

from __future__ import annotations

from tests.integration.site.matrix.world import Row, expect_signed_in

ROWS = [
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
