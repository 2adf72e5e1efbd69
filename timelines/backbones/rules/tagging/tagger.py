"""The rules tagger: stage 1 without a language model (protocol)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from timelines.backbones.rules.sections.literature import LITERATURE
from timelines.backbones.rules.tagging.chunks import Chunk, Clause, has_verb, read_clause
from timelines.backbones.rules.tagging.demographics import demographic_spans, heading_sex
from timelines.backbones.rules.tagging.lanes import find_lane
from timelines.backbones.rules.tagging.mentions import Thread, build_mention, remember
from timelines.backbones.rules.tagging.polarity import (
    continues_negation,
    find_polarity,
    is_planned,
    reaching_negation,
)
from timelines.backbones.rules.tagging.selection import (
    is_administrative,
    is_advice,
    is_lead_in,
    is_occurrence,
    is_of_others,
    letter_body,
)
from timelines.backbones.rules.tagging.spans import (
    absorb_parentheses,
    leading_time,
    opens_line,
    share_predicates,
    trim,
)
from timelines.backbones.rules.tagging.splitting import split
from timelines.backbones.rules.text import Analysis, Section, Sentence, analyse
from timelines.domain import Lane, Polarity, TaggedSpan
from timelines.pipeline.backbone import Check, never_stop

#: Sections whose age and sex may be another person's.
_OF_OTHERS = frozenset({"family", "social", "social_family", LITERATURE})
#: Sections whose numbers count plans.
_PLANS = frozenset({"followup", "instructions", "transitional"})
#: Characters at the beginning of a note that may be its head.
_HEAD = 1000
_HEAD_MOVE = re.compile(
    r"(?:^|(?<=\s\s)|(?<=\.\s))(?:ed |hospital )?(?:registered|arrived|arrival|admit(?:ted)?|admission|adm|in|"
    r"discharged?|disch|d/c|departed|out)(?:[ ./]?(?:date|time|on))*[ .]*:?[ ]{0,3}"
    # The year after the name of a month is no clock time.
    r"(?:\d{1,4}[-/]\d{1,2}(?:[-/]\d{1,4})?|(?>\d{1,2}[- ][a-z]{3,9}(?:[- ]\d{2,4})?)|[a-z]{3,9} \d{1,2}(?:, \d{4})?)"
    r"(?:, (?:arrived )?(?:ed )?| at | )(?:\d{1,2}:\d\d|[012]\d[0-5]\d)\b"
    r"(?:(?!\s\s|\.\s|\.$|\s?(?:→|->|;|\||\s/\s))[^\n])*",
    re.IGNORECASE | re.MULTILINE,
)
#: The heading of a problem without a number: "# Sepsis".
_PROBLEM = re.compile(r"\s*#+(?!\s?\d)")
#: A numbered title of at most five words.
_NUMBERED = re.compile(r"[ \t]*#?\d{1,2}[.)] [^\W\d]\S*(?: [^\W\d]\S*){0,4}\.")


@dataclass(frozen=True)
class RuleTagger:
    """Tag every event occurrence.

    Clinical vocabulary and the structure of clauses and lists decide.
    """

    check: Check = never_stop

    def tag(self, note: str, kind: str = "") -> list[TaggedSpan]:
        """Return occurrences in order of start; deterministic.

        Offsets are code points of `note`. Any string is accepted. `kind` is that of the note.
        """
        analysis = analyse(note, self.check, kind)
        spans = _demographics(analysis)
        thread, section = Thread(), None
        head = _moves_of_head(analysis.text)
        spans.extend(head)
        spans.extend(_tag_rows(analysis))
        for sentence in _of_body(analysis):
            self.check()
            if analysis.row_at(sentence.start) is not None:
                continue
            if (current := analysis.section_at(sentence.start)) is not section:
                section, thread = current, Thread()
            found = _tag_sentence(analysis, current, sentence, thread)
            spans.extend(
                s for s in found if not any(s.start < t.end for t in head if s.end > t.start)
            )
        return sorted(spans, key=lambda s: (s.start, -s.end))


def _moves_of_head(text: str) -> list[TaggedSpan]:
    """Return arrivals and departures of the head that have a clock time.

    Example: "ADMITTED: 3 May 2180 14:05".
    """
    return [
        TaggedSpan(m.start(), m.end(), " ".join(m.group().split()), lane=Lane.TRANSFER)
        for m in _HEAD_MOVE.finditer(text, 0, _HEAD)
    ]


def _of_body(analysis: Analysis) -> Iterator[Sentence]:
    """Yield the sentences of the note; of a letter those of its body."""
    first, last = letter_body(analysis.text)
    for sentence in analysis.sentences:
        if sentence.end > first and sentence.start < last:
            yield replace(sentence, start=max(first, sentence.start), end=min(last, sentence.end))


def _tag_rows(analysis: Analysis) -> list[TaggedSpan]:
    """Return the entries of tables, each with its value and its date."""
    spans = []
    for item in (item for row in analysis.rows for item in row.items):
        kind = analysis.section_at(item.start).kind
        if kind in {"header", LITERATURE}:
            continue
        clause = read_clause(analysis, item.start, item.end)
        lane = find_lane(clause, Chunk(0, len(clause.tokens)), kind, None)
        spans.append(
            TaggedSpan(item.start, item.end, item.mention, find_polarity(item.mention), lane)
        )
    return spans


def _demographics(analysis: Analysis) -> list[TaggedSpan]:
    """Return age and sex of the person.

    They come from the first sentence that states them, else the sex comes from the administrative
    head.
    """
    text = analysis.text
    found: list[tuple[int, int]] = []
    for sentence in analysis.sentences:
        if not found and analysis.section_at(sentence.start).kind not in _OF_OTHERS:
            found = demographic_spans(text, sentence.start, sentence.end)
    head = heading_sex(text, 0, min(len(text), 1000))
    if not found and head:
        found = [head]
    return [TaggedSpan(a, b, _demographic_mention(text[a:b]), lane=Lane.HISTORY) for a, b in found]


def _demographic_mention(text: str) -> str:
    word = text.split(":")[-1].strip().lower()
    if word in {"m", "male", "man", "gentleman", "boy"}:
        return "male sex"
    return "female sex" if word in {"f", "female", "woman", "lady", "girl"} else text


def _tag_sentence(
    analysis: Analysis, section: Section, sentence: Sentence, thread: Thread
) -> list[TaggedSpan]:
    heading = sentence.start < section.body_start
    problem = heading and _PROBLEM.match(analysis.text, section.start) is not None
    if section.kind == "header" or (heading and not problem):
        return []
    if is_administrative(analysis.text, sentence.start, sentence.end):
        return []
    if is_of_others(analysis.text[sentence.start : sentence.end], section):
        return []
    clause = read_clause(analysis, sentence.start, sentence.end)
    whole = Chunk(0, len(clause.tokens))
    numbered = section.kind not in _PLANS and _is_numbered_title(analysis.text, sentence)
    if (numbered and not has_verb(clause, whole)) or is_advice(clause, section):
        return []
    chunks = [c for c in (trim(clause, chunk) for chunk in split(clause)) if c is not None]
    return _tag_chunks(
        clause,
        share_predicates(clause, absorb_parentheses(clause, chunks, section.kind == "allergies")),
        section,
        problem,
        thread,
    )


def _is_numbered_title(text: str, sentence: Sentence) -> bool:
    """Return whether a sentence only names the problem that its line is about.

    Example: "4) Anemia. Hgb 9.1 on arrival".
    """
    line = text.rfind("\n", 0, sentence.start) + 1
    title = _NUMBERED.fullmatch(text, line, sentence.end)
    rest = text[sentence.end : text.find("\n", sentence.end) % (len(text) + 1)]
    return title is not None and bool(rest.strip())


def _tag_chunks(
    clause: Clause, chunks: list[Chunk], section: Section, problem: bool, thread: Thread
) -> list[TaggedSpan]:
    spans: list[TaggedSpan] = []
    kind = section.kind
    line_lead = opens_line(clause, chunks)
    negated_list: Chunk | None = None
    for i, chunk in enumerate(chunks):
        following = chunks[i + 1] if i + 1 < len(chunks) else None
        negated = negated_list is not None and continues_negation(clause, negated_list, chunk)
        negated_list = chunk if negated or reaching_negation(clause, chunk) else None
        lane = find_lane(clause, chunk, kind, thread.lane)
        if is_occurrence(clause, chunk, kind, problem) and not is_lead_in(clause, chunk, following):
            lead = line_lead or leading_time(clause, chunk)
            start, end = clause.tokens[chunk.first].start, clause.tokens[chunk.last - 1].end
            mention = build_mention(
                clause, chunk, kind, thread, negated=negated, lead=lead, heading=problem
            )
            polarity = Polarity.ABSENT if negated else find_polarity(clause.text[start:end])
            if polarity is Polarity.PRESENT and is_planned(clause.text, start, end, section):
                polarity = Polarity.PLANNED
            spans.append(TaggedSpan(start, end, mention, polarity, lane))
        remember(clause, chunk, lane, thread)
    return spans
