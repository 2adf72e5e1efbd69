"""Say whether a result is still current, and what has changed since it was made."""

from __future__ import annotations

from collections.abc import Collection

from cohorts.engine.values import WindowError
from cohorts.models import WindowResult
from cohorts.windows.actions import choose_versions
from cohorts.windows.stored import describe_renamed, read_stored
from timelines.access.closed import exclude_closed
from timelines.models import Correction
from timelines.runs.study_timeline.selection import find_study_run


def find_changes(result: WindowResult, closed: Collection[int]) -> list[str]:
    """Return sentences on what an update would take into account; none if nothing changed.

    Corrections of closed cases do not count.
    """
    return [*_study_timeline(result), *_corrections(result, closed), *_criteria(result)]


def _study_timeline(result: WindowResult) -> list[str]:
    run = find_study_run(result.dataset_id)
    before = (result.report or {}).get("run", "")
    if before and run is None:
        return ["The study timeline that this rests on no longer exists. What was found is kept."]
    if run is not None and run.public_id != before:
        return ["The dataset has another study timeline now."]
    return []


def _corrections(result: WindowResult, closed: Collection[int]) -> list[str]:
    if result.finished_at is None or "curated" not in (result.first, result.second):
        return []
    later = Correction.objects.filter(
        base__encounter__dataset=result.dataset, at__gt=result.finished_at
    )
    later = exclude_closed(later, closed, "base__encounter")
    return ["People have corrected times since."] if later.exists() else []


def _criteria(result: WindowResult) -> list[str]:
    version = result.version
    newest = version.window.versions.first()
    if newest is not None and newest.pk != version.pk:
        return [f"The window has version {newest.number} now; this is of version {version.number}."]
    try:
        stored = read_stored(version)
        current = choose_versions(version.window.study, stored.criteria)
    except WindowError as error:
        return [str(error)]
    frozen = {concept.pk for concept in stored.concepts.values()}
    newer = [c.concept.name for c in current if c.pk not in frozen]
    found = describe_renamed(stored.renamed)
    return [*found, f"A concept has a newer version: {', '.join(newer)}."] if newer else found
