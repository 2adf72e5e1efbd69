"""Who may see an export, and which of its cases.

Only the person who started an export downloads it, as a study admin. Cases that are closed to them
are left out when it is written. An export with a case that was closed to them later is closed as a
whole (docs/adr/0060-exports-are-jobs.md).
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from accounts.models import Study, User
from accounts.permissions import STUDY_ADMINS, NotAllowed
from accounts.scoping import filter_by_role
from ehr.models import Encounter
from timelines.access.authoring import hidden_timelines
from timelines.access.closed import closed_encounters
from timelines.models import Export, ExportPart

EXPORT_CLOSED = (
    "This export has cases that are closed to you: you review them, or you author them and not"
    " every author has submitted. It opens when your packet is closed and the timelines are"
    " submitted."
)


def find_unseen_cases(person: User, study: Study) -> set[int]:
    """Return the cases that an export of the person leaves out.

    As primary keys. They are closed to the person, or have timelines that the person must not see yet.
    """
    authored = Encounter.objects.filter(authorings__author=person, dataset__study=study).distinct()
    unseen = {e.pk for e in authored if hidden_timelines(person, e)}
    return unseen | closed_encounters(person)


def own_exports(request: HttpRequest) -> QuerySet[Export]:
    """Return the exports of a person in the studies that they manage."""
    found = Export.objects.select_related("study", "dataset", "run").filter(
        created_by=request.user.pk
    )
    return filter_by_role(found, request.user, roles=STUDY_ADMINS)


def find_export(request: HttpRequest, public_id: str) -> Export:
    """Return an export of the person. Raises Http404."""
    return get_object_or_404(own_exports(request), public_id=public_id)


def closed_exports(person: User, study: Study, exports: Iterable[Export]) -> set[int]:
    """Return the primary keys of exports that are closed to the person.

    They have a case that is closed to the person now.
    """
    unseen = find_unseen_cases(person, study)
    if not unseen:
        return set()
    parts = ExportPart.objects.filter(
        export__in=list(exports), written_at__isnull=False, encounters__overlap=list(unseen)
    )
    return set(parts.values_list("export_id", flat=True))


def check_export_is_open(person: User, export: Export) -> None:
    """Raise NotAllowed if a case of the export is closed to the person."""
    if closed_exports(person, export.study, [export]):
        raise NotAllowed(EXPORT_CLOSED)


def list_case_ids(export: Export) -> list[str]:
    """Return the public ids of the cases in the export."""
    keys = {pk for part in export.parts.filter(written_at__isnull=False) for pk in part.encounters}
    found = Encounter.objects.filter(pk__in=keys).order_by("public_id")
    return list(found.values_list("public_id", flat=True))
