"""Who saw the members of a concept while a sample of it waited for them."""

from __future__ import annotations

from accounts.audit.trail import record
from accounts.models import AuditEvent, User
from cohorts.models import Concept, ConceptSample

_ACTION = "concept.sample.unblind"


def find_waiting(concept: Concept, person: User) -> ConceptSample | None:
    """Return a sample that waits for a person who saw no member since."""
    open_samples = ConceptSample.objects.filter(
        version__concept=concept, reviewer=person, closed_at__isnull=True
    )
    return next((one for one in open_samples if not has_seen(one)), None)


def note_opening(concept: Concept, person: User) -> None:
    """Record that the person sees members while samples wait, once a sample."""
    while (sample := find_waiting(concept, person)) is not None:
        record(
            actor=person,
            study=concept.study,
            action=_ACTION,
            object_type="cohorts.conceptsample",
            object_id=sample.public_id,
        )


def has_seen(sample: ConceptSample) -> bool:
    """Return whether the reviewer saw members before closing."""
    return AuditEvent.objects.filter(action=_ACTION, object_id=sample.public_id).exists()
