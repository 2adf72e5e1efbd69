"""The text analysis that all stages of the rules backbone share.

It covers parse, sections, sentences and lines. `analyse` is cached by note text, so tagging and
timing one note parse it once. All offsets are code points of the note exactly as it is stored,
end-exclusive.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from llm_runtime.model_files import SPACY_ENGLISH
from timelines.backbones.rules.sections.headings import Section
from timelines.backbones.rules.sections.notes import View, find_view, read_sections_of
from timelines.backbones.rules.sentences import sentence_spans, unwrap_lines
from timelines.backbones.rules.tables import Row, find_rows
from timelines.pipeline.backbone import Check, never_stop

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token

#: Sentences are parsed in groups of about this many characters, so that memory does not grow with
#: the note.
_PARSE_CHUNK = 20_000


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or list item, `[start, end)` in code points.

    `line` counts from 0.
    """

    start: int
    end: int
    line: int


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the note without its line break."""

    start: int
    end: int


@dataclass(frozen=True)
class Analysis:
    """Everything known about a note's text before an occurrence is looked for.

    `text` has a space for each line break that only keeps lines short. Offsets are the note's.
    `doc` is one spaCy Doc over the whole note (`doc.text == text`, so `token.idx` is an offset of
    the note); its sentence boundaries are those of `sentences`. Sections partition the note.
    """

    text: str
    doc: Doc = field(repr=False, compare=False)
    sections: tuple[Section, ...]
    sentences: tuple[Sentence, ...]
    lines: tuple[Line, ...]

    def section_at(self, offset: int) -> Section:
        """Return the section at `offset`.

        An empty note has one empty section of kind ``other``.
        """
        if not self.sections:
            return Section("other", "", 0, 0, 0)
        return self.sections[max(0, bisect_right(self._section_starts, offset) - 1)]

    def sentence_at(self, offset: int) -> Sentence | None:
        """Return the sentence at `offset`, else the last one before it.

        None before the first.
        """
        index = bisect_right(self._sentence_starts, offset) - 1
        return self.sentences[index] if index >= 0 else None

    def sentences_in(self, start: int, end: int) -> list[Sentence]:
        """Sentences that begin inside `[start, end)`."""
        return list(
            self.sentences[
                bisect_left(self._sentence_starts, start) : bisect_left(self._sentence_starts, end)
            ]
        )

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The lines of tables whose values carry a date."""
        return find_rows(self.text)

    def row_at(self, offset: int) -> Row | None:
        """Return the line of a table at `offset`, if there is one."""
        index = bisect_right(self._row_starts, offset) - 1
        row = self.rows[index] if index >= 0 else None
        return row if row is not None and offset < row.end else None

    def tokens(self, start: int, end: int) -> list[Token]:
        """Return tokens that begin inside `[start, end)`, without white space."""
        first, last = (
            bisect_left(self._token_starts, start),
            bisect_left(self._token_starts, end),
        )
        return [t for t in self.doc[first:last] if not t.is_space]

    @cached_property
    def _section_starts(self) -> list[int]:
        return [s.start for s in self.sections]

    @cached_property
    def _row_starts(self) -> list[int]:
        return [row.start for row in self.rows]

    @cached_property
    def _sentence_starts(self) -> list[int]:
        return [s.start for s in self.sentences]

    @cached_property
    def _token_starts(self) -> list[int]:
        return [t.idx for t in self.doc]


def analyse(text: str, check: Check = never_stop, kind: str = "") -> Analysis:
    """Parse a note and find its sections, sentences and lines.

    `kind` is that of the note. Accepts any string, also an empty one. Raises what `check` raises.
    """
    return _analyse(_Request(text, find_view(kind), check))


@dataclass(frozen=True)
class _Request:
    """A text to analyse, with the check that may interrupt the analysis.

    The check takes no part in equality: it does not change the result.
    """

    text: str
    view: View
    check: Check = field(compare=False)


@lru_cache(maxsize=16)
def _analyse(asked: _Request) -> Analysis:
    text = unwrap_lines(asked.text)
    sections = read_sections_of(text, asked.view)
    spans = sentence_spans(text, [s.start for s in sections], [s.body_start for s in sections])
    lines = _lines(text)
    starts = [line.start for line in lines]
    sentences = tuple(Sentence(a, b, max(0, bisect_right(starts, a) - 1)) for a, b in spans)
    return Analysis(
        text, _parse(text, [s.start for s in sentences], asked.check), sections, sentences, lines
    )


def _lines(text: str) -> tuple[Line, ...]:
    lines, start = [], 0
    for piece in text.replace("\r\n", " \n").replace("\r", "\n").split("\n"):
        end = start + len(piece)
        lines.append(Line(start, end - 1 if text[end - 1 : end] == "\r" else end))
        start = end + 1
    return tuple(line for line in lines if line.end > line.start)


def _parse(text: str, sentence_starts: list[int], check: Check) -> Doc:
    from spacy.tokens import Doc

    nlp = language()
    if not text:
        return Doc(nlp.vocab)
    pieces = []
    for start, end in _chunks(text, sentence_starts):
        check()
        plain = nlp.make_doc(text[start:end])
        inside = {
            a - start
            for a in sentence_starts[
                bisect_left(sentence_starts, start) : bisect_left(sentence_starts, end)
            ]
        }
        starts: list[bool | int | None] = [t.i == 0 or t.idx in inside for t in plain]
        pieces.append(
            Doc(
                nlp.vocab,
                [t.text for t in plain],
                [bool(t.whitespace_) for t in plain],
                sent_starts=starts,
            )
        )
    parsed = []
    for piece in nlp.pipe(pieces, batch_size=1):
        check()
        parsed.append(piece)
    return parsed[0] if len(parsed) == 1 else Doc.from_docs(parsed, ensure_whitespace=False)


def _chunks(text: str, sentence_starts: list[int]) -> list[tuple[int, int]]:
    """Split the text before sentences, about every `_PARSE_CHUNK` characters.

    A sentence that begins inside a word (a run without white space was cut) always begins a chunk:
    the tokeniser's time grows with the square of such a run.
    """
    edges = [0]
    for start in sentence_starts:
        inside_word = start > 0 and not text[start - 1].isspace()
        if start > edges[-1] and (inside_word or start - edges[-1] >= _PARSE_CHUNK):
            edges.append(start)
    return list(itertools.pairwise([*edges, len(text)]))


@lru_cache(maxsize=1)
def language() -> Language:
    """The English pipeline (tagger, parser, lemmas), loaded once per process."""
    import spacy

    nlp = spacy.load(SPACY_ENGLISH.find(), exclude=["ner"])
    nlp.max_length = 10_000_000
    return nlp
