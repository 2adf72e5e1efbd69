"""Count and list what was known of a cohort at an hour.

The database counts. Each stay has its own hour: so many hours from admission, or from a concept's first occurrence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from cohorts.asof.states import State
from cohorts.facts.choosing import find_timelines
from cohorts.facts.loading import find_not_happened
from cohorts.models import ConceptVersion
from cohorts.values import Source
from ehr.models import Dataset

#: `cohorts.asof.states.state_at` for an entry `e`, its documentation `d` and the hour `h.hour`.
STATE = """
    CASE
        WHEN coalesce(e.lower, CASE WHEN e.upper IS NULL THEN e.time END, '-Infinity') > h.hour THEN 'not_yet'
        WHEN coalesce(e.upper, CASE WHEN e.lower IS NULL THEN e.time END, 'Infinity') > h.hour THEN 'uncertain'
        WHEN d.hours <= h.hour THEN 'known'
        ELSE 'later'
    END
"""
_MEMBERS = """
    members AS (
        SELECT * FROM unnest(%(names)s::text[], %(keys)s::text[], %(polarities)s::text[]) AS m (name, key, polarity)
    )
"""
#: Stays without the concept that counts as hour 0 are left out.
_HOURS = """
    hours AS (
        SELECT t.id AS timeline_id, t.encounter_id, CASE WHEN %(anchored)s THEN first.hour ELSE 0 END + %(hours)s AS hour
        FROM timelines_timeline t
        LEFT JOIN LATERAL (
            SELECT min(e.time) AS hour FROM members m
            JOIN timelines_occurrence o ON o.inventory_id = t.inventory_id AND o.mention_key = m.key
                AND o.polarity = m.polarity
            JOIN timelines_entry e ON e.occurrence_id = o.id AND e.timeline_id = t.id
            WHERE m.name = '' AND NOT e.id = ANY(%(left_out)s)
        ) first ON %(anchored)s
        WHERE t.id = ANY(%(timelines)s) AND (NOT %(anchored)s OR first.hour IS NOT NULL)
    )
"""
_JOINED = """
    FROM hours h
    JOIN timelines_entry e ON e.timeline_id = h.timeline_id
    JOIN timelines_occurrence o ON o.id = e.occurrence_id
    LEFT JOIN cohorts_documented d ON d.entry_id = e.id
"""
_COUNT = f"""
    WITH {_MEMBERS}, {_HOURS}, stated AS MATERIALIZED (
        SELECT h.encounter_id, o.lane, o.mention_key, o.polarity, {STATE} AS state {_JOINED}
        WHERE NOT e.id = ANY(%(left_out)s)
    )
    SELECT 'lane', lane, state, count(*), count(DISTINCT encounter_id) FROM stated GROUP BY lane, state
    UNION ALL
    SELECT 'concept', m.name, s.state, count(*), count(DISTINCT s.encounter_id)
    FROM stated s JOIN members m ON m.key = s.mention_key AND m.polarity = s.polarity WHERE m.name <> ''
    GROUP BY m.name, s.state
"""
_COUNT_STAYS = f"WITH {_MEMBERS}, {_HOURS} SELECT count(*) FROM hours"
_LIST_HOURS = f"WITH {_MEMBERS}, {_HOURS} SELECT encounter_id, hour FROM hours"
_LIST = f"""
    WITH {_MEMBERS}, {_HOURS}
    SELECT e.id, h.encounter_id, h.hour, {STATE} AS state {_JOINED}
    WHERE NOT e.id = ANY(%(left_out)s) AND {STATE} = ANY(%(states)s)
        AND (%(lane)s = '' OR o.lane = %(lane)s)
        {{of_concept}}
    ORDER BY h.encounter_id, o.ordinal LIMIT %(limit)s OFFSET %(offset)s
"""
#: The keys are there once more, so that the index of mentions finds the few occurrences.
_OF_CONCEPT = """
    AND o.mention_key = ANY(%(concept_keys)s) AND EXISTS (
        SELECT 1 FROM members m WHERE m.name = %(concept)s AND m.key = o.mention_key AND m.polarity = o.polarity
    )
"""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of a dataset: times of a source, at which hour."""

    dataset: Dataset
    source: Source
    hours: float
    #: Hours are from its first occurrence in each stay; from admission without one.
    after: ConceptVersion | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """Some states of one lane or concept; all of both are empty."""

    states: tuple[State, ...]
    lane: str = ""
    concept: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry of a cell, the hour of its stay and its state then."""

    entry: int
    encounter: int
    hour: float
    state: State


def find_asked_timelines(question: Question) -> list[int]:
    """Return the keys of the timelines that the question is about."""
    found = find_timelines(question.dataset, question.source)
    return list(found.order_by("pk").values_list("pk", flat=True))


def find_hours(question: Question, timelines: Sequence[int]) -> dict[int, float]:
    """Return the hour of each stay that has one, by encounter."""
    with connection.cursor() as cursor:
        cursor.execute(_LIST_HOURS, _values(question, timelines, []))
        return dict(cursor.fetchall())


def count_states(
    question: Question, timelines: Sequence[int], concepts: Sequence[ConceptVersion]
) -> dict[str, Any]:
    """Return the figures of a report as plain values.

    `stays`: those that have the hour. `groups`: by lane, then by concept, the occurrences and the
    stays of each state.
    """
    values = _values(question, timelines, concepts)
    with connection.cursor() as cursor:
        cursor.execute(_COUNT_STAYS, values)
        (stays,) = cursor.fetchone()
        cursor.execute(_COUNT, values)
        rows = cursor.fetchall()
    groups: dict[tuple[str, str], dict[str, list[int]]] = {}
    for kind, name, state, entries, cases in rows:
        groups.setdefault((kind, name), {})[state] = [entries, cases]
    found = [{"kind": kind, "name": name, "states": s} for (kind, name), s in groups.items()]
    return {"stays": stays, "without": len(timelines) - stays, "groups": found}


def list_cell(
    question: Question,
    timelines: Sequence[int],
    concepts: Sequence[ConceptVersion],
    cell: Cell,
    *,
    limit: int,
    offset: int,
) -> list[Listed]:
    """Return some entries of a cell, in order of stays and of the note."""
    values = _values(question, timelines, concepts)
    named = zip(values["names"], values["keys"], strict=True)
    values |= {
        "states": [state.value for state in cell.states],
        "lane": cell.lane,
        "concept": cell.concept,
        "concept_keys": [key for name, key in named if name == cell.concept],
        "limit": limit,
        "offset": offset,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LIST.format(of_concept=_OF_CONCEPT if cell.concept else ""), values)
        return [Listed(entry, stay, h, State(state)) for entry, stay, h, state in cursor.fetchall()]


def _values(
    question: Question, timelines: Sequence[int], concepts: Sequence[ConceptVersion]
) -> dict[str, Any]:
    """Return the parameters of the statements.

    The concept of hour 0 has the name "".
    """
    named = [(str(version.pk), version) for version in concepts]
    if question.after is not None:
        named.append(("", question.after))
    mentions = [
        (name, member["key"], member["polarity"])
        for name, version in named
        for member in version.members
        if member["kind"] == "mention"
    ]
    curated = question.source is Source.CURATED
    return {
        "names": [name for name, _, _ in mentions],
        "keys": [key for _, key, _ in mentions],
        "polarities": [polarity for _, _, polarity in mentions],
        "anchored": question.after is not None,
        "hours": question.hours,
        "timelines": list(timelines),
        "left_out": find_not_happened(timelines) if curated else [],
    }
