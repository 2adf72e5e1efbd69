"""Stage 1: every occurrence of the note as a span with exact offsets.

Protocol section 2. A tagger returns spans. One that rewrites the note with markup uses the
functions below `tag`: chunks of a long note, the tolerant parser that puts markup back onto the
clean note, and `render_tagged`, its inverse.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from timelines.domain import InvariantError, Inventory, Lane, NotePart, Polarity, TaggedSpan
from timelines.pipeline.backbone import Tagger
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.uids import unescape_mention

#: `<tag_3 mention="…">`, `<tag3 mention="…">`, `</tag_3>`, `</tag3>`, with padding anywhere inside
#: the brackets. `polarity="…"` and `kind="…"` may come before or after the mention.
_ATTRIBUTES = r"(?:(?:polarity|kind)\s*=\s*\"[^\"<>\\]{0,40}\"\s*)*"
_MARKUP = re.compile(
    r"<\s*(?P<close>/)?\s*tag[_ ]?(?P<number>\d{1,6})\s*(?(close)|"
    rf"(?P<before>{_ATTRIBUTES})"
    r"mention\s*=\s*\"(?P<mention>(?:\\.|[^\\]){0,2000}?)\"\s*"
    rf"(?P<after>{_ATTRIBUTES}))>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"(polarity|kind)\s*=\s*\"([^\"]*)\"")
_HEAD = re.compile(r"<\s*(?P<close>/)?\s*tag[_ ]?(?P<number>\d{1,6})")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class TaggingRejected(ValueError):
    """A tagging that breaks the protocol.

    `reasons` give offsets and numbers, never note text.
    """

    log_safe = True

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = tuple(reasons)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of the note, `[start, end)` in code points."""

    start: int
    end: int


def tag(
    tagger: Tagger, note: str, parts: Sequence[NotePart] = (), kind: str = ""
) -> tuple[TaggedSpan, ...]:
    """Return the tagger's spans without white space at their edges.

    In order of start, the longer first. Every part of a chart is tagged by itself, as the `kind`
    of note that it is; what is between parts has no events.

    Raises TaggingRejected for a span outside the note or without text, and for one span tagged
    twice with one mention.
    """
    if parts:
        return tuple(
            replace(span, start=span.start + part.start, end=span.end + part.start)
            for part in parts
            for span in tag(tagger, note[part.start : part.end], kind=part.kind)
        )
    reasons: list[str] = []
    spans: list[TaggedSpan] = []
    for span in tagger.tag(note, kind):
        if span.end > len(note):
            reasons.append(
                f"span [{span.start}, {span.end}) ends after the note, which has {len(note)}"
                " characters"
            )
        elif not note[span.start : span.end].strip():
            reasons.append(f"span [{span.start}, {span.end}) has no text")
        else:
            spans.append(trim_span(span, note))
    counts = Counter((s.start, s.end, s.mention) for s in spans)
    reasons += [
        f"span [{start}, {end}) is tagged {n} times with one mention"
        for (start, end, _), n in counts.items()
        if n > 1
    ]
    if reasons:
        raise TaggingRejected(reasons)
    return sort_spans(spans)


def trim_span(span: TaggedSpan, note: str) -> TaggedSpan:
    """Return the span without white space at its edges.

    Some text must remain.
    """
    text = note[span.start : span.end]
    start = span.start + len(text) - len(text.lstrip())
    return replace(span, start=start, end=span.end - (len(text) - len(text.rstrip())))


def sort_spans(spans: Sequence[TaggedSpan]) -> tuple[TaggedSpan, ...]:
    """Sort spans in inventory order: by start, then the longer first.

    Equal spans keep their order.
    """
    return tuple(sorted(spans, key=lambda s: (s.start, -s.end)))


def chunk_note(note: str, config: PipelineConfig) -> tuple[Chunk, ...]:
    """Cut a long note into chunks; a short one is a single chunk.

    Chunks do not overlap and together are the note. A chunk has at most `tag_chunk_lines` lines and
    `tag_chunk_characters` code points. It ends at a line break, inside an over-long line after
    white space, and only in a run without any between two characters (never before a combining
    mark).
    """
    lines = [m.end() for m in _LINE.finditer(note) if m.group()]
    if len(lines) <= config.tag_single_pass_lines and len(note) <= config.tag_chunk_characters:
        return (Chunk(0, len(note)),) if note else ()
    return tuple(_chunks(note, lines, config))


def _chunks(note: str, line_ends: Sequence[int], config: PipelineConfig) -> Iterator[Chunk]:
    start = end = lines = 0
    for line_end in line_ends:
        if lines == config.tag_chunk_lines or (
            lines and line_end - start > config.tag_chunk_characters
        ):
            yield Chunk(start, end)
            start, lines = end, 0
        while line_end - start > config.tag_chunk_characters:
            cut = _cut(note, start, start + config.tag_chunk_characters)
            yield Chunk(start, cut)
            start = cut
        end, lines = line_end, lines + 1
    if end > start:
        yield Chunk(start, end)


def _cut(note: str, start: int, limit: int) -> int:
    """Return where to cut an over-long line.

    After its last white space before `limit`, else before a character that can be cut alone.
    """
    for at in range(limit, start + 1, -1):
        if note[at - 1].isspace() and not (note[at - 1] == "\r" and note[at] == "\n"):
            return at
    for at in range(limit, start + 1, -1):
        if not unicodedata.combining(note[at]):
            return at
    return limit


@dataclass(slots=True)
class _Open:
    """A tag that was opened; `start` is set by the first character inside it."""

    number: int
    mention: str
    polarity: Polarity
    lane: Lane
    start: int | None = None


def parse_tagged(tagged: str, note: str) -> tuple[TaggedSpan, ...]:
    """Return the spans of a rewritten note, as offsets into `note`.

    Tags may nest and overlap. White space may differ, in the text and inside tags; every other
    character must be the note's. Text of the note that looks like markup is text. Raises
    TaggingRejected if the text differs, if a tag is not closed or not opened, if it encloses
    nothing or has no mention, and for a polarity or kind that does not exist.
    """
    return _Alignment(note).read(tagged)


class _Alignment:
    """One walk along the rewritten text and the note.

    `at` is the note's next character.
    """

    def __init__(self, note: str) -> None:
        self.note = note
        self.at = 0
        self.last = 0  # end of the last character that was not white space
        self.open: list[_Open] = []
        self.spans: list[TaggedSpan] = []

    def read(self, tagged: str) -> tuple[TaggedSpan, ...]:
        position = 0
        while position < len(tagged):
            markup = _MARKUP.match(tagged, position) if tagged[position] == "<" else None
            if markup and not self._is_text(markup):
                self._markup(markup)
                position = markup.end()
            else:
                self._character(tagged[position])
                position += 1
        if self._next() < len(self.note):
            raise TaggingRejected(
                [f"the note goes on at offset {self.at}, where the tagged text ends"]
            )
        if self.open:
            raise TaggingRejected([f"tag {tag.number} is not closed" for tag in self.open])
        return sort_spans(self.spans)

    def _next(self) -> int:
        while self.at < len(self.note) and self.note[self.at].isspace():
            self.at += 1
        return self.at

    def _is_text(self, markup: re.Match[str]) -> bool:
        """Return whether the note itself continues with a tag of that number."""
        head = _HEAD.match(self.note, self._next())
        return head is not None and (head["close"], int(head["number"])) == (
            markup["close"],
            int(markup["number"]),
        )

    def _character(self, character: str) -> None:
        if character.isspace():
            return
        at = self._next()
        if at == len(self.note) or self.note[at] != character:
            raise TaggingRejected([f"the tagged text differs from the note at offset {at}"])
        for tag in self.open:
            if tag.start is None:
                tag.start = at
        self.at = self.last = at + 1

    def _markup(self, markup: re.Match[str]) -> None:
        number = int(markup["number"])
        if not markup["close"]:
            mention = unescape_mention(markup["mention"]).strip()
            self.open.append(_Open(number, mention, *_read_attributes(markup)))
            return
        tag = next((t for t in reversed(self.open) if t.number == number), None)
        if tag is None:
            raise TaggingRejected([f"tag {number} is closed before offset {self.at}, but not open"])
        if tag.start is None:
            raise TaggingRejected([f"tag {number} before offset {self.at} encloses nothing"])
        self.open.remove(tag)
        try:
            self.spans.append(TaggedSpan(tag.start, self.last, tag.mention, tag.polarity, tag.lane))
        except InvariantError as error:
            raise TaggingRejected([f"tag {number}: {error}"]) from None


def _read_attributes(markup: re.Match[str]) -> tuple[Polarity, Lane]:
    """Return the polarity and the kind of an opening tag.

    The published form of a tag has neither: then it is a present finding.
    """
    pairs = _ATTRIBUTE.findall(f"{markup['before']} {markup['after']}")
    values = dict(pairs)
    number = markup["number"]
    if len(values) != len(pairs):
        raise TaggingRejected([f"tag {number}: an attribute occurs twice"])
    polarity, lane = values.get("polarity", Polarity.PRESENT), values.get("kind", Lane.FINDING)
    if polarity not in tuple(Polarity):
        raise TaggingRejected([f"tag {number}: polarity is none of {', '.join(Polarity)}"])
    if lane not in tuple(Lane):
        raise TaggingRejected([f"tag {number}: kind is none of {', '.join(Lane)}"])
    return Polarity(polarity), Lane(lane)


def render_tagged(note: str, inventory: Inventory) -> str:
    """Return the note with a tag around each located occurrence.

    The form is `<tag_n mention="…">…</tag_n>`; n counts in inventory order from 1.

    Numbers that the note's own text uses in something like a tag are skipped, so that
    `parse_tagged` returns exactly the inventory's spans (those without white space at their edges).
    """
    taken = {int(head["number"]) for head in _HEAD.finditer(note)}
    numbers = (n for n in count(1) if n not in taken)
    opening: dict[int, list[tuple[int, str]]] = {}
    closing: dict[int, list[tuple[int, str]]] = {}
    for o in inventory:
        if o.start is None or o.end is None:
            continue
        number = next(numbers)
        opening.setdefault(o.start, []).append((-o.end, f'<tag_{number} mention="{o.mention}">'))
        closing.setdefault(o.end, []).append((-o.start, f"</tag_{number}>"))
    pieces = []
    for at in range(len(note) + 1):
        pieces += [markup for _, markup in sorted(closing.get(at, ()), key=lambda m: m[0])]
        pieces += [markup for _, markup in sorted(opening.get(at, ()), key=lambda m: m[0])]
        pieces.append(note[at : at + 1])
    return "".join(pieces)
