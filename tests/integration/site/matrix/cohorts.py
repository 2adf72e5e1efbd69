"""Access to the pages of cohorts and of what needs a look."""

from __future__ import annotations

from cohorts.models import AttentionItem, Trajectory
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
#: A table of the active study's first dataset: another study has none.
LIST_OR_NONE = {**LIST, "outsider": 404, "two_studies": 404}
SAVE = {**ACT, "outsider": 404, "two_studies": 404}
#: Only the author and admins delete.
DELETE = {**ACT_ON, "clinician": 403}


def _item(world: World) -> dict[str, str]:
    item, _ = AttentionItem.objects.get_or_create(
        study=world.study,
        encounter=find_encounter(world),
        defaults={"reasons": ["moved"], "score": 1.0},
    )
    return {"number": str(item.pk)}


def _row(world: World) -> dict[str, str]:
    return {"public_id": find_encounter(world).public_id, "row_index": "0"}


def _table(world: World) -> dict[str, str]:
    find_encounter(world)
    return {"name": "lanes"}


def _unnamed(world: World) -> dict[str, str]:
    find_encounter(world)
    return {"name": ""}


def _saved(world: World) -> dict[str, str]:
    """A view that the study's admin saved."""
    made, _ = Trajectory.objects.get_or_create(
        study=world.study,
        name="Matrix",
        defaults={"dataset": find_encounter(world).dataset, "source": "record"},
    )
    return {"public_id": made.public_id}


ROWS = [
    Row("cohorts:trajectories", LIST),
    Row("cohorts:trajectory_view", LIST),
    Row("cohorts:trajectory", ACT_ON, path=_saved),
    Row("cohorts:trajectory_table", LIST_OR_NONE, path=_table),
    Row("cohorts:trajectory_save", SAVE, method="post", data=_unnamed),
    Row("cohorts:trajectory_delete", DELETE, method="post", path=_saved),
    Row("cohorts:overview", LIST),
    Row("cohorts:attention", LIST),
    Row("cohorts:attention_rank", ACT, method="post"),
    Row("cohorts:attention_look", ACT_ON, method="post", path=_item),
    Row("cohorts:unexplained", LIST),
    Row("cohorts:unexplained_dismiss", ACT_ON, method="post", path=_row),
    Row("cohorts:unexplained_comment", ACT_ON, method="post", path=_row),
]
