"""Delete cases and datasets without losing what people made.

Count what would be lost, then refuse, or delete and return the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

from django.db import transaction
from django.db.models import ProtectedError, QuerySet, RestrictedError, Sum

from accounts.wording import inflect_noun
from ehr.models import Dataset, Encounter, Note
from ehr.record.same_stay import remember_stays
from ehr.registry import Keep, Loss, dataset_hooks, dataset_loss_counters, loss_counters

#: Stays that one transaction deletes.
BATCH = 50
Guard = Callable[[], AbstractContextManager[object]]


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


def count_dataset_losses(dataset: Dataset) -> tuple[Loss, ...]:
    """Return everything that is lost with the dataset, without zeros.

    The rows of a stay count once its import is finished.
    """
    encounters = dataset.encounters.all()
    rows = encounters.aggregate(rows=Sum("row_count"))["rows"] or 0
    notes = Note.objects.filter(encounter__dataset=dataset, composed=False).count()
    own = (
        Loss(encounters.count(), "stays", "stay"),
        Loss(notes, "notes", "note"),
        Loss(rows, "rows of the record", "row of the record"),
    )
    others = (loss for count in dataset_loss_counters() for loss in count(dataset))
    return tuple(loss for loss in (*own, *count_losses(encounters), *others) if loss.count)


def check_deletion(dataset: Dataset, *, delete_authored: bool) -> tuple[Loss, ...]:
    """Return what would be lost. Raises DeletionRefused."""
    losses = count_dataset_losses(dataset)
    if refusal := describe_refusal(losses, delete_authored=delete_authored):
        raise DeletionRefused(refusal, losses)
    return losses


def delete_in_batches(
    dataset: Dataset,
    *,
    delete_authored: bool,
    guard: Guard = transaction.atomic,
    progress: Callable[[int, int, str], None] = lambda done, total, words: None,
) -> None:
    """Delete the stays in batches, then the dataset.

    Each batch commits by itself inside `guard`. Raises DeletionRefused for a stay that must not be
    deleted any more; the batches before stay deleted.
    """
    total, done, keys = dataset.encounters.count(), 0, [0]
    while keys:
        progress(done, total, "stays")
        with guard():
            keys = list(dataset.encounters.order_by("pk").values_list("pk", flat=True)[:BATCH])
            delete_encounters(
                Encounter.objects.filter(pk__in=keys), delete_authored=delete_authored
            )
        done += len(keys)
    with guard():
        for hook in dataset_hooks():
            hook(dataset)
        _delete(dataset, dataset.encounters.all(), delete_authored=delete_authored)


@transaction.atomic
def _delete(
    target: Dataset | QuerySet[Encounter], encounters: QuerySet[Encounter], *, delete_authored: bool
) -> tuple[Loss, ...]:
    # New authored timelines and packets refer to the case, so that they wait for this lock.
    list(encounters.order_by("pk").select_for_update().values_list("pk", flat=True))
    losses = count_losses(encounters)
    refusal = describe_refusal(losses, delete_authored=delete_authored)
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


def describe_refusal(losses: tuple[Loss, ...], *, delete_authored: bool) -> str:
    """Return why the losses are not accepted, "" if they are."""
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
