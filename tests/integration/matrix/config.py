"""Who may do what at the root's own addresses."""

from __future__ import annotations

from tests.integration.matrix.world import Row, everyone_signed_in

ROWS = [
    Row("api-schema", everyone_signed_in(200, anonymous=401)),
    Row("api-docs", everyone_signed_in(200, anonymous=401)),
    *(
        Row(
            "api-unknown",
            everyone_signed_in(404, anonymous=401),
            method=method,
            path=lambda world: {"rest": "nothing/of/the/kind/"},
        )
        for method in ("get", "post")
    ),
]
