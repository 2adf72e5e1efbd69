"""What of concepts is closed as a whole to a person who must not see a case."""

from __future__ import annotations

from collections.abc import Collection

from accounts.models import Study
from ehr.models import Dataset
from timelines.access.closed import has_closed

CLOSED = (
    "Cases of this study are closed to you. What depends on all of its cases opens when they do:"
    " versions, samples and files of concepts."
)


def is_closed(study: Study, closed: Collection[int]) -> bool:
    """Return whether figures over all cases are closed to the person."""
    return has_closed(Dataset.objects.filter(study=study), closed)
