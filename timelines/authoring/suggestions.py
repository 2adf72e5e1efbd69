"""Rows of the record that are suggested to an assisted author.

Every suggestion and what the author does with it are stored. Suggestions come from the evidence of
the study timeline (else of the oldest finished full run) whose occurrences overlap the span, else
from a search of words (`llm_runtime.providers.lexical`: no model). An unaided author never gets
any.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import User
from accounts.permissions import NotAllowed
from ehr.models import Encounter, EventSeries
from jobs.models import JobState
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.providers.lexical import LexicalReranker
from timelines.authoring.edits import Locked, locked_draft
from timelines.authoring.rows import timed_rows
from timelines.authoring.storage import load_document
from timelines.domain import Anchor
from timelines.drafts.values import DraftOccurrence, EditRefused
from timelines.models import AnchorSuggestion, Authoring, CaseRun, Evidence, StageRun
from timelines.pipeline.config import Variant
from timelines.runs.study_timeline.selection import fallback_order, is_study_run

SHOWN_AT_MOST = 5
#: Series that the search of words returns (protocol stage 5: the top three of a query).
SERIES_AT_MOST = 3
LONGEST_MAKER = 200
SEARCH = "search of words"
UNAIDED = "This timeline is written unaided, so it has no suggestions."


@dataclass(frozen=True)
class Offer:
    """A row that may date an occurrence.

    `score` is on its maker's scale; None without one.
    """

    row_index: int
    hours: float
    score: float | None


@transaction.atomic
def suggestions(*, authoring: Authoring, uid: str, by: User) -> list[AnchorSuggestion]:
    """Return the suggestions for that occurrence, by rank.

    What is shown for the first time is recorded. A submitted timeline returns what was shown
    before. Raises NotAllowed for an unaided timeline, EditRefused for an unknown UID.
    """
    mine = _lock_assisted(authoring, by)
    occurrence = load_document(mine.inventory).get(uid)
    shown = {s.row_index: s for s in mine.suggestions.filter(uid4=uid)}
    if mine.state == Authoring.State.SUBMITTED:
        return sorted(shown.values(), key=lambda s: s.rank)
    offers, made_by = find_offers(mine.encounter, occurrence)
    new = [
        AnchorSuggestion(
            authoring=mine,
            uid4=uid,
            row_index=o.row_index,
            rank=rank,
            score=o.score,
            made_by=made_by,
        )
        for rank, o in enumerate(offers, start=1)
        if o.row_index not in shown
    ]
    AnchorSuggestion.objects.bulk_create(new)
    if new:
        _audit(mine, "authoring.suggestions", by, uid4=uid, shown=len(new))
    shown |= {s.row_index: s for s in new}
    return [shown[o.row_index] for o in offers]


@transaction.atomic
def decide(*, authoring: Authoring, uid: str, row: int, accept: bool, by: User) -> AnchorSuggestion:
    """Record that a shown row was accepted or dismissed.

    The last decision counts. Raises NotAllowed, Locked, EditRefused.
    """
    mine = _lock_assisted(authoring, by)
    if mine.state == Authoring.State.SUBMITTED:
        raise Locked("submitted")
    found = mine.suggestions.filter(uid4=uid, row_index=row).first()
    if found is None:
        raise EditRefused("row", "This row was not suggested for this occurrence.")
    now = timezone.now()
    found.accepted_at, found.dismissed_at = (now, None) if accept else (None, now)
    found.save(update_fields=["accepted_at", "dismissed_at"])
    _audit(mine, "authoring.suggestion", by, uid4=uid, row=row, accepted=accept)
    return found


def find_state(suggestion: AnchorSuggestion) -> str:
    """accepted, dismissed or shown."""
    if suggestion.accepted_at is not None:
        return "accepted"
    return "shown" if suggestion.dismissed_at is None else "dismissed"


def _lock_assisted(authoring: Authoring, by: User) -> Authoring:
    mine = locked_draft(authoring.pk, by)
    if mine.protocol != Authoring.Protocol.ASSISTED:
        raise NotAllowed(UNAIDED)
    return mine


def find_offers(
    encounter: Encounter, occurrence: DraftOccurrence, at_most: int = SHOWN_AT_MOST
) -> tuple[list[Offer], str]:
    """Return the best few rows and what suggested them.

    They are ordered by distance from the stated time, if there is one, else by score.
    """
    found, made_by = _find_run_offers(encounter, occurrence)
    if not found:
        found, made_by = _search_offers(encounter, occurrence), SEARCH
    stated = occurrence.time
    if stated is None:
        found.sort(key=lambda o: (-(o.score or 0.0), o.hours, o.row_index))
    else:
        found.sort(key=lambda o: (abs(o.hours - stated), -(o.score or 0.0), o.row_index))
    return found[:at_most], made_by


def _find_run_offers(encounter: Encounter, occurrence: DraftOccurrence) -> tuple[list[Offer], str]:
    """Return evidence for occurrences on the same words of the note.

    It is from the shown run (`study_timeline`).
    """
    unfinished = StageRun.objects.filter(case_run=OuterRef("pk")).exclude(state=JobState.SUCCEEDED)
    finished = CaseRun.objects.filter(
        ~Exists(unfinished),
        encounter=encounter,
        run__variant=Variant.FULL.value,
        inventory__isnull=False,
    )
    case_runs = finished.select_related("run").annotate(of_study=is_study_run("run"))
    case_run = min(case_runs, key=lambda c: (not c.of_study, fallback_order(c.run)), default=None)
    if case_run is None:
        return [], ""
    evidence = Evidence.objects.filter(
        case_run=case_run,
        candidate__query__occurrence__start__lt=occurrence.end,
        candidate__query__occurrence__end__gt=occurrence.start,
    )
    best: dict[int, Offer] = {}
    for row, hours, rerank, dense in evidence.values_list(
        "row_index", "hours", "candidate__rerank_score", "candidate__dense_score"
    ):
        score = dense if rerank is None else rerank
        if row not in best or score > (best[row].score or 0.0):
            best[row] = Offer(row, hours, score)
    tools = [
        str(case_run.run.tools[name])
        for name in ("backbone", "embedder", "reranker")
        if case_run.run.tools.get(name)
    ]
    return list(best.values()), " · ".join(tools or [case_run.run.source])[:LONGEST_MAKER]


def _search_offers(encounter: Encounter, occurrence: DraftOccurrence) -> list[Offer]:
    """Rows of those series whose summaries answer to the mention's words."""
    series = list(
        EventSeries.objects.filter(encounter=encounter).values_list("summary", "row_indices")
    )
    reranker = LexicalReranker()
    scores = run_blocking(reranker.rerank(occurrence.mention, [summary for summary, _ in series]))
    ranked = sorted(zip(scores, series, strict=True), key=lambda pair: -pair[0])
    kept = [
        (score, rows) for score, (_, rows) in ranked[:SERIES_AT_MOST] if score >= reranker.threshold
    ]
    score_of = {row: score for score, rows in reversed(kept) for row in rows}
    anchor = Anchor(encounter.admitted_at)
    timed = (
        timed_rows(encounter).filter(row_index__in=list(score_of)).values_list("row_index", "time")
    )
    return [
        Offer(row, anchor.hours(time), score_of[row]) for row, time in timed if time is not None
    ]


def _audit(authoring: Authoring, action: str, by: User, **detail: str | int | bool) -> None:
    record(
        actor=by,
        study=authoring.encounter.dataset.study,
        action=action,
        object_type="timelines.authoring",
        object_id=authoring.public_id,
        detail={"case": authoring.encounter.public_id, **detail},
    )
