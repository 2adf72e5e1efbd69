"""Access to the pages of cohorts and of what needs a look."""

from __future__ import annotations

from cohorts.models import AttentionItem
from tests.integration.site.matrix.ehr import find_encounter
from tests.integration.site.matrix.timelines import LIST
from tests.integration.site.matrix.world import SIGN_IN, Row, World, answers

ACT = answers(
    anonymous=SIGN_IN,
    clinician=302,
    reviewer=403,
    admin=302,
    outsider=302,
    nobody=403,
    superuser=403,
)
#: As `ACT`, of an object: another study's admin gets 404.
ACT_ON = answers(
    anonymous=SIGN_IN,
    clinician=302,
    reviewer=403,
    admin=302,
    outsider=404,
    nobody=403,
    superuser=403,
)


def _item(world: World) -> dict[str, str]:
    item, _ = AttentionItem.objects.get_or_create(
        study=world.study,
        encounter=find_encounter(world),
        defaults={"reasons": ["moved"], "score": 1.0},
    )
    return {"number": str(item.pk)}


def _row(world: World) -> dict[str, str]:
    return {"public_id": find_encounter(world).public_id, "row_index": "0"}


ROWS = [
    Row("cohorts:overview", LIST),
    Row("cohorts:attention", LIST),
    Row("cohorts:attention_rank", ACT, method="post"),
    Row("cohorts:attention_look", ACT_ON, method="post", path=_item),
    Row("cohorts:unexplained", LIST),
    Row("cohorts:unexplained_dismiss", ACT_ON, method="post", path=_row),
]
