"""Save and delete the views of trajectories."""

from __future__ import annotations

from django.db import transaction

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import NotAllowed, check_user_can_open_cases, user_can_manage_study
from cohorts.models import ConceptVersion, Trajectory
from cohorts.trajectories.choices import Choice
from ehr.models import Dataset

LONGEST_NAME = 200


class SavingRefused(ValueError):
    """A view that cannot be saved; the message says what to do."""

    log_safe = True


@transaction.atomic
def save_view(
    *,
    dataset: Dataset,
    name: str,
    choice: Choice,
    versions: dict[str, ConceptVersion],
    by: User | None,
) -> Trajectory:
    """Store what a page shows under a name. Raises NotAllowed, SavingRefused."""
    study = dataset.study
    if by is not None:
        check_user_can_open_cases(by, study)
    name = name.strip()
    if not name or len(name) > LONGEST_NAME:
        raise SavingRefused(f"Enter a name of at most {LONGEST_NAME} characters.")
    if Trajectory.objects.filter(study=study, name=name).exists():
        raise SavingRefused("There is a view of that name. Enter another name.")
    made = Trajectory.objects.create(
        study=study,
        dataset=dataset,
        name=name,
        source=choice.source.value,
        aligned_at=versions.get(choice.zero),
        config=choice.as_plain(),
        created_by=by,
    )
    made.concepts.set(versions[key] for key in choice.concepts if key in versions)
    record(
        actor=by,
        study=study,
        action="trajectory.save",
        object_type="cohorts.trajectory",
        object_id=made.public_id,
    )
    return made


@transaction.atomic
def delete_view(*, view: Trajectory, by: User) -> None:
    """Delete a saved view; its author and study admins may. Raises NotAllowed."""
    check_user_can_open_cases(by, view.study)
    if view.created_by_id != by.pk and not user_can_manage_study(by, view.study):
        raise NotAllowed("Only the person who saved a view and study admins may delete it.")
    record(
        actor=by,
        study=view.study,
        action="trajectory.delete",
        object_type="cohorts.trajectory",
        object_id=view.public_id,
    )
    view.delete()
