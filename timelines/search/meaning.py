"""Search occurrences by meaning: the nearest mentions, compared exactly.

A worker embeds the searched words, because the web process loads no model. Vectors are read in the
order of their distance until enough open cases are found. So closed cases change nothing of what a
person finds; an approximate index could not promise that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import Q

from accounts.models import Study, User
from ehr.models import Encounter, Note
from ehr.record.clock import clock_of
from jobs.hints import send_hints
from jobs.leases.hold import Hold, write_guard
from jobs.models import JobState
from jobs.worker import work
from llm_runtime.calls.blocking import run_blocking
from timelines.cases.listing import title_line
from timelines.models import MeaningSearch, MentionVector
from timelines.runs.study_timeline.selection import find_study_runs
from timelines.runs.tools import roles
from timelines.search.marking import Match, mark_sentences
from timelines.search.placing import Placed, load_occurrences
from timelines.search.values import HITS_EACH, CaseHits, Hit

#: Cases that a search finds at most; mentions below the similarity are not alike.
MOST_CASES = 100
LEAST_SIMILAR = 0.35
_CHUNK = 400
_NEAREST = """
    SELECT v.key, 1 - (v.vector <=> s.vector) AS similarity
    FROM timelines_mentionvector v JOIN ehr_dataset d ON d.id = v.dataset_id, timelines_meaningsearch s
    WHERE s.id = %s AND d.study_id = s.study_id AND v.model = s.model
    ORDER BY similarity DESC, v.key LIMIT %s OFFSET %s
"""
_WHERE = """
    SELECT o.mention_key, r.encounter_id, o.uid4
    FROM timelines_occurrence o JOIN timelines_caserun r ON r.inventory_id = o.inventory_id
    WHERE o.mention_key = ANY(%s) AND r.run_id = ANY(%s) AND NOT r.encounter_id = ANY(%s)
"""


@dataclass(frozen=True, slots=True)
class FoundByMeaning:
    """Encounter → UIDs of its occurrences, most similar first."""

    uids: dict[int, list[str]]

    @property
    def encounters(self) -> list[int]:
        return list(self.uids)


@transaction.atomic
def start_meaning_search(*, study: Study, text: str, by: User) -> MeaningSearch:
    """Queue the embedding of what the person searches for.

    It replaces the person's last search.
    """
    MeaningSearch.objects.filter(person=by).delete()
    made = MeaningSearch.objects.create(study=study, person=by, text=text)
    send_hints(MeaningSearch, [made.pk])
    return made


def execute_meaning_search(search_id: int) -> JobState | None:
    """Embed the searched words if they wait; return the new state.

    None if there was nothing to do.
    """
    return work(MeaningSearch, search_id, _embed)


def _embed(search: MeaningSearch, hold: Hold) -> None:
    embedder = roles().embedder()
    (vector,) = run_blocking(embedder.embed_queries([search.text]))
    with write_guard(hold):
        MeaningSearch.objects.filter(pk=search.pk).update(
            vector=vector, model=embedder.name, text=""
        )


def has_vectors(search: MeaningSearch) -> bool:
    """Return whether a dataset of the study has vectors of this model."""
    return MentionVector.objects.filter(dataset__study=search.study_id, model=search.model).exists()


def find_by_meaning(search: MeaningSearch, closed: Collection[int]) -> FoundByMeaning:
    """Return the cases with the most similar mentions, nearest first."""
    runs, left_out = find_study_runs(search.study), list(closed)
    found: dict[int, list[str]] = defaultdict(list)
    seen: set[str] = set()
    at, more = 0, True
    while more and len(found) < MOST_CASES:
        with connection.cursor() as cursor:
            cursor.execute(_NEAREST, [search.pk, _CHUNK, at])
            nearest = [(key, s) for key, s in cursor.fetchall() if s >= LEAST_SIMILAR]
            keys = [key for key, _ in nearest if key not in seen]
            cursor.execute(_WHERE, [keys, runs, left_out])
            places = cursor.fetchall()
        order = {key: place for place, key in enumerate(dict.fromkeys(keys))}
        for _, encounter, uid4 in sorted(places, key=lambda p: (order[p[0]], *p[1:])):
            found[encounter].append(uid4)
        seen |= set(keys)
        at, more = at + _CHUNK, len(nearest) == _CHUNK
    return FoundByMeaning(dict(list(found.items())[:MOST_CASES]))


def load_hits(study: Study, encounters: Sequence[int], found: FoundByMeaning) -> list[CaseHits]:
    """Return the hits of these cases, in their order."""
    cases = {e.pk: e for e in Encounter.objects.filter(pk__in=encounters).select_related("dataset")}
    wanted = {uid for pk in encounters for uid in found.uids[pk][:HITS_EACH]}
    placed = load_occurrences(find_study_runs(study), encounters, Q(uid4__in=wanted))
    read = {o.note for several in placed.values() for o in several}
    notes = dict(Note.objects.filter(pk__in=read).values_list("pk", "text"))
    hits = []
    for pk in encounters:
        own = {o.uid4: o for o in placed.get(pk, ())}
        shown = [own[uid] for uid in found.uids[pk][:HITS_EACH] if uid in own]
        case = cases[pk]
        made = tuple(_make_hit(case, notes.get(o.note, ""), o) for o in shown)
        hits.append(CaseHits(case, title_line(case), made, len(found.uids[pk]) - len(made)))
    return hits


def _make_hit(encounter: Encounter, note: str, o: Placed) -> Hit:
    moment = clock_of(encounter).read(o.time)
    if o.start is None or o.end is None or o.end > len(note):
        return Hit(((o.mention, True),), o.uid4, moment)
    (sentence,) = mark_sentences(note, [Match(o.start, o.end, 0)])
    return Hit(sentence.pieces, o.uid4, moment, sentence.cut_before, sentence.cut_after)
