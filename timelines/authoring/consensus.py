"""Reconcile two authors' submitted timelines: take over, decide, submit.

Any clinician of the study who may see both timelines may decide; the log has who and why. The
authors' timelines never change.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import User
from ehr.models import Encounter
from timelines import domain
from timelines.access.authoring import (
    ASSISTED_BY,
    CONSENSUS,
    LONGEST_SOURCE,
    Undecided,
    check_user_may_see_timelines,
    is_agreement_open,
)
from timelines.drafts.agreement import Authored, agreement
from timelines.drafts.consensus import Item, give_contexts, list_items, take_over
from timelines.drafts.time_entry import TimeNotUnderstood, read_time
from timelines.drafts.values import LONGEST_ENTERED, LONGEST_REASON, EditRefused
from timelines.models import (
    Authoring,
    Consensus,
    ConsensusDecision,
    Entry,
    Inventory,
    Occurrence,
    Timeline,
)
from timelines.pipeline.uids import draw_uid, escape_mention, unescape_mention
from timelines.runs import storage

Choice = ConsensusDecision.Choice
#: Who decided an entry; the log of decisions has the person.
BOTH_AUTHORS, DECIDED = "both authors", "consensus"
UNFINISHED = "A consensus is made after every author of this case has submitted."
OUTDATED = "An author has submitted again. Make a new consensus of the timelines submitted last."


@dataclass(frozen=True)
class Decided:
    """What a person decides about an item.

    `entered` is the time as typed, for `OWN`.
    """

    choice: ConsensusDecision.Choice
    reason: str
    entered: str = ""


@transaction.atomic
def start_consensus(*, first: Authoring, second: Authoring, by: User) -> Consensus:
    """Return the consensus of what the two authors submitted last.

    A new one takes over what agrees. Raises NotAllowed, Undecided.
    """
    encounter = first.encounter
    Encounter.objects.select_for_update(no_key=True).get(pk=encounter.pk)
    authors = _lock_authors(encounter)
    check_user_may_reconcile(by, encounter)
    one, two = sorted(
        (authors[first.pk], authors[second.pk]), key=lambda a: a.author.get_username()
    )
    if found := Consensus.objects.filter(first=one.timeline, second=two.timeline).first():
        return found
    assert one.timeline is not None
    assert two.timeline is not None
    made = Consensus.objects.create(
        encounter=encounter, first=one.timeline, second=two.timeline, started_by=by
    )
    agreed = [item for item in load_items(made) if item.agrees]
    ConsensusDecision.objects.bulk_create(
        ConsensusDecision(
            consensus=made,
            first_id=item.first.pk if item.first else None,
            second_id=item.second.pk if item.second else None,
            choice=Choice.AGREED,
            by=by,
        )
        for item in agreed
    )
    _audit(made, by, "start", agreed=len(agreed))
    return made


@transaction.atomic
def decide(*, consensus: Consensus, key: str, what: Decided, by: User) -> ConsensusDecision:
    """Store what is decided about the item of that key.

    The same decision sent again is stored once; a later one replaces it. Raises NotAllowed,
    Undecided, EditRefused.
    """
    mine = _lock(consensus, by)
    item = next((i for i in load_items(mine) if i.key == key), None)
    if item is None or item.agrees:
        raise EditRefused("item", "This occurrence is not to be decided.")
    made = _read(mine, item, what, by)
    before = load_decisions(mine).get(key)
    if before is not None and _values(before) == _values(made):
        return before
    made.save(force_insert=True)
    _audit(mine, by, "decide", item=key, choice=made.choice)
    return made


@transaction.atomic
def submit_consensus(*, consensus: Consensus, by: User) -> Timeline:
    """Store the decided consensus as a timeline of its own source.

    A consensus of the same authors before it becomes superseded. Raises NotAllowed, Undecided,
    EditRefused.
    """
    mine = _lock(consensus, by)
    items, decisions = load_items(mine), load_decisions(mine)
    if left := sum(item.key not in decisions for item in items):
        raise EditRefused("items", f"{left} left to decide.")
    taken = [
        (item, occurrence, decisions[item.key])
        for item in items
        if (occurrence := find_taken(item, decisions[item.key])) is not None
    ]
    if not taken:
        raise EditRefused("items", "A consensus needs at least one occurrence.")
    timeline = _store(mine, taken)
    now = timezone.now()
    Consensus.objects.filter(pk=mine.pk).update(
        timeline=timeline, submitted_by=by, submitted_at=now
    )
    _audit(mine, by, "submit", timeline=timeline.public_id, occurrences=len(taken))
    return timeline


def check_user_may_reconcile(user: User, encounter: Encounter) -> None:
    """Check that the person may see all authors' timelines. Raises NotAllowed."""
    check_user_may_see_timelines(user, encounter)
    if not is_agreement_open(encounter):
        raise Undecided(UNFINISHED)


def load_items(consensus: Consensus) -> list[Item]:
    """Return the items of both timelines, as the note reads. Two queries."""
    return list_items(
        agreement(load_authored(consensus.first_id), load_authored(consensus.second_id))
    )


def load_authored(timeline: int | None) -> list[Authored]:
    """Return the occurrences of a submitted timeline as the note reads."""
    entries = Entry.objects.filter(timeline=timeline, occurrence__isnull=False)
    return [
        Authored(
            o.uid4,
            unescape_mention(o.mention),
            o.start,
            o.end,
            o.polarity,
            e.time,
            e.lower,
            e.upper,
            bool(e.known),
            o.lane,
            tuple(e.adopted_rows),
            tuple(e.context),
            o.pk,
        )
        for e in entries.select_related("occurrence").order_by("occurrence__ordinal")
        if (o := e.occurrence)
    ]


def load_decisions(consensus: Consensus) -> dict[str, ConsensusDecision]:
    """Return the latest decision of each item, by its key."""
    rows = consensus.decisions.select_related("first", "second", "by").order_by("pk")
    return {"-".join(o.uid4 if o else "none" for o in (row.first, row.second)): row for row in rows}


def find_taken(item: Item, decision: ConsensusDecision) -> Authored | None:
    """Return the occurrence that a decision takes; None if it is left out."""
    if decision.choice == Choice.DROPPED:
        return None
    if decision.choice == Choice.AGREED:
        return take_over(item)
    if decision.choice == Choice.OWN:
        return replace(
            item.mark,
            time=decision.time,
            lower=decision.lower,
            upper=decision.upper,
            known=False,
            rows=(),
        )
    return item.first if decision.choice == Choice.FIRST else item.second


def is_outdated(consensus: Consensus) -> bool:
    """Return whether an author has submitted again since."""
    last = set(
        Authoring.objects.filter(encounter=consensus.encounter_id).values_list(
            "timeline_id", flat=True
        )
    )
    return not {consensus.first_id, consensus.second_id} <= last


def _lock(consensus: Consensus, by: User) -> Consensus:
    found = (
        Consensus.objects.select_for_update(of=("self",))
        .select_related("encounter__dataset__study", "first__inventory")
        .get(pk=consensus.pk)
    )
    _lock_authors(found.encounter)
    check_user_may_reconcile(by, found.encounter)
    if found.timeline_id is not None:
        raise EditRefused("consensus", "This consensus is submitted. It does not change.")
    if is_outdated(found):
        raise EditRefused("consensus", OUTDATED)
    return found


def _lock_authors(encounter: Encounter) -> dict[int, Authoring]:
    """Let no author of the case reopen or submit until the transaction ends."""
    rows = Authoring.objects.select_for_update(of=("self",)).filter(encounter=encounter)
    return {row.pk: row for row in rows.select_related("author").order_by("pk")}


def _read(consensus: Consensus, item: Item, what: Decided, by: User) -> ConsensusDecision:
    reason = what.reason.strip()
    if not reason or len(reason) > LONGEST_REASON or "\x00" in reason:
        raise EditRefused("reason", f"Say why, in at most {LONGEST_REASON} characters.")
    missing = {Choice.FIRST: item.first, Choice.SECOND: item.second}
    if what.choice == Choice.AGREED or missing.get(what.choice, item.mark) is None:
        raise EditRefused("choice", "Choose one of the ways that are offered.")
    made = ConsensusDecision(
        consensus=consensus,
        first_id=item.first.pk if item.first else None,
        second_id=item.second.pk if item.second else None,
        choice=what.choice,
        reason=reason,
        by=by,
    )
    if what.choice == Choice.OWN:
        _read_time(made, item, what.entered)
    return made


def _read_time(made: ConsensusDecision, item: Item, text: str) -> None:
    if not item.same_polarity:
        raise EditRefused(
            "choice", "The authors differ on whether it happened: take one of the two."
        )
    entered = " ".join(text.split())
    if not entered or len(entered) > LONGEST_ENTERED:
        raise EditRefused("entered", "Enter the time, or N/A.")
    encounter = made.consensus.encounter
    try:
        read = read_time(entered, encounter.admitted_at, encounter.discharged_at)
    except TimeNotUnderstood as error:
        raise EditRefused("entered", str(error)) from None
    made.time, made.lower, made.upper, made.entered = read.time, read.lower, read.upper, entered


def _values(row: ConsensusDecision) -> tuple[object, ...]:
    return row.choice, row.entered, row.reason, row.by_id


def _store(consensus: Consensus, taken: list[tuple[Item, Authored, ConsensusDecision]]) -> Timeline:
    note = consensus.first.inventory.note if consensus.first.inventory else None
    assert note is not None
    storage.checked_text(note)
    uids = _give_uids(note.pk, [occurrence for _, occurrence, _ in taken])
    contexts = give_contexts(
        [(item, o, uid) for (item, o, _), uid in zip(taken, uids, strict=True)]
    )
    inventory = Inventory.objects.create(
        encounter=consensus.encounter, note=note, origin=Inventory.Origin.REFERENCE
    )
    Occurrence.objects.bulk_create(
        Occurrence(
            inventory=inventory,
            ordinal=ordinal,
            uid4=uid,
            mention=escape_mention(o.mention),
            start=o.start,
            end=o.end,
            polarity=o.polarity,
            lane=o.lane,
        )
        for ordinal, ((_, o, _), uid) in enumerate(zip(taken, uids, strict=True))
    )
    entries = [
        domain.Entry(
            uid,
            o.time,
            o.lower,
            o.upper,
            o.known,
            context,
            BOTH_AUTHORS if d.choice == Choice.AGREED else DECIDED,
            d.reason,
            o.rows,
        )
        for (_, o, d), uid, context in zip(taken, uids, contexts, strict=True)
    ]
    complete = domain.Timeline.complete(
        storage.load_inventory(inventory.pk), entries, domain.TimelineKind.REFERENCE
    )
    source = _make_source(consensus)
    before = Timeline.objects.filter(encounter=consensus.encounter, source=source).first()
    if before is not None:
        number = Timeline.objects.filter(
            encounter=consensus.encounter, source__startswith=f"{source}#"
        ).count()
        Timeline.objects.filter(pk=before.pk).update(source=f"{source}#{number + 1}")
    timeline = storage.save_timeline(timeline=complete, inventory=inventory, source=source)
    Inventory.objects.filter(pk=inventory.pk).update(sealed_at=Now())
    return timeline


def _give_uids(note: int, occurrences: list[Authored]) -> list[str]:
    """Return the UIDs the authors gave, each once.

    A second occurrence of a UID gets a new one.
    """
    in_use = storage.uids_in_use(note)
    given: dict[str, None] = {}
    for o in occurrences:
        taken = {*in_use, *given}
        uid = o.uid if o.uid not in given else draw_uid(random.SystemRandom(), taken)
        given[uid] = None
    return list(given)


def _make_source(consensus: Consensus) -> str:
    """Return "consensus:" and the authors.

    With the timelines that any of them began from, so that figures keep these apart here too.
    """
    authors = Authoring.objects.filter(timeline__in=[consensus.first_id, consensus.second_id])
    pairs = sorted(
        (a.author.get_username(), a.assisted_by) for a in authors.select_related("author")
    )
    bases: Mapping[str, None] = dict.fromkeys(base for _, base in pairs if base)
    source = CONSENSUS + "+".join(name for name, _ in pairs)
    if bases:
        source += ASSISTED_BY + ", ".join(bases)
    return source if len(source) <= LONGEST_SOURCE else f"{CONSENSUS}{consensus.public_id}"


def _audit(consensus: Consensus, by: User, step: str, **detail: str | int) -> None:
    record(
        actor=by,
        study=consensus.encounter.dataset.study,
        action="agreement.consensus",
        object_type="ehr.encounter",
        object_id=consensus.encounter.public_id,
        detail={"step": step, "consensus": consensus.public_id, **detail},
    )
