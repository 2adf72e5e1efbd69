"""Find the stays of one patient in a study."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.models import Study
from ehr.models import Encounter


class UnknownPatient(ValueError):
    """The study has no stay with this patient key. The message repeats no key."""

    log_safe = True


def find_stays(study: Study, key: str) -> QuerySet[Encounter]:
    """Return the stays with this patient key in all datasets of the study.

    Raises UnknownPatient.
    """
    stays = Encounter.objects.filter(dataset__study=study, subject_key=key)
    if not key or not stays.exists():
        raise UnknownPatient("The study has no stay with this patient key.")
    return stays
