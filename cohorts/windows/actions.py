"""Create windows, save their versions, put them away."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from accounts.audit.trail import record
from accounts.models import Study, User
from accounts.permissions import check_user_can_manage_study, check_user_can_open_cases
from cohorts.engine.language import Window as Criteria
from cohorts.engine.language import find_concepts
from cohorts.engine.reading import read_window
from cohorts.engine.values import WindowError
from cohorts.engine.writing import write_window
from cohorts.facts.versions import find_newest
from cohorts.models import Concept, ConceptVersion, Window, WindowVersion
from cohorts.windows.values import WindowRefused

LONGEST_NAME = 200


@transaction.atomic
def create_window(*, study: Study, yaml: str, by: User | None) -> Window:
    """Store a window and its first version; its name is that of the YAML.

    Raises NotAllowed, WindowError, WindowRefused.
    """
    if by is not None:
        check_user_can_open_cases(by, study)
    criteria = read_criteria(study, yaml)
    if not criteria.name.strip() or len(criteria.name) > LONGEST_NAME:
        raise WindowRefused(f"name: write a name of at most {LONGEST_NAME} characters.")
    if Window.objects.filter(study=study, name=criteria.name).exists():
        raise WindowRefused(f"name: there is a window “{criteria.name}”. Choose another name.")
    window = Window.objects.create(study=study, name=criteria.name, created_by=by)
    _record(window, "window.create", by)
    save_version(window=window, yaml=yaml, by=by)
    return window


@transaction.atomic
def save_version(*, window: Window, yaml: str, by: User | None) -> WindowVersion:
    """Store new criteria; the newest version of each concept is kept with them.

    Returns the newest version if nothing differs from it. Raises NotAllowed, WindowError,
    WindowRefused.
    """
    if by is not None:
        check_user_can_open_cases(by, window.study)
    Window.objects.select_for_update(no_key=True).get(pk=window.pk)
    criteria = read_criteria(window.study, yaml)
    text = write_window(criteria)
    concepts = choose_versions(window.study, criteria)
    newest = window.versions.first()
    if newest is not None and newest.yaml == text and set(newest.concepts.all()) == set(concepts):
        return newest
    made = WindowVersion.objects.create(
        window=window,
        number=newest.number + 1 if newest else 1,
        yaml=text,
        names={version.concept.name: version.concept.public_id for version in concepts},
        created_by=by,
    )
    made.concepts.set(concepts)
    _record(window, "window.version", by, number=made.number)
    return made


@transaction.atomic
def archive_window(*, window: Window, by: User) -> None:
    """Put a window away; its results stay. Raises NotAllowed."""
    check_user_can_manage_study(by, window.study)
    window.archived_at = timezone.now()
    window.save(update_fields=["archived_at"])
    _record(window, "window.archive", by)


def read_criteria(study: Study, yaml: str) -> Criteria:
    """Read YAML over the concepts of the study. Raises WindowError."""
    names = Concept.objects.filter(study=study).values_list("name", flat=True)
    return read_window(yaml, concepts=set(names))


def choose_versions(study: Study, criteria: Criteria) -> list[ConceptVersion]:
    """Return the newest version of each concept of a window. Raises WindowError."""
    names = find_concepts(criteria)
    # A window keeps a concept that was archived since.
    named = Concept.objects.filter(study=study, name__in=names)
    found = {version.concept.name: version for version in find_newest(named)}
    for name in names:
        if name not in found:
            raise WindowError(f"{name}: the concept has no version. Make a version of it first.")
    return list(found.values())


def _record(window: Window, action: str, by: User | None, **detail: int) -> None:
    record(
        actor=by,
        study=window.study,
        action=action,
        object_type="cohorts.window",
        object_id=window.public_id,
        detail=detail,
    )
