"""Embed the mentions of a study again where vectors are missing."""

from __future__ import annotations

from django.db import transaction

from accounts.audit.trail import record
from accounts.models import Study, User
from accounts.permissions import check_user_can_manage_study
from jobs.hints import send_hints
from jobs.models import JobState
from timelines.models import MentionIndexing
from timelines.runs.study_timeline.selection import find_study_runs


@transaction.atomic
def rebuild_vectors(*, study: Study, by: User) -> int:
    """Queue the embedding of study timelines; return how many.

    A job that waits or works stays. Raises NotAllowed.
    """
    check_user_can_manage_study(by, study)
    runs = find_study_runs(study)
    active = MentionIndexing.objects.filter(
        run__in=runs, state__in=[JobState.QUEUED, JobState.RUNNING, JobState.BLOCKED]
    )
    wanted = set(runs) - set(active.values_list("run_id", flat=True))
    MentionIndexing.objects.filter(run__in=wanted).delete()
    made = [MentionIndexing.objects.create(run_id=run) for run in sorted(wanted)]
    send_hints(MentionIndexing, [one.pk for one in made])
    if made:
        record(actor=by, study=study, action="concept.vectors", detail={"runs": len(made)})
    return len(made)
