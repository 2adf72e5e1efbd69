"""Choose the timeline of each stay that an analysis reads times from."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q, QuerySet

from cohorts.values import Source
from ehr.models import Dataset
from timelines.access.authoring import SUPERSEDED_TIMELINES
from timelines.domain import TimelineKind
from timelines.models import CuratedTimeline, Timeline
from timelines.runs.study_timeline.selection import find_study_run

#: Kinds of timelines of the study timeline's run, by source.
_OF_RUN = {Source.NOTE: TimelineKind.TEXT_ONLY, Source.RECORD: TimelineKind.REVISED}
#: A cohort's own reference comes before imported ones, then people's.
_REFERENCES = """
    SELECT DISTINCT ON (t.encounter_id) t.id FROM timelines_timeline t
    JOIN ehr_encounter e ON e.id = t.encounter_id
    WHERE e.dataset_id = %(dataset)s AND (%(stays)s::bigint[] IS NULL OR e.id = ANY(%(stays)s))
        AND t.kind = 'reference' AND t.source !~ '#[0-9]+$'
    ORDER BY t.encounter_id, t.source <> 'reference', t.source LIKE 'author:%%', t.source, t.id DESC
"""


def find_timelines(
    dataset: Dataset, source: Source, stays: Collection[int] | None = None
) -> QuerySet[Timeline]:
    """Return one timeline for each stay that has one from this source.

    None from `Source.ROWS`, which has rows instead. `stays`: only of these encounters.
    """
    if source is Source.ROWS:
        return Timeline.objects.none()
    if source is Source.REFERENCE:
        wanted = {"dataset": dataset.pk, "stays": None if stays is None else list(stays)}
        rows = Timeline.objects.raw(_REFERENCES, wanted)
        return Timeline.objects.filter(pk__in=[row.pk for row in rows])
    found = _find_of_run(dataset, source)
    return found if stays is None else found.filter(encounter__in=list(stays))


def _find_of_run(dataset: Dataset, source: Source) -> QuerySet[Timeline]:
    """Return timelines of the study timeline's run, or corrected ones."""
    run = find_study_run(dataset.pk)
    if run is None:
        return Timeline.objects.none()
    of_run = Timeline.objects.filter(case_run__run=run, alternative=1)
    if source is not Source.CURATED:
        return of_run.filter(kind=_OF_RUN[source])
    base = of_run.filter(kind=TimelineKind.REVISED)
    made = CuratedTimeline.objects.filter(base__in=base.values("pk")).exclude(
        timeline__in=Timeline.objects.filter(SUPERSEDED_TIMELINES).values("pk")
    )
    return Timeline.objects.filter(
        Q(pk__in=made.values("timeline_id"))
        | (Q(pk__in=base.values("pk")) & ~Q(pk__in=made.values("base_id")))
    )
