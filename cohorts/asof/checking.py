"""Check features against what was known when they are used.

A feature is about the occurrences of its case that belong to the concept of its name, or have its
name as their words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounts.models import Study
from cohorts.asof.documenting import FirstDocumented, find_documented
from cohorts.asof.features import Feature, judge_feature
from cohorts.asof.states import State, Times, state_at
from cohorts.facts.choosing import find_timelines
from cohorts.facts.loading import find_not_happened
from cohorts.models import ConceptVersion
from cohorts.values import Source
from ehr.models import Dataset, Encounter

#: Cases that are read at once: some thirty thousand entries.
CHUNK = 200
_ENTRIES = """
    WITH names AS (
        SELECT n.name, md5(lower(n.name)) AS key, NULL AS polarity FROM unnest(%(words)s::text[]) AS n (name)
        UNION ALL
        SELECT * FROM unnest(%(names)s::text[], %(keys)s::text[], %(polarities)s::text[])
    )
    SELECT DISTINCT t.encounter_id, n.name, e.id, e.time, e.lower, e.upper
    FROM timelines_timeline t
    JOIN timelines_entry e ON e.timeline_id = t.id
    JOIN timelines_occurrence o ON o.id = e.occurrence_id
    JOIN names n ON n.key = o.mention_key AND (n.polarity IS NULL OR n.polarity = o.polarity)
    WHERE t.id = ANY(%(timelines)s) AND NOT e.id = ANY(%(left_out)s)
    ORDER BY e.id
"""


@dataclass(frozen=True, slots=True)
class Used:
    """An occurrence that a feature may use, and its state then."""

    entry: int
    state: State
    documented: FirstDocumented


@dataclass(frozen=True, slots=True)
class Finding:
    """A feature, the occurrences behind it, and the best of their states."""

    feature: Feature
    encounter: int
    used: tuple[Used, ...]

    @property
    def state(self) -> State | None:
        return judge_feature(one.state for one in self.used)


def check_features(
    dataset: Dataset, source: Source, features: Sequence[Feature]
) -> Iterator[Finding]:
    """Yield a finding for each feature, case by case."""
    by_case: dict[str, list[Feature]] = defaultdict(list)
    for feature in features:
        by_case[feature.case].append(feature)
    cases = list(by_case)
    members = _load_members(dataset.study, {feature.name.casefold() for feature in features})
    for start in range(0, len(cases), CHUNK):
        chunk = cases[start : start + CHUNK]
        keys = dict(
            Encounter.objects.filter(dataset=dataset, case_id__in=chunk).values_list(
                "case_id", "pk"
            )
        )
        wanted = [feature for case in chunk if case in keys for feature in by_case[case]]
        found = _load_entries(dataset, source, list(keys.values()), wanted, members)
        for feature in wanted:
            encounter = keys[feature.case]
            rows = found.get((encounter, feature.name.casefold()), [])
            used = tuple(
                Used(entry, state_at(times, feature.hours), first) for entry, times, first in rows
            )
            yield Finding(feature, encounter, used)


_Row = tuple[int, Times, FirstDocumented]


def _load_members(study: Study, names: set[str]) -> Mapping[str, list[tuple[str, str]]]:
    """Return the mentions of the newest version of each named concept."""
    versions = ConceptVersion.objects.filter(concept__study=study, concept__archived_at=None)
    found: dict[str, list[tuple[str, str]]] = {}
    for version in versions.select_related("concept").order_by("number"):
        if version.concept.name.casefold() in names:
            found[version.concept.name.casefold()] = [
                (member["key"], member["polarity"])
                for member in version.members
                if member["kind"] == "mention"
            ]
    return found


def _load_entries(
    dataset: Dataset,
    source: Source,
    stays: Sequence[int],
    features: Sequence[Feature],
    members: Mapping[str, list[tuple[str, str]]],
) -> dict[tuple[int, str], list[_Row]]:
    """Return the entries behind the features of some stays, by stay and name."""
    timelines = list(find_timelines(dataset, source, stays).values_list("pk", flat=True))
    names = sorted({feature.name.casefold() for feature in features})
    pairs = [(name, key, polarity) for name in names for key, polarity in members.get(name, ())]
    values: dict[str, Any] = {
        "words": [name for name in names if name not in members],
        "names": [name for name, _, _ in pairs],
        "keys": [key for _, key, _ in pairs],
        "polarities": [polarity for _, _, polarity in pairs],
        "timelines": timelines,
        "left_out": find_not_happened(timelines) if source is Source.CURATED else [],
    }
    with connection.cursor() as cursor:
        cursor.execute(_ENTRIES, values)
        rows = cursor.fetchall()
    documented = find_documented(timelines) if rows else {}
    found: dict[tuple[int, str], list[_Row]] = defaultdict(list)
    for stay, name, entry, time, lower, upper in rows:
        first = documented[entry]
        times = Times(time, lower, upper, first.hours, first.noted)
        found[stay, name].append((entry, times, first))
    return found
