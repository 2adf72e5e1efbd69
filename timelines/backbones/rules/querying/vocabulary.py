"""The clinical vocabulary: words of notes and names in records.

It is read from the tables in `data/`. The query writer builds queries with it, and the reviser
decides with the same entries whether a row is about the occurrence at all, so both use the same
concepts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files

_WORD = re.compile(r"[A-Za-z0-9+&%]+")
#: Characters allowed between the words of one term; a comma or a bracket ends it.
_GLUE = re.compile(r"[ \t\-./'’#]{0,3}")
_BRITISH = re.compile(
    r"haem(?!ophilus)|aemia|aemic|oedem|oesoph|oestr|faec|paed|foet|gynae|orrhoe|anaes|caes(?=ar)"
)
_MAX_TERM_WORDS = 6
MEDICATION_CATEGORIES = ("med", "order")
#: Categories of an event name that the tables know by another one: FHIR and OMOP name vital signs.
_SAME_CATEGORY = {"vital": "chart"}


class Kind(StrEnum):
    MEASUREMENT = "measurement"
    PROCEDURE = "procedure"
    DRUG = "drug"
    DRUG_CLASS = "drug class"


@dataclass(frozen=True, slots=True)
class EventName:
    """The parts of an event name: category, words, act.

    `words` are in order; `act` is the last part (start, end, stop, …).
    """

    text: str
    category: str
    words: tuple[str, ...]
    act: str


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern for event names of one category.

    Names match if they contain all of `words` and none of `exclude_closed`.
    """

    category: str
    words: tuple[str, ...]
    without: frozenset[str]
    in_sequence: bool = False

    def matches(self, event: EventName) -> bool:
        if self.category != event.category or self.without & set(event.words):
            return False
        if self.in_sequence:
            return _has_sequence(event.words, self.words)
        return set(self.words) <= set(event.words)


@dataclass(frozen=True, slots=True)
class Concept:
    """One entry of the vocabulary.

    `queries` name it as records do; `members` are the drugs of a class.
    """

    name: str
    kind: Kind
    patterns: tuple[Pattern, ...]
    queries: tuple[str, ...] = ()
    members: tuple[str, ...] = ()

    def matches(self, event: EventName) -> bool:
        return any(pattern.matches(event) for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Hit:
    """A concept at `[start, end)` of a text.

    `implied`: a condition was named, not the measurement itself.
    """

    concept: Concept
    start: int
    end: int
    implied: bool = False


def _spell(word: str) -> str:
    """Return an American spelling, which the tables have."""
    return _BRITISH.sub(lambda m: m.group().replace("ae", "e").replace("oe", "e"), word)


@lru_cache(maxsize=20_000)
def event_name(text: str) -> EventName:
    """Split an event name into category, words and act.

    ``med:nacl 0.9%:start`` gives category med, words (nacl, 0, 9%, start), act start.
    """
    words = tuple(_spell(w.lower()) for w in _WORD.findall(text))
    parts = text.split(":")
    act = parts[-1].strip().lower() if len(parts) > 2 else ""
    category = words[0] if words else ""
    return EventName(text, _SAME_CATEGORY.get(category, category), words[1:], act)


class Vocabulary:
    """All concepts; a text is searched for their longest terms."""

    def __init__(self, concepts: Sequence[tuple[Concept, Sequence[str]]]) -> None:
        self.by_name = {concept.name: concept for concept, _ in concepts}
        self._folded: dict[tuple[str, ...], tuple[Concept, bool]] = {}
        self._exact: dict[tuple[str, ...], Concept] = {}
        for concept, terms in concepts:
            for term in terms:
                self._add(concept, term)

    def find(self, text: str) -> tuple[Hit, ...]:
        """Hits in order, none overlapping; at each place the longest term wins."""
        words = list(_WORD.finditer(text))
        hits: list[Hit] = []
        i = 0
        while i < len(words):
            found = self._longest(text, words, i)
            if found is None:
                i += 1
                continue
            length, concept, implied = found
            hits.append(Hit(concept, words[i].start(), words[i + length - 1].end(), implied))
            i += length
        return tuple(hits)

    def _longest(
        self, text: str, words: list[re.Match[str]], i: int
    ) -> tuple[int, Concept, bool] | None:
        run = 1
        while (
            run < _MAX_TERM_WORDS
            and i + run < len(words)
            and _GLUE.fullmatch(text, words[i + run - 1].end(), words[i + run].start())
        ):
            run += 1
        for length in range(run, 0, -1):
            exact = tuple(w.group() for w in words[i : i + length])
            if exact in self._exact:
                return length, self._exact[exact], False
            folded = tuple(w.lower() for w in exact)
            hit = self._folded.get(folded) or self._folded.get(
                (*folded[:-1], folded[-1].removesuffix("s"))
            )
            if hit:
                return length, *hit
        return None

    def _add(self, concept: Concept, term: str) -> None:
        if term.startswith("="):
            self._exact.setdefault(tuple(_WORD.findall(term[1:])), concept)
            return
        implied = term.startswith("~")
        words = tuple(w.lower() for w in _WORD.findall(term))
        if words:
            self._folded.setdefault(words, (concept, implied))


@lru_cache(maxsize=1)
def vocabulary() -> Vocabulary:
    """Return the vocabulary of the tables, read once.

    Drugs come first: "calcium gluconate" is not a calcium level.
    """
    return Vocabulary(
        [
            *_drugs(),
            *_classes(),
            *_read_concepts("measurements.psv", Kind.MEASUREMENT),
            *_read_concepts("procedures.psv", Kind.PROCEDURE),
        ]
    )


@lru_cache(maxsize=1)
def list_drug_classes() -> dict[str, tuple[str, ...]]:
    """Return how notes name each class of drugs and its drugs.

    Abbreviations that count only as capitals are left out, as are words that only imply the class.
    """
    drugs = {name: [name, *_list(terms)] for name, terms, *_ in _rows("drugs.psv", 4)}
    found = {name: [name, *_list(terms)] for name, terms, _ in _rows("classes.psv", 3)}
    members = {name: _list(cell) for name, _, cell in _rows("classes.psv", 3)}
    for drug, _, classes, _ in _rows("drugs.psv", 4):
        for name in _list(classes):
            members.setdefault(name, []).append(drug)
    for name, of_class in members.items():
        words = found.setdefault(name, [name])
        words += [word for drug in of_class for word in drugs.get(drug, [drug])]
    return {
        name: tuple(dict.fromkeys(word for word in words if word[0] not in "=~"))
        for name, words in sorted(found.items())
    }


def _read_concepts(table: str, kind: Kind) -> Iterator[tuple[Concept, list[str]]]:
    for name, terms, patterns, queries in _rows(table, 4):
        concept = Concept(
            name, kind, tuple(_pattern(p) for p in _list(patterns)), tuple(_list(queries))
        )
        yield concept, _list(terms)


def _drugs() -> Iterator[tuple[Concept, list[str]]]:
    for name, terms, _, words in _rows("drugs.psv", 4):
        alternatives = [
            tuple(w.lower() for w in _WORD.findall(a)) for a in (_list(words) or [name])
        ]
        patterns = tuple(
            Pattern(c, a, frozenset(), in_sequence=True)
            for c in MEDICATION_CATEGORIES
            for a in alternatives
        )
        asked = ((_list(words) or [name])[0], name)
        yield Concept(name, Kind.DRUG, patterns, queries=asked), [name, *_list(terms)]


def _classes() -> Iterator[tuple[Concept, list[str]]]:
    drugs = {concept.name: concept for concept, _ in _drugs()}
    for name, terms, members in _rows("classes.psv", 3):
        in_class = [n for n, _, classes, _ in _rows("drugs.psv", 4) if name in _list(classes)]
        everyone = list(dict.fromkeys([*_list(members), *in_class]))
        patterns = tuple(p for m in everyone for p in drugs[m].patterns)
        yield Concept(name, Kind.DRUG_CLASS, patterns, members=tuple(everyone)), _list(terms)


def _pattern(text: str) -> Pattern:
    words = [w.lower() for w in re.findall(r"![A-Za-z0-9+&%]+|[A-Za-z0-9+&%]+", text)]
    return Pattern(
        words[0],
        tuple(w for w in words[1:] if w[0] != "!"),
        frozenset(w[1:] for w in words[1:] if w[0] == "!"),
    )


def _rows(table: str, columns: int) -> Iterator[list[str]]:
    lines = files(__package__).joinpath("data", table).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if line and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) != columns:
                raise ValueError(
                    f"{table}, line {number}: {len(cells)} columns, expected {columns}"
                )
            yield cells


def _list(cell: str) -> list[str]:
    return [item.strip() for item in cell.split(";") if item.strip()]


def _has_sequence(words: tuple[str, ...], sequence: tuple[str, ...]) -> bool:
    width = len(sequence)
    return any(words[i : i + width] == sequence for i in range(len(words) - width + 1))
