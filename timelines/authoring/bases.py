"""The timelines that an author may begin from, copied as a draft.

Occurrences keep their UIDs. What the timeline did not place is left to the author.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from accounts.models import User
from accounts.permissions import NotAllowed
from ehr.models import Encounter, Note
from timelines.access.authoring import (
    CURATED,
    SUPERSEDED_TIMELINES,
    check_user_may_see_timelines,
    hidden_timelines,
)
from timelines.domain import MAX_CONTEXT, TimelineKind
from timelines.drafts.values import (
    FARTHEST_HOURS,
    LONGEST_MENTION,
    MOST_ROWS,
    DraftOccurrence,
)
from timelines.models import Entry, Occurrence, Run, Timeline
from timelines.pipeline.uids import unescape_mention
from timelines.runs.study_timeline.selection import find_study_run, run_words


@dataclass(frozen=True, slots=True)
class BaseOffer:
    """A timeline to begin from, in words."""

    timeline: Timeline
    words: str


def find_bases(user: User, encounter: Encounter, note: Note) -> list[BaseOffer]:
    """Return what the person may begin from, the study timeline first.

    Only finished timelines over the marked words of this note; never a reference. None if the
    person must not see timelines of the case.
    """
    try:
        check_user_may_see_timelines(user, encounter)
    except NotAllowed:
        return []
    marked = Occurrence.objects.filter(inventory=OuterRef("inventory"), start__isnull=False)
    found = (
        Timeline.objects.filter(
            Exists(marked),
            encounter=encounter,
            alternative=1,
            inventory__note=note,
            inventory__sealed_at__isnull=False,
        )
        .exclude(kind=TimelineKind.REFERENCE.value)
        .exclude(SUPERSEDED_TIMELINES)
        .exclude(pk__in=hidden_timelines(user, encounter))
        .select_related("case_run__run", "curated__base__case_run__run")
    )
    study = find_study_run(encounter.dataset_id)
    offers = [(t, _find_run(t)) for t in found]
    offers.sort(key=lambda o: (o[1] != study or study is None, o[1] is None, *_order(o[0])))
    return [BaseOffer(t, f"{_run_words(t, run, study)}, {_kind_words(t)}") for t, run in offers]


def copy_entries(base: Timeline) -> list[DraftOccurrence]:
    """Return the occurrences of a timeline as those of a draft.

    Without those that no words of the note are marked for. Times that a draft cannot have are left
    to do.
    """
    entries = Entry.objects.filter(timeline=base, occurrence__start__isnull=False)
    rows = list(entries.select_related("occurrence").order_by("occurrence__ordinal"))
    kept = {e.occurrence.uid4 for e in rows if e.occurrence}
    return [_copy(e, kept) for e in rows]


def _find_run(timeline: Timeline) -> Run | None:
    """Return the run that made the timeline, or the one that was corrected."""
    curated = getattr(timeline, "curated", None)
    origin: Timeline = curated.base if curated else timeline
    return origin.case_run.run if origin.case_run else None


def _order(timeline: Timeline) -> tuple[object, ...]:
    """Of one run: the corrected one, that with the record, that from the note."""
    curated = timeline.source.startswith(CURATED)
    return not curated, timeline.kind == TimelineKind.TEXT_ONLY.value, timeline.source, timeline.pk


def _run_words(timeline: Timeline, run: Run | None, study: Run | None) -> str:
    if run is None:
        return f"Imported: {timeline.source.removeprefix(CURATED)}"
    if run == study:
        return f"Study timeline: {run.label or run.source}"
    return f"Run: {run_words(run)}"


def _kind_words(timeline: Timeline) -> str:
    if timeline.source.startswith(CURATED):
        return "with corrections"
    return "from the note" if timeline.kind == TimelineKind.TEXT_ONLY.value else "with the record"


def _copy(entry: Entry, kept: set[str]) -> DraftOccurrence:
    o = entry.occurrence
    assert o is not None
    assert o.start is not None
    assert o.end is not None
    bounds = (entry.time, entry.lower, entry.upper)
    placed = entry.time is not None and all(
        hours is None or abs(hours) <= FARTHEST_HOURS for hours in bounds
    )
    time, lower, upper = bounds if placed else (None, None, None)
    context = dict.fromkeys(uid for uid in entry.context if uid in kept and uid != o.uid4)
    return DraftOccurrence(
        uid=o.uid4,
        start=o.start,
        end=o.end,
        mention=unescape_mention(o.mention)[:LONGEST_MENTION],
        polarity=o.polarity,
        lane=o.lane,
        placed=placed,
        time=time,
        lower=lower,
        upper=upper,
        known=placed and bool(entry.known),
        context=tuple(context)[:MAX_CONTEXT],
        rows=tuple(dict.fromkeys(entry.adopted_rows))[:MOST_ROWS] if placed else (),
    )
