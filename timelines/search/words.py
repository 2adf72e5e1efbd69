"""Search notes and occurrences by words, with full text search.

Closed cases are left out before anything is counted or ranked, so what a blinded reviewer finds
does not depend on them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from accounts.models import Study
from ehr.models import Encounter, Note, NotePart
from ehr.record.clock import clock_of
from timelines.cases.listing import title_line
from timelines.runs.study_timeline.selection import find_study_runs
from timelines.search.marking import Forms, find_matches, list_words, mark_sentences
from timelines.search.placing import Placed, load_occurrences
from timelines.search.terms import Term, TermKind
from timelines.search.values import HITS_EACH, CaseHits, Found, Hit

#: Notes that are ranked; a search with more matches asks for another word.
MOST_NOTES = 500
#: How each kind of term is written in a query of PostgreSQL.
_QUERIES = {
    TermKind.WORD: "(plainto_tsquery('english', %s) || plainto_tsquery('simple', %s))",
    TermKind.PHRASE: "phraseto_tsquery('simple', %s)",
    TermKind.PREFIX: "to_tsquery('simple', %s)",
}
_OCCURRENCES = """
    SELECT r.encounter_id, count(*), max(1.0 / length(o.mention))
    FROM timelines_occurrence o JOIN timelines_caserun r ON r.inventory_id = o.inventory_id
    WHERE o.words @@ {query} AND r.run_id = ANY(%s) AND NOT r.encounter_id = ANY(%s)
    GROUP BY r.encounter_id
"""
_NOTES = """
    SELECT found.encounter_id, ts_rank(n.words, {query})
    FROM (
        SELECT n.id, n.encounter_id FROM ehr_note n
        JOIN ehr_encounter e ON e.id = n.encounter_id JOIN ehr_dataset d ON d.id = e.dataset_id
        WHERE n.words @@ {query} AND NOT n.composed AND d.study_id = %s AND NOT e.id = ANY(%s)
        ORDER BY n.id LIMIT %s
    ) found JOIN ehr_note n ON n.id = found.id
"""


def find_by_words(study: Study, terms: Sequence[Term], closed: Collection[int]) -> Found:
    """Return the cases whose note or occurrences have all terms, best first.

    Cases with matching occurrences lead: those with the shortest mention, which says little else.
    """
    if not terms:
        return Found(())
    query, values = write_query(terms)
    runs, left_out = find_study_runs(study), list(closed)
    ranks: dict[int, tuple[float, float, float]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_OCCURRENCES.format(query=query), [*values, runs, left_out])
        for encounter, count, rank in cursor.fetchall():
            ranks[encounter] = (float(rank), count, 0.0)
        cursor.execute(
            _NOTES.format(query=query), [*values, *values, study.pk, left_out, MOST_NOTES + 1]
        )
        notes = cursor.fetchall()
    for encounter, rank in notes[:MOST_NOTES]:
        best, count, before = ranks.get(encounter, (0.0, 0, 0.0))
        ranks[encounter] = (best, count, max(before, rank))
    order = sorted(ranks, key=lambda pk: (*(-value for value in ranks[pk]), pk))
    return Found(order, capped=len(notes) > MOST_NOTES)


def load_hits(study: Study, encounters: Sequence[int], terms: Sequence[Term]) -> list[CaseHits]:
    """Return the hits of these cases, in their order."""
    cases = {e.pk: e for e in Encounter.objects.filter(pk__in=encounters).select_related("dataset")}
    occurrences = load_occurrences(find_study_runs(study), encounters)
    notes = _load_notes(encounters, {o.note for several in occurrences.values() for o in several})
    mentions = (o.mention for several in occurrences.values() for o in several)
    forms = _find_forms(terms, (*(note.text for note in notes), *mentions))
    found = []
    for pk in encounters:
        own = [note for note in notes if note.encounter_id == pk]
        hits = _find_hits(cases[pk], own, occurrences.get(pk, []), terms, forms)
        found.append(
            CaseHits(
                cases[pk], title_line(cases[pk]), tuple(hits[:HITS_EACH]), len(hits[HITS_EACH:])
            )
        )
    return found


def _load_notes(encounters: Sequence[int], read: Collection[int]) -> list[Note]:
    """Return the notes of these cases, a chart instead of what it has.

    `read` are the notes and charts that occurrences are in.
    """
    in_chart = Exists(NotePart.objects.filter(note=OuterRef("pk"), chart__in=read))
    notes = Note.objects.filter(encounter__in=encounters).order_by("encounter_id", "pk")
    return list(notes.filter(Q(composed=True, pk__in=read) | Q(composed=False) & ~in_chart))


def write_query(terms: Sequence[Term]) -> tuple[str, list[str]]:
    """Return a query that all terms must meet, and its values."""
    values: list[str] = []
    for term in terms:
        given = f"{term.tokens[0]}:*" if term.kind is TermKind.PREFIX else term.text
        values += [given] * _QUERIES[term.kind].count("%s")
    return f"({' && '.join(_QUERIES[term.kind] for term in terms)})", values


def _find_forms(terms: Sequence[Term], texts: Sequence[str]) -> Forms:
    """Return the words of the texts that are forms of each term.

    PostgreSQL decides.
    """
    words = sorted(set().union(*(list_words(text, terms) for text in texts)))
    forms: dict[Term, set[str]] = {}
    with connection.cursor() as cursor:
        for term in terms if words else ():
            if term.kind is TermKind.WORD:
                cursor.execute(
                    "SELECT w FROM unnest(%s::text[]) w WHERE left(w, 1) = left(%s, 1)"
                    " AND to_tsvector('english', w) @@ plainto_tsquery('english', %s)",
                    [words, term.tokens[0], term.text],
                )
                forms[term] = {word for (word,) in cursor.fetchall()}
    return forms


def _find_hits(
    encounter: Encounter,
    notes: Sequence[Note],
    occurrences: Sequence[Placed],
    terms: Sequence[Term],
    forms: Forms,
) -> list[Hit]:
    """Return the sentences of a case, then mentions without one."""
    clock = clock_of(encounter)
    found, shown = [], set()
    for note in notes:
        matches = find_matches(note.text, terms, forms)
        for sentence in mark_sentences(note.text, matches):
            places = [m for m in matches if sentence.start <= m.start < sentence.end]
            inside = [
                o
                for o in occurrences
                if o.note == note.pk
                and o.start is not None
                and o.end is not None
                and any(o.start < m.end and m.start < o.end for m in places)
            ]
            shown |= {o.uid4 for o in inside}
            first = inside[0] if inside else None
            found.append(
                (
                    sentence.terms,
                    Hit(
                        sentence.pieces,
                        first.uid4 if first else "",
                        clock.read(first.time) if first else None,
                        sentence.cut_before,
                        sentence.cut_after,
                    ),
                )
            )
    for o in occurrences:
        if o.uid4 in shown or not (matches := find_matches(o.mention, terms, forms)):
            continue
        if len({m.term for m in matches}) == len(terms):
            (sentence, *_) = mark_sentences(o.mention, matches)
            found.append((sentence.terms, Hit(sentence.pieces, o.uid4, clock.read(o.time))))
    found.sort(key=lambda each: (-each[0], not each[1].uid4))
    return [hit for _, hit in found]
