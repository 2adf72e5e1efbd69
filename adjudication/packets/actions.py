"""Draw packets from findings, assign people, open and close them.

An opened packet is frozen. Every step is audited.
"""

from __future__ import annotations

import secrets
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from accounts.audit.trail import record
from accounts.ids import new_public_id
from accounts.models import Notification, Study, User
from accounts.notifications.actions import notify
from accounts.permissions import NotAllowed, check_user_can_manage_study
from accounts.wording import format_count
from adjudication.access.eligibility import check_user_is_eligible, find_ineligibility_reasons
from adjudication.blinding.visibility import swap_answer
from adjudication.domain import FindingType, Verdict
from adjudication.judge_runs.source_labels import find_label
from adjudication.models import (
    Assignment,
    Decision,
    Finding,
    Game,
    JudgeRun,
    Packet,
    PacketItem,
    Slot,
)
from adjudication.packets.chain import storage as chain_storage
from adjudication.packets.digests import moment, opening_facts, share_digest
from adjudication.packets.occurrences import find_occurrences
from adjudication.sampling.drawing import (
    OUTSIDE_SHARED,
    OUTSIDE_TIMING,
    Design,
    Eligible,
    EligibleFinding,
    Sample,
    draw,
    find_stratum,
    leans_to_a,
)
from adjudication.states import InvalidTransition, next_packet_state
from jobs.leases.clock import database_time
from timelines.evaluation.values import SourceKey
from timelines.models import Timeline

SWAPPED = "from the rerun in swapped positions"
UNCHANGED = "reported the same by the earlier run"
LONGEST_LABEL = 200
#: The action of the audit trail that sets a due date.
DUE = "packet.due_date"


class PacketRefused(ValueError):
    """An action that the packet's state does not allow.

    The message says why, without patient text.
    """

    log_safe = True


def list_pairings(judge_run: JudgeRun) -> tuple[str, ...]:
    """Return every pair of the run's sources, "a | b" in the run's order."""
    labels = [SourceKey(*source).label for source in judge_run.sources]
    return tuple(f"{a} | {b}" for i, a in enumerate(labels) for b in labels[i + 1 :])


def find_pairing(game: Game, judge_run: JudgeRun) -> str:
    """Return the pairing of a game, "a | b" in the run's order."""
    labels = [SourceKey(*source).label for source in judge_run.sources]
    pair = [_label(t, labels) for t in (game.comparison.first, game.comparison.second)]
    return " | ".join(
        sorted(pair, key=lambda label: labels.index(label) if label in labels else len(labels))
    )


def find_eligible_findings(judge_run: JudgeRun) -> Eligible:
    """Return a run's eligible findings, and counts of the others by reason.

    Findings of games in swapped positions are excluded: they would be drawn twice.
    """
    judged: dict[str, set[str]] = defaultdict(set)
    pairings: dict[int, tuple[str, str]] = {}
    first_is_a: dict[int, bool] = {}
    for game in _find_judged_games(judge_run):
        case, pairing = game.comparison.encounter.public_id, find_pairing(game, judge_run)
        judged[case].add(pairing)
        pairings[game.pk] = (case, pairing)
        first_is_a[game.pk] = is_first_judged_a(game, pairing)
    found: list[EligibleFinding] = []
    excluded: Counter[str] = Counter()
    occurrences = find_occurrences(judge_run)
    findings = Finding.objects.filter(game__run=judge_run, game__outcome=Game.Outcome.JUDGED)
    for key, kind, verdict, game_id, a_event, a_time, b_event, b_time in findings.order_by(
        "pk"
    ).values_list(
        "public_id", "type", "verdict", "game_id", "a_event", "a_time", "b_event", "b_time"
    ):
        if game_id not in pairings:
            excluded[SWAPPED] += 1
        elif (stratum := find_stratum(FindingType(kind), Verdict(verdict))) is None:
            excluded[
                OUTSIDE_SHARED if kind == FindingType.SHARED_UNSUPPORTED else OUTSIDE_TIMING
            ] += 1
        else:
            to_a = leans_to_a(a_event is not None, a_time, b_event is not None, b_time)
            first = None if to_a is None else to_a == first_is_a[game_id]
            where = pairings[game_id]
            found.append(EligibleFinding(key, *where, stratum.value, occurrences[key], first))
    return Eligible(
        tuple(found), {case: frozenset(pairs) for case, pairs in judged.items()}, dict(excluded)
    )


@transaction.atomic
def draw_packet(
    *,
    study: Study,
    judge_run: JudgeRun,
    label: str,
    design: Design,
    seed: int,
    by: User,
    reveal: str = Packet.Reveal.AFTER_CLOSE,
    lease_minutes: int = 30,
    due_on: date | None = None,
) -> Packet:
    """Draw a draft packet.

    Raises NotAllowed, and PacketRefused for a run of another study, a bad label, a due date in the
    past, or if nothing was drawn.
    """
    return _draw(
        study,
        judge_run,
        label,
        design,
        seed,
        by,
        reveal,
        lease_minutes,
        find_eligible_findings(judge_run),
        due_on,
    )


@transaction.atomic
def draw_changed(*, packet: Packet, judge_run: JudgeRun, by: User) -> Packet:
    """Draw a draft packet of findings that a later run changed.

    Only cases of the earlier packet count; earlier decisions keep their versions. A finding is
    unchanged if the earlier run has one with the same subject, verdict and judge's input. All
    changed ones are taken, but only one about each occurrence. Raises NotAllowed, PacketRefused if none changed.
    """
    eligible = find_changed_findings(packet, judge_run)
    design = replace(
        Design.from_plain(packet.design),
        quotas=dict(Counter(f.stratum for f in eligible.findings)),
        own_quotas={},
        cases=None,
        redistribute=False,
    )
    # reviewers read it, so it does not say that the judge now reports these differently
    words = f"{packet.label}, continued"
    drawn = _draw(
        packet.study,
        judge_run,
        words,
        design,
        secrets.randbits(62),
        by,
        packet.reveal,
        packet.lease_minutes,
        eligible,
    )
    Packet.objects.filter(pk=drawn.pk).update(follows=packet)
    drawn.refresh_from_db()
    return drawn


def find_changed_findings(packet: Packet, judge_run: JudgeRun) -> Eligible:
    """Return the findings of `judge_run` that differ, in the packet's cases."""
    eligible = find_eligible_findings(judge_run)
    cases = set(packet.drawn.get("cases", []))
    before = set(_subjects(packet.judge_run).values())
    now = _subjects(judge_run)
    within = [f for f in eligible.findings if f.case in cases]
    changed = tuple(f for f in within if now[f.key] not in before)
    excluded = Counter(eligible.excluded) + Counter({UNCHANGED: len(within) - len(changed)})
    judged = {case: pairings for case, pairings in eligible.judged.items() if case in cases}
    return Eligible(changed, judged, {reason: n for reason, n in excluded.items() if n})


@transaction.atomic
def require_second_reviewer(*, packet: Packet, pairing: str, by: User) -> int:
    """Require two people per item of that pairing; return how many items.

    Raises NotAllowed, PacketRefused for an unknown pairing, InvalidTransition once opened.
    """
    mine = lock_managed_packet(packet, by)
    _check_draft(mine)
    changed = mine.items.filter(pairing=pairing, quota=1).update(quota=2)
    if not mine.items.filter(pairing=pairing).exists():
        raise PacketRefused("The packet has no items of that pairing.")
    _audit(mine, "packet.second_reviewer", by, items=changed)
    return changed


@transaction.atomic
def assign(
    *,
    packet: Packet,
    person: User,
    by: User,
    role: str = Assignment.Role.REVIEWER,
    pairings: Sequence[str] = (),
    seed: int | None = None,
) -> Assignment:
    """Add a person to the packet, or add them again.

    `pairings` restricts their items; empty means all. Raises NotAllowed (also for a person who is
    not eligible, with the reason), PacketRefused for a closed packet or an unknown pairing.
    """
    mine = lock_managed_packet(packet, by)
    if mine.state == Packet.State.CLOSED:
        raise PacketRefused("The packet is closed.")
    if set(pairings) - set(mine.items.values_list("pairing", flat=True)):
        raise PacketRefused("The packet has no items of that pairing.")
    check_user_is_eligible(person, mine)
    found = Assignment.objects.filter(packet=mine, person=person).first()
    if found is not None and found.role != role and found.decisions.exists():
        raise PacketRefused("This person has decided on items of this packet in another role.")
    values: dict[str, Any] = {"role": role, "pairings": list(pairings), "withdrawn_at": None}
    if found is None:
        found = Assignment(
            packet=mine, person=person, seed=secrets.randbits(62) if seed is None else seed
        )
    for name, value in values.items():
        setattr(found, name, value)
    found.save()
    _audit(
        mine,
        chain_storage.ASSIGNED,
        by,
        person=person.public_id,
        role=str(role),
        share_sha256=share_digest(found),
    )
    # The page of a draft is not open to its people; the list of reviews always is.
    queue = reverse("adjudication:review_queue")
    _notify(mine, Notification.Kind.ASSIGNED, person, queue, new_public_id())
    return found


@transaction.atomic
def withdraw_assignment(*, assignment: Assignment, by: User) -> Assignment:
    """Take a person out of the packet.

    Their leased items return and their decisions stay. Their signature in an open packet is voided.
    Raises NotAllowed, PacketRefused if they are not in it.
    """
    mine = lock_managed_packet(assignment.packet, by)
    standing = (
        Assignment.objects.filter(pk=assignment.pk, withdrawn_at__isnull=True)
        .select_related("person")
        .first()
    )
    if standing is None:
        raise PacketRefused("This person is no longer in this packet.")
    if standing.signed_at is not None and mine.state == Packet.State.OPEN:
        void = chain_storage.append(
            mine, assignment=standing, kind=Decision.Kind.UNSIGN, token=new_public_id(), comment="taken out of the packet",
            detail={"by": by.public_id},
        )  # fmt: skip
        _audit(mine, chain_storage.UNSIGNED, by, sequence=void.sequence)
        standing.signed_at = None
    standing.withdrawn_at = database_time()
    standing.save(update_fields=["withdrawn_at", "signed_at"])
    Slot.objects.filter(assignment=assignment, decision__isnull=True).update(
        assignment=None, lease_expires_at=None
    )
    _audit(mine, chain_storage.WITHDRAWN, by, person=assignment.person.public_id)
    assignment.refresh_from_db()
    return assignment


def find_obstacles(packet: Packet) -> list[str]:
    """Return why the packet cannot be opened now; [] if it can."""
    found = []
    if not packet.items.exists():
        found.append("It has no items.")
    standing = list(packet.assignments.filter(withdrawn_at__isnull=True).select_related("person"))
    reviewers = [a for a in standing if a.role == Assignment.Role.REVIEWER]
    for pairing, quota in sorted(set(packet.items.values_list("pairing", "quota"))):
        able = sum(not a.pairings or pairing in a.pairings for a in reviewers)
        if able < quota:
            found.append(f"{pairing}: {format_count(quota, 'reviewer')} per item, {able} assigned.")
    for a in standing:
        found += [
            f"{a.person.get_username()}: {reason}"
            for reason in find_ineligibility_reasons(a.person, packet)
        ]
    return found


@transaction.atomic
def open_packet(*, packet: Packet, by: User) -> Packet:
    """Freeze the items and let reviewers begin.

    Raises NotAllowed, InvalidTransition, PacketRefused with all obstacles.
    """
    mine = lock_managed_packet(packet, by)
    state = next_packet_state(mine.state, "open")
    if faults := find_obstacles(mine):
        raise PacketRefused(" ".join(faults))
    items = mine.items.values_list("pk", "quota")
    Slot.objects.bulk_create(
        Slot(item_id=pk, number=number) for pk, quota in items for number in range(1, quota + 1)
    )
    Packet.objects.filter(pk=mine.pk).update(state=state, opened_at=database_time())
    packet.refresh_from_db()
    _audit(packet, chain_storage.OPENED, by, items=len(items), **opening_facts(packet))
    standing = packet.assignments.filter(withdrawn_at__isnull=True).select_related("person")
    for a in standing:
        page = reverse("adjudication:review_packet", args=[a.public_id])
        _notify(packet, Notification.Kind.PACKET_OPENED, a.person, page, "")
    return packet


@transaction.atomic
def close_packet(*, packet: Packet, by: User) -> Packet:
    """End the review: return leased items, store later answers as late.

    Raises NotAllowed, InvalidTransition.
    """
    mine = lock_managed_packet(packet, by)
    state = next_packet_state(mine.state, "close")
    Slot.objects.filter(item__packet=mine, decision__isnull=True).update(
        assignment=None, lease_expires_at=None
    )
    Packet.objects.filter(pk=mine.pk).update(state=state, closed_at=database_time())
    undecided = Slot.objects.filter(
        item__packet=mine, purpose=Slot.Purpose.REVIEW, decision__isnull=True
    ).count()
    sequence, head = chain_storage.find_head(mine)
    packet.refresh_from_db()
    _audit(
        packet,
        chain_storage.CLOSED,
        by,
        undecided=undecided,
        sequence=sequence,
        head=head,
        closed_at=moment(packet.closed_at),
    )
    return packet


@transaction.atomic
def set_due_date(*, packet: Packet, due_on: date | None, by: User) -> Packet:
    """Set, move or remove the day by which the review is due.

    Raises NotAllowed, PacketRefused for a closed packet or a new date in the past.
    """
    mine = lock_managed_packet(packet, by)
    if mine.state == Packet.State.CLOSED:
        raise PacketRefused("The packet is closed.")
    if due_on != mine.due_on:
        check_due_date(due_on)
        Packet.objects.filter(pk=mine.pk).update(due_on=due_on)
        _audit(mine, DUE, by, before=_date_words(mine.due_on), after=_date_words(due_on))
    packet.refresh_from_db()
    return packet


@transaction.atomic
def delete_draft(*, packet: Packet, by: User) -> None:
    """Delete a draft. Raises NotAllowed, InvalidTransition once opened."""
    mine = lock_managed_packet(packet, by)
    _check_draft(mine)
    _audit(mine, chain_storage.DELETED, by)
    mine.delete()


def _draw(
    study: Study,
    judge_run: JudgeRun,
    label: str,
    design: Design,
    seed: int,
    by: User,
    reveal: str,
    lease_minutes: int,
    eligible: Eligible,
    due_on: date | None = None,
) -> Packet:
    check_user_can_manage_study(by, study)
    if judge_run.study_id != study.pk:
        raise PacketRefused("The judge run belongs to another study.")
    if not label.strip() or len(label) > LONGEST_LABEL:
        raise PacketRefused(f"A packet has a label of at most {LONGEST_LABEL} characters.")
    if unknown := set(design.pairings) - set(list_pairings(judge_run)):
        raise PacketRefused(f"The judge run has no pairing {sorted(unknown)[0]}.")
    check_due_date(due_on)
    drawn = draw(eligible, design, seed)
    if not drawn.items:
        raise PacketRefused("No finding could be drawn.")
    packet = Packet.objects.create(
        study=study, judge_run=judge_run, label=label.strip(), reveal=reveal, seed=seed, created_by=by,
        design=design.plain(), drawn={"eligible": eligible.counts(), **drawn.plain()}, lease_minutes=lease_minutes,
        due_on=due_on,
    )  # fmt: skip
    PacketItem.objects.bulk_create(_items(packet, judge_run, drawn, design))
    _audit(
        packet,
        chain_storage.DRAWN,
        by,
        items=len(drawn.items),
        short=sum(s.wanted - s.available for s in drawn.shortages),
    )
    return packet


def check_due_date(due_on: date | None) -> None:
    if due_on is not None and due_on < timezone.localdate():
        raise PacketRefused("The due date is in the past.")


def _date_words(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _items(packet: Packet, judge_run: JudgeRun, drawn: Sample, design: Design) -> list[PacketItem]:
    rows = (
        Finding.objects.filter(public_id__in=[f.key for f in drawn.items])
        .select_related("game")
        .in_bulk(field_name="public_id")
    )
    return [
        PacketItem(
            packet=packet, finding=rows[f.key], ordinal=ordinal, stratum=f.stratum, pairing=f.pairing,
            quota=design.count_reviewers(f.pairing), versions=_versions(judge_run, rows[f.key].game),
        )
        for ordinal, f in enumerate(drawn.items, start=1)
    ]  # fmt: skip


def _versions(judge_run: JudgeRun, game: Game) -> dict[str, Any]:
    """Return versions of judge, prompt and data at the time of the finding."""
    return {
        "judge_run": judge_run.public_id,
        "judge": judge_run.judge_name,
        "judge_version": judge_run.judge_version,
        "prompts": judge_run.prompt_hashes,
        "input_sha256": game.input_sha256,
    }


def _subjects(judge_run: JudgeRun) -> dict[str, tuple[str, str, str]]:
    """Map each finding to its subject, its verdict and the input's digest.

    The verdict is by the comparison's timelines, not by the labels.
    """
    rows = Finding.objects.filter(game__run=judge_run, game__swapped=False)
    fields = ("public_id", "subject_sha256", "verdict", "game__a_is_first", "game__input_sha256")
    return {
        key: (subject, swap_answer(verdict, not a_is_first), given)
        for key, subject, verdict, a_is_first, given in rows.values_list(*fields)
    }


def _find_judged_games(judge_run: JudgeRun) -> Iterable[Game]:
    games = Game.objects.filter(run=judge_run, outcome=Game.Outcome.JUDGED, swapped=False)
    return games.select_related("comparison__encounter", "comparison__first", "comparison__second")


def is_first_judged_a(game: Game, pairing: str) -> bool:
    """Return whether the judge's A is the pairing's first source."""
    a = game.comparison.first if game.a_is_first else game.comparison.second
    labels = pairing.split(" | ")
    return _label(a, labels) == labels[0]


def _label(timeline: Timeline, labels: Sequence[str]) -> str:
    return find_label(labels, timeline.source, timeline.kind, timeline.alternative)


def lock_managed_packet(packet: Packet, by: User) -> Packet:
    """Lock the packet for a study admin who is not blinded in it.

    Raises NotAllowed for any other person.
    """
    found = (
        Packet.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study", "judge_run")
        .get(pk=packet.pk)
    )
    check_user_can_manage_study(by, found.study)
    if (
        found.state == Packet.State.OPEN
        and found.assignments.filter(person=by, withdrawn_at__isnull=True).exists()
    ):
        raise NotAllowed("You are assigned to this open packet. Ask another admin to do this.")
    return found


def _check_draft(packet: Packet) -> None:
    if packet.state != Packet.State.DRAFT:
        raise InvalidTransition("a packet", packet.state, "change its items")


def _notify(
    packet: Packet, kind: Notification.Kind, person: User, path: str, occasion: str
) -> None:
    notify(
        recipients=[person],
        study=packet.study,
        kind=kind,
        path=path,
        name=packet.label,
        key=f"{packet.public_id} {occasion}".strip(),
    )


def _audit(packet: Packet, action: str, by: User, **detail: str | int | bool | None) -> None:
    record(
        actor=by,
        study=packet.study,
        action=action,
        object_type="adjudication.packet",
        object_id=packet.public_id,
        detail=detail,
    )
