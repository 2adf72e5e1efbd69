"""Count where members of concepts occur, and show sentences of them.

Closed cases are left out before anything is counted. A member that occurs in no open case is hidden
from a person to whom cases are closed, whether it occurs in a closed case or nowhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import QuerySet
from django.utils.safestring import SafeString

from accounts.models import Study
from cohorts.models import Concept, ConceptMember
from ehr.models import Encounter, Note
from timelines.runs.study_timeline.selection import find_study_runs
from timelines.search.marking import Match, mark_sentences
from timelines.search.values import Hit

EACH = 3
_COUNTS = """
    SELECT m.id, count(o.id), count(DISTINCT r.encounter_id)
    FROM cohorts_conceptmember m
    JOIN timelines_occurrence o ON o.mention_key = m.key AND o.polarity = m.polarity
    JOIN timelines_caserun r ON r.inventory_id = o.inventory_id
    WHERE m.concept_id = ANY(%(concepts)s) AND m.kind = 'mention' AND r.run_id = ANY(%(runs)s)
        AND NOT r.encounter_id = ANY(%(closed)s)
    GROUP BY m.id
    UNION ALL
    SELECT m.id, coalesce(sum(s.count), 0), count(DISTINCT s.encounter_id)
    FROM cohorts_conceptmember m JOIN ehr_eventseries s ON s.event = m.key
    JOIN ehr_encounter e ON e.id = s.encounter_id JOIN ehr_dataset d ON d.id = e.dataset_id
    WHERE m.concept_id = ANY(%(concepts)s) AND m.kind = 'series' AND d.study_id = %(study)s
        AND NOT e.id = ANY(%(closed)s)
    GROUP BY m.id
"""
_STAYS = """
    SELECT m.concept_id, count(DISTINCT r.encounter_id)
    FROM cohorts_conceptmember m
    JOIN timelines_occurrence o ON o.mention_key = m.key AND o.polarity = m.polarity
    JOIN timelines_caserun r ON r.inventory_id = o.inventory_id
    WHERE m.concept_id = ANY(%(concepts)s) AND m.kind = 'mention' AND m.state = 'accepted'
        AND r.run_id = ANY(%(runs)s) AND NOT r.encounter_id = ANY(%(closed)s)
    GROUP BY m.concept_id
"""
_SENTENCES = """
    SELECT member, encounter_id, uid4, mention, "start", "end", note_id FROM (
        SELECT m.id AS member, r.encounter_id, o.uid4, o.mention, o."start", o."end", i.note_id,
            row_number() OVER (PARTITION BY m.id ORDER BY r.encounter_id, o.ordinal) AS place
        FROM cohorts_conceptmember m
        JOIN timelines_occurrence o ON o.mention_key = m.key AND o.polarity = m.polarity
        JOIN timelines_caserun r ON r.inventory_id = o.inventory_id
        JOIN timelines_inventory i ON i.id = o.inventory_id
        WHERE m.id = ANY(%(members)s) AND m.kind = 'mention' AND r.run_id = ANY(%(runs)s)
            AND NOT r.encounter_id = ANY(%(closed)s)
    ) found WHERE place <= %(each)s ORDER BY member, place
"""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often something occurs, and in how many stays."""

    occurrences: int
    stays: int


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence with a marked mention, and the case that it is of."""

    case: str
    uid4: str
    hit: Hit

    @property
    def sentence(self) -> SafeString:
        return self.hit.sentence

    @property
    def text(self) -> str:
        """Return the sentence as it is in the note."""
        return "".join(piece for piece, _ in self.hit.pieces)


def count_members(
    study: Study, concepts: Collection[int], closed: Collection[int]
) -> dict[int, Counts]:
    """Return the counts of each member that occurs in an open case."""
    rows = _fetch(_COUNTS, study, concepts, closed)
    return {member: Counts(int(occurrences), stays) for member, occurrences, stays in rows}


def count_stays(study: Study, concepts: Collection[int], closed: Collection[int]) -> dict[int, int]:
    """Return the open stays in which accepted mentions of each concept occur."""
    return dict(_fetch(_STAYS, study, concepts, closed))


def find_hidden(concept: Concept, closed: Collection[int]) -> set[int]:
    """Return the members that a person with these closed cases may not see."""
    if not closed:
        return set()
    shown = count_members(concept.study, [concept.pk], closed)
    return set(concept.members.values_list("pk", flat=True)) - set(shown)


def show_members(
    concept: Concept, counts: Mapping[int, Counts], closed: Collection[int]
) -> QuerySet[ConceptMember]:
    """Return the members that a person may see.

    `counts` are those of open cases.
    """
    return concept.members.filter(pk__in=list(counts)) if closed else concept.members.all()


def load_quotes(
    study: Study, members: Sequence[ConceptMember], closed: Collection[int]
) -> dict[int, list[Quote]]:
    """Return up to `EACH` sentences of each mention."""
    values: dict[str, Any] = {
        "members": [member.pk for member in members],
        "runs": find_study_runs(study),
        "closed": list(closed),
        "each": EACH,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SENTENCES, values)
        rows = cursor.fetchall()
    notes = dict(Note.objects.filter(pk__in={row[6] for row in rows}).values_list("pk", "text"))
    cases = dict(
        Encounter.objects.filter(pk__in={row[1] for row in rows}).values_list("pk", "public_id")
    )
    found: dict[int, list[Quote]] = defaultdict(list)
    for member, encounter, uid4, mention, start, end, note in rows:
        hit = find_hit(notes.get(note, ""), mention, start, end)
        found[member].append(Quote(cases[encounter], uid4, hit))
    return found


def quote(note: str, mention: str, start: int | None, end: int | None) -> SafeString:
    """Return the sentence around a span, escaped, with the span marked."""
    return find_hit(note, mention, start, end).sentence


def find_hit(note: str, mention: str, start: int | None, end: int | None) -> Hit:
    """Return the sentence around a span, else the mention alone."""
    if start is None or end is None or end > len(note):
        return Hit(((mention, True),))
    (sentence,) = mark_sentences(note, [Match(start, end, 0)])
    return Hit(sentence.pieces, "", None, sentence.cut_before, sentence.cut_after)


def _fetch(
    query: str, study: Study, concepts: Collection[int], closed: Collection[int]
) -> list[Any]:
    values: dict[str, Any] = {
        "concepts": list(concepts),
        "runs": find_study_runs(study),
        "study": study.pk,
        "closed": list(closed),
    }
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchall()


def count_states(study: Study, closed: Collection[int]) -> dict[int, dict[str, int]]:
    """Return concept → state → number of members that a person may see."""
    members = ConceptMember.objects.filter(
        concept__study=study, concept__archived_at__isnull=True
    ).values_list("pk", "concept_id", "state")
    rows = list(members)
    shown = count_members(study, {row[1] for row in rows}, closed) if closed else None
    found: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pk, concept, state in rows:
        if shown is None or pk in shown:
            found[concept][state] += 1
    return found


def count_waiting(study: Study, closed: Collection[int]) -> dict[int, int]:
    """Return concept → number of members that wait for review."""
    states = count_states(study, closed)
    return {concept: counts.get("proposed", 0) for concept, counts in states.items()}
