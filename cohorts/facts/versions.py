"""The concepts that an analysis may use, and the newest version of each."""

from __future__ import annotations

from django.db.models import QuerySet

from accounts.models import Study
from cohorts.models import Concept, ConceptVersion


def find_concepts(study: Study) -> QuerySet[Concept]:
    """Return the concepts of a study that have a version and are in use, by name."""
    return Concept.objects.filter(
        study=study, archived_at__isnull=True, versions__isnull=False
    ).distinct()


def find_newest(concepts: QuerySet[Concept]) -> QuerySet[ConceptVersion]:
    """Return the newest version of each of these concepts."""
    versions = ConceptVersion.objects.filter(concept__in=concepts.order_by().values("pk"))
    newest = versions.order_by("concept_id", "-number").distinct("concept_id")
    return newest.select_related("concept")


def newest_versions(study: Study) -> dict[str, ConceptVersion]:
    """Return the newest version of each concept in use, by the concept's public id."""
    return {version.concept.public_id: version for version in find_newest(find_concepts(study))}
