"""The annotation protocol of each case's reference, to stratify a report."""

from __future__ import annotations

from adjudication.models import JudgeRun
from timelines.domain import TimelineKind
from timelines.models import Authoring, Timeline

IMPORTED = "imported reference"


WITHOUT = "no reference"


def strata(run: JudgeRun, cases: set[int]) -> dict[int, str]:
    """Map an encounter to the annotation protocol of its reference.

    It is the protocol an author used, else that of the imported reference, or "imported reference"
    if its import named none, or "no reference". Of several references the first that names one
    counts.
    """
    found = dict.fromkeys(cases, WITHOUT)
    references = Timeline.objects.filter(
        kind=TimelineKind.REFERENCE.value,
        encounter__dataset__in=run.datasets.all(),
        authoring__isnull=True,
    )
    for pk, protocol in references.order_by("pk").values_list("encounter_id", "protocol"):
        if found.get(pk) in (WITHOUT, IMPORTED):
            found[pk] = protocol or IMPORTED
    written = Authoring.objects.filter(
        encounter__dataset__in=run.datasets.all(), timeline__isnull=False
    ).order_by("pk")
    authored = {
        pk: protocol
        for pk, protocol in written.values_list("encounter_id", "protocol")
        if pk in found
    }
    return found | {
        pk: protocol
        for pk, protocol in authored.items()
        if found[pk] == WITHOUT or _compares_authors(run)
    }


def _compares_authors(run: JudgeRun) -> bool:
    return any(str(source).startswith("author:") for source, *_ in run.sources)
