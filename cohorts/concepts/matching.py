"""Find mentions and series that may be members of a concept, with SQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from accounts.models import Study
from cohorts.concepts.values import Rule
from cohorts.models import Concept
from timelines.backbones.rules.querying.vocabulary import list_drug_classes
from timelines.domain import Polarity
from timelines.runs.study_timeline.selection import find_study_runs
from timelines.search.terms import parse_terms
from timelines.search.words import write_query

#: Members that one search proposes at most, most frequent first.
MOST = 2000
#: Mentions less alike than this are not proposed by meaning.
LEAST_SIMILAR = 0.5
_NOT_MEMBER = """
    NOT EXISTS (
        SELECT 1 FROM cohorts_conceptmember m WHERE m.concept_id = %s AND m.kind = '{kind}'
            AND m.key = {key} AND m.polarity = {polarity}
    )
"""
_MENTIONS = """
    SELECT o.mention_key, o.polarity, min(lower(o.mention))
    FROM timelines_occurrence o JOIN timelines_caserun r ON r.inventory_id = o.inventory_id
    WHERE o.words @@ {query} AND r.run_id = ANY(%s) AND NOT r.encounter_id = ANY(%s)
        AND (cardinality(%s::text[]) = 0 OR o.polarity = ANY(%s))
        AND (cardinality(%s::text[]) = 0 OR o.lane = ANY(%s)) AND {not_member}
    GROUP BY o.mention_key, o.polarity ORDER BY count(*) DESC, o.mention_key LIMIT %s
"""
_SERIES = """
    SELECT s.event FROM ehr_eventseries s JOIN ehr_encounter e ON e.id = s.encounter_id
    JOIN ehr_dataset d ON d.id = e.dataset_id
    WHERE d.study_id = %s AND s.event ILIKE %s AND NOT e.id = ANY(%s) AND {not_member}
    GROUP BY s.event ORDER BY count(*) DESC, s.event LIMIT %s
"""
_NEAREST = """
    WITH wanted AS ({wanted}), near AS (
        SELECT v.key, max(1 - (v.vector <=> w.vector)) AS similarity
        FROM timelines_mentionvector v JOIN ehr_dataset d ON d.id = v.dataset_id
        JOIN wanted w ON w.model = v.model WHERE d.study_id = %s GROUP BY v.key
    )
    SELECT o.mention_key, o.polarity, min(lower(o.mention)), n.similarity
    FROM near n JOIN timelines_occurrence o ON o.mention_key = n.key
    JOIN timelines_caserun r ON r.inventory_id = o.inventory_id
    WHERE n.similarity >= %s AND r.run_id = ANY(%s) AND NOT r.encounter_id = ANY(%s)
        AND o.polarity = ANY(%s) AND {not_member}
    GROUP BY o.mention_key, o.polarity, n.similarity
    ORDER BY n.similarity DESC, o.mention_key LIMIT %s
"""
#: Vectors of what a person typed, or of accepted members.
_TYPED = "SELECT model, vector FROM timelines_meaningsearch WHERE id = %s AND vector IS NOT NULL"
_OF_MEMBERS = """
    SELECT DISTINCT ON (v.model, v.key) v.model, v.vector FROM timelines_mentionvector v
    JOIN ehr_dataset d ON d.id = v.dataset_id
    JOIN cohorts_conceptmember a ON a.key = v.key AND a.kind = 'mention'
    JOIN cohorts_concept c ON c.id = a.concept_id AND c.study_id = d.study_id
    WHERE a.concept_id = %s AND a.state = 'accepted'
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mention or series that is no member yet, and how it was found."""

    kind: str
    key: str
    polarity: str
    words: str
    found_by: str


def find_by_rule(concept: Concept, rule: Rule, closed: Collection[int]) -> list[Candidate]:
    """Return what a rule proposes in open cases and the concept lacks."""
    found_by = f"{rule.kind.replace('_', ' ')}: {rule.value}"
    if rule.kind == "series":
        return [
            Candidate("series", e, "", e, found_by) for e in _find_series(concept, rule, closed)
        ]
    query, values = _write(rule)
    not_member = _NOT_MEMBER.format(kind="mention", key="o.mention_key", polarity="o.polarity")
    polarities, lanes = list(rule.polarities), list(rule.lanes)
    rows = _fetch(
        _MENTIONS.format(query=query, not_member=not_member),
        [
            *values,
            find_study_runs(concept.study),
            list(closed),
            polarities,
            polarities,
            lanes,
            lanes,
            concept.pk,
            MOST,
        ],
    )
    return [Candidate("mention", key, polarity, words, found_by) for key, polarity, words in rows]


def find_by_meaning(
    concept: Concept, closed: Collection[int], *, search: int | None, most: int = 20
) -> list[Candidate]:
    """Return the mentions most like a search or accepted members.

    Only those of what happened.
    `search` is the key of a MeaningSearch that has its vector; None: like accepted members.
    """
    not_member = _NOT_MEMBER.format(kind="mention", key="o.mention_key", polarity="o.polarity")
    wanted = _OF_MEMBERS if search is None else _TYPED
    rows = _fetch(
        _NEAREST.format(wanted=wanted, not_member=not_member),
        [
            concept.pk if search is None else search,
            concept.study_id,
            LEAST_SIMILAR,
            find_study_runs(concept.study),
            list(closed),
            [Polarity.PRESENT.value],
            concept.pk,
            most,
        ],
    )
    return [
        Candidate("mention", key, polarity, words, f"meaning, {similarity:.2f}")
        for key, polarity, words, similarity in rows
    ]


def count_missing_vectors(study: Study) -> int:
    """Return how many mentions of the study timelines have no vector of any model."""
    ((count,),) = _fetch(
        """
        SELECT count(DISTINCT (n.dataset_id, o.mention_key))
        FROM timelines_occurrence o JOIN timelines_caserun r ON r.inventory_id = o.inventory_id
        JOIN timelines_run n ON n.id = r.run_id
        WHERE r.run_id = ANY(%s) AND NOT EXISTS (
            SELECT 1 FROM timelines_mentionvector v
            WHERE v.dataset_id = n.dataset_id AND v.key = o.mention_key
        )
        """,
        [find_study_runs(study)],
    )
    return int(count)


def _find_series(concept: Concept, rule: Rule, closed: Collection[int]) -> list[str]:
    not_member = _NOT_MEMBER.format(kind="series", key="s.event", polarity="''")
    rows = _fetch(
        _SERIES.format(not_member=not_member),
        [concept.study_id, like(rule.value), list(closed), concept.pk, MOST],
    )
    return [event for (event,) in rows]


def like(pattern: str) -> str:
    """Return a pattern with `*` for any text as one of SQL's LIKE."""
    escaped = pattern.strip().replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
    return escaped.replace("*", "%")


def _write(rule: Rule) -> tuple[str, list[str]]:
    """Return a query of words: all terms, or any name of a drug class."""
    if rule.kind == "words":
        return write_query(parse_terms(rule.value))
    names = list_drug_classes()[rule.value]
    return f"({' || '.join(['phraseto_tsquery(%s::regconfig, %s)'] * len(names))})", [
        value for name in names for value in ("simple", name)
    ]


def _fetch(query: str, values: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchall()
