"""Which codes of MEDS data a concept is, for tasks of ACES."""

from __future__ import annotations

from accounts.models import Study
from cohorts.facts.versions import newest_versions


def codes_of(study: Study) -> dict[str, list[str]]:
    """Return the codes of each concept by its name: its series, else one of its name."""
    found: dict[str, list[str]] = {}
    for version in newest_versions(study).values():
        series = [member["key"] for member in version.members if member["kind"] == "series"]
        found[version.concept.name] = sorted(series) or [f"concept//{version.concept.name}"]
    return found
