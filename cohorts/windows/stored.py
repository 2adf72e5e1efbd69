"""Read stored criteria with the names that their concepts have now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cohorts.engine.language import Window as Criteria
from cohorts.engine.language import find_concepts
from cohorts.engine.places import rename_concepts
from cohorts.engine.reading import read_window
from cohorts.engine.values import WindowError
from cohorts.models import ConceptVersion, WindowVersion


@dataclass(frozen=True, slots=True)
class Stored:
    """The criteria of a version in today's names; `renamed`: those of its day → today's."""

    criteria: Criteria
    concepts: Mapping[str, ConceptVersion]
    renamed: Mapping[str, str]


class _AnyName:
    """All names of concepts: they were checked when the version was stored."""

    def __contains__(self, name: object) -> bool:
        return True


def read_stored(version: WindowVersion) -> Stored:
    """Return what a version of a window asks.

    Raises WindowError for a concept that no longer exists.
    """
    criteria = read_window(version.yaml, concepts=_AnyName())
    # A list of versions has fetched them already.
    fetched = "concepts" in getattr(version, "_prefetched_objects_cache", {})
    found = version.concepts.all() if fetched else version.concepts.select_related("concept")
    concepts = {one.concept.public_id: one for one in found}
    used = find_concepts(criteria)
    names = version.names or _guess_names(used, concepts)
    for name in used:
        if names.get(name) not in concepts:
            raise WindowError(f"{name}: this concept no longer exists. Choose another concept.")
    now = {name: concepts[names[name]].concept.name for name in used}
    renamed = {old: new for old, new in now.items() if old != new}
    by_name = {concept.concept.name: concept for concept in concepts.values()}
    return Stored(rename_concepts(criteria, renamed), by_name, renamed)


def describe_renamed(renamed: Mapping[str, str]) -> list[str]:
    """Return a sentence for each concept that has another name now."""
    return [f"The concept “{old}” is called “{new}” now." for old, new in sorted(renamed.items())]


def _guess_names(used: list[str], concepts: Mapping[str, ConceptVersion]) -> dict[str, str]:
    """Return the public ids of the concepts of a version that was stored without them.

    If one name and one concept are left over, the concept was renamed.
    """
    names = {v.concept.name: public_id for public_id, v in concepts.items()}
    unknown = [name for name in used if name not in names]
    unused = [public_id for name, public_id in names.items() if name not in used]
    if len(unknown) == len(unused) == 1:
        names[unknown[0]] = unused[0]
    return names
