"""Who may add, remove and test webhooks."""

from __future__ import annotations

from jobs.models import Webhook
from tests.integration.site.matrix.ehr_api import expect_admins
from tests.integration.site.matrix.timelines import STEER
from tests.integration.site.matrix.world import SIGN_IN, Row, World, answers


def _webhook(world: World) -> dict[str, str]:
    made, _ = Webhook.objects.get_or_create(
        study=world.study, url="https://receiver.example/", defaults={"secret": "s" * 64}
    )
    return {"public_id": made.public_id}


def _api(world: World) -> dict[str, str]:
    return {"webhook_id": _webhook(world)["public_id"]}


API = [
    Row("jobs_api:webhooks", expect_admins(200, 200)),
    Row("jobs_api:webhooks", expect_admins(415, 415), method="post"),
    Row("jobs_api:webhook", expect_admins(204), method="delete", path=_api),
    Row("jobs_api:webhook_test", expect_admins(201), method="post", path=_api),
    Row("jobs_api:webhook_deliveries", expect_admins(200), path=_api),
]
ROWS = [
    *API,
    Row(
        "jobs:webhook_add",
        answers(
            anonymous=SIGN_IN,
            clinician=403,
            reviewer=403,
            admin=200,
            outsider=200,
            nobody=403,
            superuser=403,
        ),
        method="post",
        data=lambda world: {"url": "https://receiver.example/added"},
    ),
    Row("jobs:webhook_remove", STEER, method="post", path=_webhook),
    Row("jobs:webhook_test", STEER, method="post", path=_webhook),
]
