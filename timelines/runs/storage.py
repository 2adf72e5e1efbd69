"""Convert values of the pipeline to rows of the database and back.

Saving happens inside the caller's transaction. Loading returns exactly what was stored, so stage 7
can verify it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

from django.db.models.functions import Now

from ehr.models import Encounter, EventSeries, Note, SourceRow
from timelines import domain, models
from timelines.pipeline.changes import find_largest_unexplained
from timelines.pipeline.run import Case
from timelines.pipeline.summaries import make_summary
from timelines.pipeline.uids import Identity

#: Rows an INSERT may carry: statements stay small, batches of a case are few.
BATCH_ROWS = 1000


class NoteChanged(ValueError):
    """A stored note no longer has the digest it was imported with.

    Nothing that uses its offsets can be trusted.
    """

    log_safe = True
    retryable = False


def checked_text(note: Note) -> str:
    """Return the text of a note whose digest is the one of its import.

    Raises NoteChanged.
    """
    if not note.is_intact:
        raise NoteChanged(
            f"note {note.pk} differs from what was imported: its SHA-256 does not match"
        )
    return note.text


def load_case(encounter: Encounter, note: Note) -> Case:
    """The case as the pipeline takes it, a chart with its parts.

    Raises NoteChanged.
    """
    anchor = domain.Anchor(
        encounter.admitted_at,
        "presentation" if encounter.anchor_kind == "presentation" else "admission",
    )
    discharge = None if encounter.discharged_at is None else anchor.hours(encounter.discharged_at)
    window = domain.Window(anchor, discharge)
    return Case(checked_text(note), window, load_parts(note, anchor))


def load_parts(note: Note, anchor: domain.Anchor) -> tuple[domain.NotePart, ...]:
    """Return the notes of a chart; none of any other note."""
    if not note.composed:
        return ()
    return tuple(
        domain.NotePart(
            part.start,
            part.end,
            part.note.kind,
            None if part.note.charted_at is None else anchor.hours(part.note.charted_at),
        )
        for part in note.parts.select_related("note")
    )


def save_inventory(
    *,
    note: Note,
    inventory: domain.Inventory,
    origin: models.Inventory.Origin,
    run: models.Run | None = None,
) -> models.Inventory:
    """A sealed inventory with its occurrences."""
    row = models.Inventory.objects.create(
        encounter_id=note.encounter_id, note=note, origin=origin, run=run
    )
    models.Occurrence.objects.bulk_create(
        (
            models.Occurrence(
                inventory=row,
                ordinal=o.ordinal,
                uid4=o.uid,
                mention=o.mention,
                start=o.start,
                end=o.end,
                polarity=o.polarity.value,
                lane=o.lane.value,
            )
            for o in inventory
        ),
        batch_size=BATCH_ROWS,
    )
    models.Inventory.objects.filter(pk=row.pk).update(sealed_at=Now())
    return row


def uids_in_use(note_id: int, *, without: Collection[int] = ()) -> dict[str, Identity | None]:
    """Lock the note until the transaction ends; return UIDs in use.

    The UIDs are those of its inventories, except the inventories `without`, for `assign_uids`. The
    lock makes writers of one note's inventories wait for each other. An author may still change the
    words of a draft's UID, so nobody shares the UIDs of drafts (None). A UID that a draft was begun
    with stays that of the timeline it was copied from.
    """
    Note.objects.select_for_update(no_key=True).only("pk").get(pk=note_id)
    rows = models.Occurrence.objects.filter(inventory__note=note_id).exclude(inventory__in=without)
    found: dict[str, Identity | None] = {}
    own = rows.exclude(inventory__origin=models.Inventory.Origin.REFERENCE)
    copied = set(own.values_list("uid4", flat=True))
    for uid, origin, sealed_at, *identity in rows.values_list(
        "uid4", "inventory__origin", "inventory__sealed_at", "start", "end", "mention"
    ):
        if origin == models.Inventory.Origin.REFERENCE and uid in copied:
            continue
        mine = None if sealed_at is None else cast(Identity, tuple(identity))
        # Inventories from before this rule may use one UID for two occurrences.
        found[uid] = mine if found.get(uid, mine) == mine else None
    return found


def load_inventory(inventory_id: int) -> domain.Inventory:
    rows = models.Occurrence.objects.filter(inventory_id=inventory_id).order_by("ordinal")
    return domain.Inventory(
        tuple(
            domain.Occurrence(
                o.uid4,
                o.ordinal,
                o.mention,
                o.start,
                o.end,
                domain.Polarity(o.polarity),
                domain.Lane(o.lane),
            )
            for o in rows
        )
    )


def occurrence_ids(inventory_id: int) -> dict[str, int]:
    """UID → primary key."""
    return dict(
        models.Occurrence.objects.filter(inventory_id=inventory_id).values_list("uid4", "pk")
    )


def save_timeline(
    *,
    timeline: domain.Timeline,
    inventory: models.Inventory,
    source: str,
    case_run: models.CaseRun | None = None,
    protocol: str = "",
) -> models.Timeline:
    """Store a timeline over a stored inventory.

    It has an entry for each occurrence. `protocol` is that of an imported reference.
    """
    row = models.Timeline.objects.create(
        encounter_id=inventory.encounter_id,
        inventory=inventory,
        case_run=case_run,
        source=source,
        kind=timeline.kind.value,
        alternative=timeline.alternative,
        reasoning=timeline.reasoning,
        protocol=protocol,
    )
    ids = occurrence_ids(inventory.pk)
    models.Entry.objects.bulk_create(
        (
            models.Entry(
                timeline=row,
                occurrence_id=ids[e.uid],
                time=e.time,
                lower=e.lower,
                upper=e.upper,
                known=e.known,
                context=list(e.context),
                decided_by=e.decided_by,
                reason=e.reason,
                adopted_rows=list(e.adopted_rows),
                confidence=e.confidence,
                near_rows=list(e.near_rows),
                link=e.link or "",
            )
            for e in timeline
        ),
        batch_size=BATCH_ROWS,
    )
    return row


def save_unexplained_change(
    case_run: models.CaseRun, text: domain.Timeline, revised: domain.Timeline
) -> None:
    """Store the change that the home page may list, if there is one."""
    change = find_largest_unexplained(text, revised)
    if change is not None:
        models.UnexplainedChange.objects.create(
            case_run=case_run,
            run_id=case_run.run_id,
            occurrence_id=occurrence_ids(_inventory_id(case_run))[change.uid],
            hours=change.hours,
            weight=change.weight,
        )


def load_timelines(
    case_run: models.CaseRun, kind: domain.TimelineKind
) -> tuple[domain.Timeline, ...]:
    """The case run's timelines of that kind, by alternative."""
    entries: dict[int, list[domain.Entry]] = defaultdict(list)
    rows = models.Entry.objects.filter(
        timeline__case_run=case_run, timeline__kind=kind.value, occurrence__isnull=False
    )
    fields = (
        "timeline__alternative",
        "timeline__reasoning",
        "occurrence__uid4",
        "time",
        "lower",
        "upper",
        "known",
        "context",
        "decided_by",
        "reason",
        "adopted_rows",
        "confidence",
        "near_rows",
        "link",
    )
    thoughts: dict[int, str] = {}
    for (
        alternative,
        reasoning,
        uid,
        time,
        lower,
        upper,
        known,
        context,
        decided_by,
        reason,
        adopted,
        confidence,
        near,
        link,
    ) in rows.order_by("timeline__alternative", "occurrence__ordinal").values_list(*fields):
        entry = domain.Entry(
            uid,
            time,
            lower,
            upper,
            known,
            tuple(context),
            decided_by,
            reason,
            tuple(adopted),
            confidence,
            tuple(near),
            domain.RowLink(link) if link else None,
        )
        entries[alternative].append(entry)
        thoughts[alternative] = reasoning
    return tuple(
        domain.Timeline(tuple(found), kind, alternative, thoughts[alternative])
        for alternative, found in entries.items()
    )


def save_named_timeline(
    *, timeline: domain.NamedTimeline, source: str, case_run: models.CaseRun
) -> models.Timeline:
    """Store a timeline of a run without identifiers.

    It has no inventory; each entry is named by its own words.
    """
    row = models.Timeline.objects.create(
        encounter_id=case_run.encounter_id,
        case_run=case_run,
        source=source,
        kind=timeline.kind.value,
        alternative=timeline.alternative,
        reasoning=timeline.reasoning,
    )
    models.Entry.objects.bulk_create(
        (
            models.Entry(
                timeline=row,
                event=e.event,
                time=e.time,
                lower=e.lower,
                upper=e.upper,
                known=e.known,
                decided_by=e.decided_by,
                reason=e.reason,
                confidence=e.confidence,
                adopted_rows=list(e.adopted_rows),
                near_rows=list(e.near_rows),
                link=e.link or "",
            )
            for e in timeline
        ),
        batch_size=BATCH_ROWS,
    )
    return row


def load_named_timelines(case_run: models.CaseRun) -> tuple[domain.NamedTimeline, ...]:
    """Return the case run's timelines without an inventory.

    By alternative, text-only ones last; entries are in the order in which they were given.
    """
    found = models.Timeline.objects.filter(case_run=case_run, inventory=None).order_by(
        "kind", "alternative"
    )
    entries: dict[int, list[domain.NamedTime]] = defaultdict(list)
    rows = models.Entry.objects.filter(
        timeline__case_run=case_run, timeline__inventory=None
    ).order_by("pk")
    fields = (
        "timeline",
        "event",
        "time",
        "lower",
        "upper",
        "known",
        "decided_by",
        "reason",
        "confidence",
        "adopted_rows",
        "near_rows",
        "link",
    )
    for timeline, *values, adopted, near, link in rows.values_list(*fields):
        line = replace(
            domain.NamedTime(*values),
            adopted_rows=tuple(adopted),
            near_rows=tuple(near),
            link=domain.RowLink(link) if link else None,
        )
        entries[timeline].append(line)
    return tuple(
        domain.NamedTimeline(
            tuple(entries[t.pk]), t.alternative, domain.TimelineKind(t.kind), t.reasoning
        )
        for t in found
    )


def save_queries(case_run: models.CaseRun, queries: Iterable[domain.Query]) -> None:
    ids = occurrence_ids(_inventory_id(case_run))
    models.Query.objects.bulk_create(
        (
            models.Query(
                case_run=case_run, occurrence_id=ids[q.uid], ordinal=q.ordinal, text=q.text
            )
            for q in queries
        ),
        batch_size=BATCH_ROWS,
    )


def load_queries(case_run: models.CaseRun) -> tuple[domain.Query, ...]:
    rows = models.Query.objects.filter(case_run=case_run).order_by("occurrence__ordinal", "ordinal")
    return tuple(
        domain.Query(*row) for row in rows.values_list("occurrence__uid4", "ordinal", "text")
    )


def save_candidates(case_run: models.CaseRun, candidates: Iterable[domain.Candidate]) -> None:
    queries = _ids(
        models.Query.objects.filter(case_run=case_run).values_list(
            "occurrence__uid4", "ordinal", "pk"
        )
    )
    series = dict(
        EventSeries.objects.filter(encounter_id=case_run.encounter_id).values_list("event", "pk")
    )
    models.Candidate.objects.bulk_create(
        (
            models.Candidate(
                query_id=queries[c.uid, c.query],
                series_id=series[c.event],
                dense_rank=c.dense_rank,
                dense_score=c.dense_score,
                rerank_score=c.rerank_score,
                kept=c.kept,
                fate=c.fate,
            )
            for c in candidates
        ),
        batch_size=BATCH_ROWS,
    )


def load_candidates(case_run: models.CaseRun) -> tuple[domain.Candidate, ...]:
    rows = models.Candidate.objects.filter(query__case_run=case_run)
    fields = (
        "query__occurrence__uid4",
        "query__ordinal",
        "series__event",
        "dense_rank",
        "dense_score",
        "rerank_score",
        "kept",
        "fate",
    )
    ordered = rows.order_by("query__occurrence__ordinal", "query__ordinal", "dense_rank")
    return tuple(domain.Candidate(*row) for row in ordered.values_list(*fields))


def save_evidence(
    case_run: models.CaseRun,
    evidence: Sequence[domain.Evidence],
    skeleton: Sequence[domain.SourceRow] = (),
) -> None:
    """Store each row's key and a copy of its current values.

    Rows without a time are not evidence (stage 5 omits them). Rows of the skeleton come first.
    """
    found = models.Candidate.objects.filter(query__case_run=case_run, kept=True)
    candidates = {
        (uid, query, event): pk
        for uid, query, event, pk in found.values_list(
            "query__occurrence__uid4", "query__ordinal", "series__event", "pk"
        )
    }
    encounter = case_run.encounter
    rows = SourceRow.objects.filter(
        dataset_id=encounter.dataset_id,
        encounter_id=encounter.pk,
        row_index__in={e.row.row_index for e in evidence} | {r.row_index for r in skeleton},
    )
    clock = dict(rows.values_list("row_index", "time"))
    models.Evidence.objects.bulk_create(
        (
            models.Evidence(
                case_run=case_run,
                candidate_id=candidate,
                dataset_id=encounter.dataset_id,
                encounter_id=encounter.pk,
                row_index=row.row_index,
                time=clock[row.row_index],
                hours=hours,
                event=row.event,
                value=row.value,
                numeric_value=row.numeric_value,
                unit=row.unit,
                source=row.source,
                time_kind=row.time_kind.value,
            )
            for candidate, row in [
                *((None, row) for row in skeleton),
                *((candidates[e.uid, e.query, e.found_in], e.row) for e in evidence),
            ]
            if (hours := row.time) is not None
        ),
        batch_size=BATCH_ROWS,
    )


def load_evidence(case_run: models.CaseRun) -> tuple[domain.Evidence, ...]:
    """Return the evidence in the order in which it was stored.

    Revision sees it in the same order.
    """
    rows = models.Evidence.objects.filter(case_run=case_run, candidate__isnull=False)
    related = rows.order_by("pk").select_related(
        "candidate__query__occurrence", "candidate__series"
    )
    return tuple(
        domain.Evidence(
            c.query.occurrence.uid4,
            c.query.ordinal,
            _source_row(e),
            c.dense_rank,
            c.dense_score,
            c.rerank_score,
            "" if c.series.event == e.event else c.series.event,
        )
        for e in related.defer("candidate__series__row_indices", "candidate__series__summary")
        if (c := e.candidate) is not None
    )


def load_skeleton(case_run: models.CaseRun) -> tuple[domain.SourceRow, ...]:
    """Return the rows of the stay itself, in the order stored."""
    rows = models.Evidence.objects.filter(case_run=case_run, candidate__isnull=True)
    return tuple(_source_row(e) for e in rows.order_by("pk"))


def _source_row(e: models.Evidence) -> domain.SourceRow:
    return domain.SourceRow(
        e.row_index,
        e.hours,
        e.event,
        e.value,
        e.unit,
        e.source,
        domain.TimeKind(e.time_kind),
        e.numeric_value,
    )


def load_reasons(case_run: models.CaseRun) -> dict[str, domain.NoRows]:
    """Return why no row reached some UIDs, as the expansion stored it."""
    batch = models.StageBatch.objects.filter(
        stage_run__case_run=case_run, stage_run__stage=models.Stage.EXPAND, ordinal=0
    ).first()
    stored = batch.payload.get("without_evidence", {}) if batch else {}
    return {uid: domain.NoRows(reason) for uid, reason in dict(stored).items()}


def list_summaries(summaries: Iterable[domain.KeptSummary]) -> list[list[str | int]]:
    """Return which summaries revision was given, as the stage stores it.

    UID, query ordinal, event.
    """
    return [[s.uid, s.query, s.event] for s in summaries]


def load_summaries(case_run: models.CaseRun) -> tuple[domain.KeptSummary, ...]:
    """Return the summaries that reached revision.

    Only runs whose revision sees no rows have any.
    """
    batch = models.StageBatch.objects.filter(
        stage_run__case_run=case_run, stage_run__stage=models.Stage.EXPAND, ordinal=0
    ).first()
    given = batch.payload.get("given", []) if batch else []
    if not given:
        return ()
    candidates = {(c.uid, c.query, c.event): c for c in load_candidates(case_run)}
    texts = dict(
        EventSeries.objects.filter(encounter_id=case_run.encounter_id).values_list(
            "event", "summary"
        )
    )
    return tuple(
        make_summary(candidates[uid, query, event], texts[event]) for uid, query, event in given
    )


def load_reconstruction(case_run: models.CaseRun, text: str) -> domain.Reconstruction:
    """Return everything that a case run has stored so far about the note.

    `text` is the note's text; the text-only timeline must exist.
    """
    inventory = load_inventory(_inventory_id(case_run))
    (text_only,) = load_timelines(case_run, domain.TimelineKind.TEXT_ONLY)
    return domain.Reconstruction(
        note=domain.TaggedNote(text, inventory),
        text_only=text_only,
        queries=load_queries(case_run),
        candidates=load_candidates(case_run),
        evidence=load_evidence(case_run),
        revised=load_timelines(case_run, domain.TimelineKind.REVISED),
        without_evidence=load_reasons(case_run),
        summaries=load_summaries(case_run),
        unidentified=load_named_timelines(case_run),
        skeleton=load_skeleton(case_run),
    )


def _inventory_id(case_run: models.CaseRun) -> int:
    if case_run.inventory_id is None:
        raise LookupError(f"case run {case_run.pk} has no inventory yet")
    return case_run.inventory_id


def _ids(rows: Iterable[tuple[str, int, int]]) -> Mapping[tuple[str, int], int]:
    return {(uid, ordinal): pk for uid, ordinal, pk in rows}
