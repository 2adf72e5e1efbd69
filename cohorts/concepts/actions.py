"""Make and change concepts, their rules, members and versions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from django.db import transaction
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import Study, User
from accounts.permissions import check_user_can_manage_study, check_user_can_open_cases
from cohorts.concepts.counting import find_hidden
from cohorts.concepts.matching import Candidate, find_by_rule
from cohorts.concepts.values import (
    LONGEST_NAME,
    ConceptRefused,
    Rule,
    digest_members,
    sort_members,
)
from cohorts.models import Concept, ConceptDecision, ConceptMember, ConceptRule, ConceptVersion


@transaction.atomic
def create_concept(*, study: Study, name: str, description: str = "", by: User | None) -> Concept:
    """Create a concept without members. Raises NotAllowed, ConceptRefused."""
    _check(by, study)
    name = _read_name(study, name, None)
    made = Concept.objects.create(
        study=study, name=name, description=description.strip(), created_by=by
    )
    _record(made, "concept.create", by)
    return made


@transaction.atomic
def describe_concept(*, concept: Concept, name: str, description: str, by: User) -> None:
    """Rename and describe a concept. Raises NotAllowed, ConceptRefused."""
    _check(by, concept.study)
    concept.name = _read_name(concept.study, name, concept)
    concept.description = description.strip()
    concept.save(update_fields=["name", "description"])
    _record(concept, "concept.describe", by)


@transaction.atomic
def archive_concept(*, concept: Concept, by: User) -> None:
    """Put a concept away: what uses its versions keeps them. Raises NotAllowed."""
    check_user_can_manage_study(by, concept.study)
    if concept.archived_at is None:
        concept.archived_at = timezone.now()
        concept.save(update_fields=["archived_at"])
        _record(concept, "concept.archive", by)


@transaction.atomic
def add_rule(
    *, concept: Concept, rule: Rule, closed: Collection[int] = (), by: User | None
) -> tuple[ConceptRule, int]:
    """Store a rule and propose what it finds; return both the rule and how many.

    The same living rule is not stored twice. Raises NotAllowed, ConceptRefused.
    """
    _check(by, concept.study)
    _check_lives(concept)
    made, new = ConceptRule.objects.get_or_create(
        concept=concept,
        kind=rule.kind,
        value=rule.value.strip(),
        polarities=list(rule.polarities),
        lanes=list(rule.lanes),
        ended_at=None,
        defaults={"created_by": by},
    )
    if new:
        _record(concept, "concept.rule.add", by)
    return made, propose(concept=concept, found=find_by_rule(concept, rule, closed), by=by)


@transaction.atomic
def end_rule(*, rule: ConceptRule, by: User) -> None:
    """End a rule: what it proposed stays. Raises NotAllowed."""
    _check(by, rule.concept.study)
    if rule.ended_at is None:
        rule.ended_at = timezone.now()
        rule.save(update_fields=["ended_at"])
        _record(rule.concept, "concept.rule.end", by)


@transaction.atomic
def propose(*, concept: Concept, found: Sequence[Candidate], by: User | None) -> int:
    """Store proposed members that wait for review; return how many are new."""
    _check(by, concept.study)
    _check_lives(concept)
    before = concept.members.count()
    ConceptMember.objects.bulk_create(
        [
            ConceptMember(
                concept=concept,
                kind=one.kind,
                key=one.key,
                polarity=one.polarity,
                words=one.words,
                found_by=one.found_by[:300],
            )
            for one in found
        ],
        ignore_conflicts=True,
    )
    new = concept.members.count() - before
    if new:
        _record(concept, "concept.propose", by, count=new)
    return new


@transaction.atomic
def decide(
    *,
    concept: Concept,
    members: Iterable[str],
    accepted: bool,
    reason: str = "",
    closed: Collection[int] = (),
    by: User,
) -> int:
    """Accept or reject members (public ids), one or many; return how many.

    Members that a person may not see (`find_hidden`) are left as they are.
    """
    _check(by, concept.study)
    _check_lives(concept)
    state = ConceptMember.State.ACCEPTED if accepted else ConceptMember.State.REJECTED
    chosen = list(
        concept.members.select_for_update()
        .filter(public_id__in=list(members))
        .exclude(state=state)
        .exclude(pk__in=find_hidden(concept, closed))
    )
    ConceptDecision.objects.bulk_create(
        ConceptDecision(member=one, accepted=accepted, reason=reason.strip(), by=by)
        for one in chosen
    )
    ConceptMember.objects.filter(pk__in=[one.pk for one in chosen]).update(state=state)
    if chosen:
        action = "concept.accept" if accepted else "concept.reject"
        _record(concept, action, by, count=len(chosen))
    return len(chosen)


@transaction.atomic
def make_version(*, concept: Concept, by: User | None) -> ConceptVersion | None:
    """Freeze the accepted members; None if they are those of the newest version.

    Raises NotAllowed, ConceptRefused without an accepted member.
    """
    _check(by, concept.study)
    _check_lives(concept)
    Concept.objects.select_for_update(no_key=True).get(pk=concept.pk)
    accepted = concept.members.filter(state=ConceptMember.State.ACCEPTED)
    members = sort_members(accepted.values("kind", "key", "polarity", "words"))
    if not members:
        raise ConceptRefused("Accept at least one member before you make a version.")
    digest, newest = digest_members(members), concept.versions.first()
    if newest is not None and newest.sha256 == digest:
        return None
    made = ConceptVersion.objects.create(
        concept=concept,
        number=newest.number + 1 if newest else 1,
        members=members,
        sha256=digest,
        created_by=by,
    )
    _record(concept, "concept.version", by, number=made.number)
    return made


def _read_name(study: Study, name: str, own: Concept | None) -> str:
    name = name.strip()
    if not name or len(name) > LONGEST_NAME:
        raise ConceptRefused(f"Enter a name of at most {LONGEST_NAME} characters.")
    others = Concept.objects.filter(study=study, name=name)
    if own is not None:
        others = others.exclude(pk=own.pk)
    if others.exists():
        raise ConceptRefused("There is a concept of that name. Enter another name.")
    return name


def _check(by: User | None, study: Study) -> None:
    """Raise NotAllowed unless a command acts or the person may open cases."""
    if by is not None:
        check_user_can_open_cases(by, study)


def _check_lives(concept: Concept) -> None:
    if concept.archived_at is not None:
        raise ConceptRefused("This concept is archived. Create another one.")


def _record(concept: Concept, action: str, by: User | None, **detail: int) -> None:
    record(
        actor=by,
        study=concept.study,
        action=action,
        object_type="cohorts.concept",
        object_id=concept.public_id,
        detail=detail,
    )
