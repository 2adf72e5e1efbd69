"""Stage 4 of the rules backbone: query each occurrence in record words.

"Pressors weaned off" asks for norepinephrine, vasopressin and phenylephrine; "hct 28.9" asks for
the laboratory's hematocrit and the charted copy, with the value. Only the note is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from timelines.backbones.rules.querying.courses import CONTINUOUS, LASTING
from timelines.backbones.rules.querying.reading import Act, Reading, read_note
from timelines.backbones.rules.querying.vocabulary import (
    Concept,
    EventName,
    Kind,
    event_name,
    vocabulary,
)
from timelines.domain import TaggedNote
from timelines.pipeline.backbone import Check, never_stop

MAX_QUERIES = 3
_WORD = re.compile(r"[a-z]+")
_PART = re.compile(r"[a-z0-9+&%]+")
#: Fluid given before the unit is charted as one intake row on arrival.
_IN_SURGERY = re.compile(
    r"\b(?:operating room|in the OR|intra-?operative(?:ly)?|during (?:the"
    r" )?(?:surgery|operation))\b",
    re.I,
)
_BEFORE_ARRIVAL = re.compile(
    r"\b(?:outside hospital|OSH|ED|emergency|ambulance|EMS|en route|in the field|before"
    r" arrival|prior to arrival|pre-?hospital)\b",
    re.I,
)
#: Words that count back from the arrival, which the record may date.
_FROM_ARRIVAL = re.compile(
    r"\b(?:before|prior to) (?:the |this |his |her )?(?:arrival|arriving|presentation|presenting|coming)\b",
    re.I,
)


@dataclass(frozen=True)
class RuleQueryWriter:
    """The query writer of the rules backbone.

    Deterministic; microseconds an occurrence after the note is parsed.
    """

    check: Check = never_stop

    def write(self, note: TaggedNote, names: Sequence[str] = ()) -> Mapping[str, list[str]]:
        """Return 1–3 queries per UID, in order of importance.

        An occurrence without a known concept is searched by its mention. A query that asks for a
        series of the stay has its name.
        """
        series = [event_name(name) for name in names]
        return {
            uid: write_queries(reading, series)
            for uid, reading in read_note(note, self.check).items()
        }


def write_queries(reading: Reading, series: Sequence[EventName] = ()) -> list[str]:
    """Return the queries of one occurrence.

    They come from its concepts, its act and the values it states; `series` are those of the stay.
    """
    concepts = [hit.concept for hit in reading.subjects[:2]]
    if (
        concepts
        and reading.act is Act.END
        and concepts[0].name in CONTINUOUS
        and concepts[0].kind is Kind.DRUG
    ):
        # Rate changes and bags end in many rows; other queries would take the places
        # of the last of them.
        return _use_names(_write_drug(concepts[0], reading.act), concepts[0], reading, series)[:1]
    if reading.carrier is not None:
        concepts.insert(1 if reading.implied else 0, reading.carrier)
    queries: list[str] = []
    for concept in concepts:
        queries += _use_names(_write_concept(concept, reading), concept, reading, series)
    if reading.topics:
        asked = [
            _use_names(_write_concept(topic, reading), topic, reading, series)[:1]
            for topic in reading.topics
            if topic not in concepts
        ]
        own = 2 if set(concepts) & set(reading.topics) else 1
        queries = [*queries[:own], *(query for found in asked for query in found)]
    if concepts and _BEFORE_ARRIVAL.search(reading.text) and _is_fluid(concepts[0]):
        queries.insert(1, "med pre-admission/non-icu intake start")
    elif concepts and _IN_SURGERY.search(reading.text) and _is_fluid(concepts[0]):
        queries.insert(0, "med or crystalloid intake start")
    if _FROM_ARRIVAL.search(reading.text):
        arrival = vocabulary().by_name["emergency arrival"]
        queries = _use_names(arrival.queries[:1], arrival, reading, series)[:1] + queries
    # The mention itself comes last: it may match terms that are missing from the vocabulary.
    return list(dict.fromkeys([*queries[:MAX_QUERIES], reading.occurrence.mention]))[:MAX_QUERIES]


def _use_names(
    queries: Sequence[str], concept: Concept, reading: Reading, series: Sequence[EventName]
) -> list[str]:
    """Replace each query by the name of the series that it asks for.

    A query stays if the stay has no such series. Other series of the concept follow.
    """
    left = [
        name
        for name in series
        if concept.matches(name) and _records_act(name, concept, reading.act)
    ]
    if not left:
        return list(queries)
    named = []
    for query in queries:
        words = set(_PART.findall(query.lower()))
        best = max(left, key=lambda n: (_overlap(words, n), n.text), default=None)
        if best is not None and best.category in words:
            left.remove(best)
            named.append(_ask_for(best))
    return [*named, *map(_ask_for, left)]


def _ask_for(series: EventName) -> str:
    """Return how the summary of a series begins."""
    return f"{' '.join(series.text.replace(':', ' ').split())} count"


def _overlap(words: set[str], name: EventName) -> float:
    own = {name.category, *name.words}
    return len(words & own) / len(words | own)


def _records_act(name: EventName, concept: Concept, act: Act) -> bool:
    """Return whether a series records the begin or the end that is meant."""
    lasts = concept.name in LASTING and concept.name != "extubation"
    if not lasts and concept.kind not in (Kind.DRUG, Kind.DRUG_CLASS):
        return True
    return name.act not in (("start", "in") if act is Act.END else ("end", "stop", "out"))


def _write_concept(concept: Concept, reading: Reading) -> list[str]:
    if concept.kind is Kind.DRUG:
        return _write_drug(concept, reading.act)
    if concept.kind is Kind.DRUG_CLASS:
        return [
            _write_drug(vocabulary().by_name[member], reading.act)[0]
            for member in concept.members[:MAX_QUERIES]
        ]
    queries = _nearest_first(concept.queries, reading.text)
    if concept.kind is Kind.MEASUREMENT:
        return [f"{query}{_format_values(reading)}" for query in queries]
    act = reading.act if concept.name in LASTING else Act.BEGIN
    return [_write_procedure(query, act) for query in queries]


def _write_drug(concept: Concept, act: Act) -> list[str]:
    administered_as, ordered_as = concept.queries
    administered = f"med {administered_as} {'end' if act is Act.END else 'start'}"
    ordered = f"order {ordered_as} {'stop' if act is Act.END else 'start'}"
    return [ordered, administered] if act is Act.ORDER else [administered, ordered]


def _write_procedure(query: str, act: Act) -> str:
    if not query.startswith("procedure") or query.endswith((" end", " start")):
        return query
    return f"{query} {'end' if act is Act.END else 'start'}"


def _nearest_first(queries: tuple[str, ...], text: str) -> list[str]:
    """Order queries by the number of words shared with the occurrence.

    Example: "oriented to place".
    """
    own = set(_WORD.findall(text.lower()))
    return sorted(queries, key=lambda q: -len(own & set(_WORD.findall(q.lower()))))


def _is_fluid(concept: Concept) -> bool:
    fluids = vocabulary().by_name["fluid bolus"]
    return concept is fluids or concept.name in fluids.members


def _format_values(reading: Reading) -> str:
    return "".join(f" {value:g}" for value in sorted(reading.values)[:3])
