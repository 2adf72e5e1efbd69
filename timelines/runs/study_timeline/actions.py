"""Choose a dataset's study timeline.

A study admin chooses with a reason; once, the first finished default run is chosen automatically.
"""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import check_user_can_manage_study
from ehr.models import Dataset
from timelines.models import Run, StudyTimeline
from timelines.registry import call_study_run_hooks
from timelines.runs.progress import RunTotals, count_run
from timelines.runs.study_timeline.selection import current, first_default_run, is_full


class ChoiceRefused(ValueError):
    """A run that cannot be the study timeline.

    The message says why and what to do.
    """


@transaction.atomic
def choose_study_timeline(*, run: Run, reason: str, by: User) -> StudyTimeline:
    """Make the run the study timeline of its dataset.

    Choosing the current run again does not change the choice or its reason. Raises NotAllowed,
    ChoiceRefused.
    """
    check_user_can_manage_study(by, run.study)
    if not reason.strip():
        raise ChoiceRefused("Enter a reason: why does this run become the study timeline?")
    if why_not := describe_refusal(run, count_run(run)):
        raise ChoiceRefused(why_not)
    Dataset.objects.select_for_update(no_key=True).get(pk=run.dataset_id)
    before = current().filter(dataset=run.dataset_id).select_related("run").first()
    if before is not None and before.run_id == run.pk:
        return before
    return _store(run, before, reason=reason.strip(), by=by)


def describe_refusal(run: Run, counts: RunTotals) -> str:
    """Return why the run cannot be the study timeline, as a sentence.

    Empty if it can.
    """
    if not is_full(run):
        return "Only a run of the full variant can be the study timeline."
    if counts.active:
        return "The run is not finished. Choose it when it has ended."
    if not run.cases.filter(timelines__kind="revised").exists():
        return "No case of the run has a revised timeline."
    return ""


def choose_if_finished(run: Run) -> None:
    """Choose the dataset's study timeline if it has none yet.

    Call after a commit with which the run may have finished: it may be the dataset's first default
    run.
    """
    if (
        not StudyTimeline.objects.filter(dataset=run.dataset_id).exists()
        and first_default_run(run.dataset_id) is not None
    ):
        choose_first_run(dataset=run.dataset)


@transaction.atomic
def choose_first_run(*, dataset: Dataset) -> StudyTimeline | None:
    """Choose the oldest finished default run, if none was ever chosen.

    It is a full run with default settings over the whole dataset.
    """
    Dataset.objects.select_for_update(no_key=True).get(pk=dataset.pk)
    if StudyTimeline.objects.filter(dataset=dataset).exists():
        return None
    run = first_default_run(dataset.pk)
    return None if run is None else _store(run, None, reason="", by=None)


def _store(
    run: Run, before: StudyTimeline | None, *, reason: str, by: User | None
) -> StudyTimeline:
    if before is not None:
        StudyTimeline.objects.filter(pk=before.pk).update(replaced_at=timezone.now())
    chosen = StudyTimeline.objects.create(
        dataset_id=run.dataset_id, run=run, chosen_by=by, reason=reason
    )
    call_study_run_hooks(run)
    record(
        actor=by,
        study=run.study,
        action="study_timeline.choose",
        object_type="timelines.run",
        object_id=run.public_id,
        detail={
            "dataset": run.dataset.public_id,
            "before": before.run.public_id if before else "",
            "by_rule": by is None,
        },
    )
    return chosen
