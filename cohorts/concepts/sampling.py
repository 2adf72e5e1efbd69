"""Blinded samples: which sentences say what the concept means."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from accounts.audit.trail import record
from accounts.ids import new_public_id
from accounts.models import User
from accounts.permissions import NotAllowed, check_user_can_open_cases
from cohorts.concepts.values import ConceptRefused
from cohorts.models import ConceptDecision, ConceptSample, ConceptSampleItem, ConceptVersion
from timelines.access.closed import closed_encounters
from timelines.runs.study_timeline.selection import find_study_runs

MOST = 200
#: Occurrences in an order that the seed decides. Decoys are of rejected members, else of the same
#: words in another polarity, else of the same kind in stays that have members.
_DRAW = """
    WITH members AS (
        SELECT * FROM unnest(%(keys)s::text[], %(polarities)s::text[]) AS m (key, polarity)
    ), every AS (
        SELECT o.id, o.mention_key, o.polarity, o.lane, r.encounter_id,
            EXISTS (
                SELECT 1 FROM members m WHERE m.key = o.mention_key AND m.polarity = o.polarity
            ) AS member
        FROM timelines_occurrence o JOIN timelines_caserun r ON r.inventory_id = o.inventory_id
        WHERE r.run_id = ANY(%(runs)s) AND NOT r.encounter_id = ANY(%(closed)s)
    ), ranked AS (
        SELECT e.id, e.member, CASE
            WHEN e.member THEN 0
            WHEN EXISTS (
                SELECT 1 FROM cohorts_conceptmember c WHERE c.concept_id = %(concept)s
                    AND c.key = e.mention_key AND c.polarity = e.polarity AND c.state = 'rejected'
            ) THEN 1
            WHEN e.mention_key IN (SELECT key FROM members) THEN 2
            WHEN e.lane IN (SELECT lane FROM every WHERE member)
                AND e.encounter_id IN (SELECT encounter_id FROM every WHERE member) THEN 3
        END AS nearness FROM every e
    )
    SELECT id FROM ranked WHERE nearness IS NOT NULL AND member = %(member)s
    ORDER BY nearness, md5(%(seed)s || ':' || id) LIMIT %(most)s
"""


@transaction.atomic
def draw_samples(
    *, version: ConceptVersion, reviewers: Sequence[User], count: int, seed: int, by: User
) -> list[ConceptSample]:
    """Draw as many occurrences of members as of none.

    Each reviewer answers all of them in an order of their own. Cases that are closed to one of them are left out. Raises
    NotAllowed, ConceptRefused.
    """
    if not reviewers:
        raise ConceptRefused("Choose a reviewer of this study.")
    for person in (by, *reviewers):
        check_user_can_open_cases(person, version.concept.study)
    if not 1 <= count <= MOST:
        raise ConceptRefused(f"Draw 1 to {MOST} sentences.")
    closed = frozenset().union(*(closed_encounters(person) for person in (by, *reviewers)))
    drawn = [
        (occurrence, member)
        for member in (True, False)
        for occurrence in _draw(version, member=member, count=count, seed=seed, closed=closed)
    ]
    if not any(member for _, member in drawn):
        raise ConceptRefused("No open stay has a mention of this version. There is no sentence.")
    draw = new_public_id()
    return [_store(version, draw, person, seed, drawn, by) for person in dict.fromkeys(reviewers)]


def _store(
    version: ConceptVersion,
    draw: str,
    reviewer: User,
    seed: int,
    drawn: Sequence[tuple[int, bool]],
    by: User,
) -> ConceptSample:
    # An order, no secret.
    order = random.Random(f"{seed} {reviewer.pk}").sample(drawn, len(drawn))
    sample = ConceptSample.objects.create(
        version=version, draw=draw, reviewer=reviewer, seed=seed, created_by=by
    )
    ConceptSampleItem.objects.bulk_create(
        ConceptSampleItem(sample=sample, ordinal=n, occurrence_id=pk, is_member=member)
        for n, (pk, member) in enumerate(order, start=1)
    )
    _record(sample, "concept.sample.draw", by, items=len(order))
    return sample


@transaction.atomic
def answer_item(*, sample: ConceptSample, ordinal: int, answer: str, by: User) -> None:
    """Store an answer; another one replaces it until the sample is closed.

    Raises NotAllowed, ConceptRefused.
    """
    _check_reviewer(sample, by)
    if answer not in ConceptSampleItem.Answer.values:
        raise ConceptRefused("Answer yes, no or unclear.")
    item = sample.items.filter(ordinal=ordinal).first()
    if item is None:
        raise ConceptRefused("The sample has no such sentence.")
    item.answer, item.answered_at = answer, timezone.now()
    item.save(update_fields=["answer", "answered_at"])
    _record(sample, "concept.sample.answer", by, ordinal=ordinal)


@transaction.atomic
def close_sample(*, sample: ConceptSample, by: User) -> None:
    """End the answering; figures can then be seen.

    Raises NotAllowed, ConceptRefused.
    """
    _check_reviewer(sample, by)
    if find_next(sample, closed_encounters(by)) is not None:
        raise ConceptRefused("Answer every sentence before you close the sample.")
    sample.closed_at = timezone.now()
    sample.save(update_fields=["closed_at"])
    _record(sample, "concept.sample.close", by)


def find_next(sample: ConceptSample, closed: Collection[int]) -> ConceptSampleItem | None:
    """Return the first sentence without an answer whose case is open, or None."""
    return (
        sample.items.filter(answer="")
        .exclude(occurrence__inventory__encounter__in=list(closed))
        .select_related("occurrence__inventory__note", "occurrence__inventory__encounter")
        .first()
    )


def has_decided(sample: ConceptSample) -> bool:
    """Return whether the reviewer decided on a member of the concept."""
    decisions = ConceptDecision.objects.filter(member__concept=sample.version.concept_id)
    return decisions.filter(by=sample.reviewer_id).exists()


def _draw(
    version: ConceptVersion, *, member: bool, count: int, seed: int, closed: Collection[int]
) -> list[int]:
    mentions = [m for m in version.members if m["kind"] == "mention"]
    values: dict[str, Any] = {
        "keys": [m["key"] for m in mentions],
        "polarities": [m["polarity"] for m in mentions],
        "runs": find_study_runs(version.concept.study),
        "closed": list(closed),
        "concept": version.concept_id,
        "member": member,
        "seed": str(seed),
        "most": count,
    }
    with connection.cursor() as cursor:
        cursor.execute(_DRAW, values)
        return [pk for (pk,) in cursor.fetchall()]


def _check_reviewer(sample: ConceptSample, by: User) -> None:
    check_user_can_open_cases(by, sample.version.concept.study)
    if by.pk != sample.reviewer_id:
        raise NotAllowed("Only the reviewer of this sample may answer it.")
    if sample.closed_at is not None:
        raise ConceptRefused("This sample is closed.")


def _record(sample: ConceptSample, action: str, by: User, **detail: int) -> None:
    record(
        actor=by,
        study=sample.version.concept.study,
        action=action,
        object_type="cohorts.conceptsample",
        object_id=sample.public_id,
        detail=detail,
    )
