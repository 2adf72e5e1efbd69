"""Delete cases without losing what people made.

Count what would be lost, then refuse, or delete and return the counts.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import ProtectedError, QuerySet, RestrictedError

from accounts.wording import inflect_noun
from ehr.models import Dataset, Encounter
from ehr.record.same_stay import remember_stays
from ehr.registry import Keep, Loss, loss_counters


class DeletionRefused(ValueError):
    """The cases cannot be deleted.

    The message lists what would be lost and what to do. It has counts only, no text of cases.
    """

    log_safe = True

    def __init__(self, message: str, losses: Iterable[Loss] = ()) -> None:
        super().__init__(message)
        self.losses = tuple(losses)


def count_losses(encounters: QuerySet[Encounter]) -> tuple[Loss, ...]:
    """Return everything that upper apps would lose with the cases.

    Only zeros are left out.
    """
    return tuple(loss for count in loss_counters() for loss in count(encounters) if loss.count)


def delete_encounters(
    encounters: QuerySet[Encounter], *, delete_authored: bool
) -> tuple[Loss, ...]:
    """Delete the cases and return the losses.

    Raises DeletionRefused, and then nothing is deleted.
    """
    return _delete(encounters, encounters, delete_authored=delete_authored)


def delete_whole_dataset(dataset: Dataset, *, delete_authored: bool) -> tuple[Loss, ...]:
    """Delete the dataset with its cases and return the losses.

    Raises DeletionRefused, and then nothing is deleted.
    """
    return _delete(dataset, dataset.encounters.all(), delete_authored=delete_authored)


@transaction.atomic
def _delete(
    target: Dataset | QuerySet[Encounter], encounters: QuerySet[Encounter], *, delete_authored: bool
) -> tuple[Loss, ...]:
    # New authored timelines and packets refer to the case, so that they wait for this lock.
    list(encounters.order_by("pk").select_for_update().values_list("pk", flat=True))
    losses = count_losses(encounters)
    refusal = _refusal(losses, delete_authored=delete_authored)
    if refusal:
        raise DeletionRefused(refusal, losses)
    remember_stays(encounters)
    try:
        target.delete()
    except (ProtectedError, RestrictedError) as error:
        kinds = sorted({str(thing._meta.verbose_name_plural) for thing in error.args[1]})
        raise DeletionRefused(
            f"other data refers to the case: {', '.join(kinds)}. Nothing was deleted.", losses
        ) from None
    return losses


def _refusal(losses: tuple[Loss, ...], *, delete_authored: bool) -> str:
    """Why the losses are not accepted, "" if they are."""
    never = any(loss.keep is Keep.ALWAYS for loss in losses)
    authored = any(loss.keep is Keep.UNLESS_ASKED for loss in losses)
    if not never and (delete_authored or not authored):
        return ""
    if never:
        advice = (
            "What is in a review packet is never deleted; import the new files under another"
            " dataset name"
        )
    else:
        advice = "Export the authored timelines first, then add --delete-authored"
    return f"deleting the case would lose {describe_losses(losses)}. {advice}."


def describe_losses(losses: Iterable[Loss]) -> str:
    """`2 authored timelines, 1 evaluation result`."""
    return ", ".join(
        f"{loss.count:,} {inflect_noun(loss.count, loss.singular, loss.name)}" for loss in losses
    )
