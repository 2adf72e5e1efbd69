"""The rules tagger: stage 1 of a reconstruction without a language model (protocol, stage 1)."""

from __future__ import annotations

from timelines.backbones.rules.tagging.chunks import Chunk, Clause, concepts, has_value, is_bare_value, read_clause, split, strength
from timelines.backbones.rules.tagging.demographics import demographic_spans, heading_sex
from timelines.backbones.rules.tagging.lexicon import Concept
from timelines.backbones.rules.tagging.spans import absorb_parentheses, share_predicates, trim
from timelines.backbones.rules.tagging.vocabulary import CONDITIONAL, TOPICS
from timelines.backbones.rules.text import Analysis, Section, Sentence, analyse
from timelines.domain import TaggedSpan


class RuleTagger:
    """Tags every event occurrence by clinical vocabulary and the structure of clauses and lists."""

    def tag(self, note: str) -> list[TaggedSpan]:
        """Occurrences in order of start; offsets in code points of `note`. Deterministic."""
        analysis = analyse(note)
        spans = [TaggedSpan(a, b, note[a:b]) for a, b in _demographics(analysis)]
        for sentence in analysis.sentences:
            section = analysis.section_at(sentence.start)
            spans.extend(_tag_sentence(analysis, section, sentence))
        return sorted(spans, key=lambda s: (s.start, -s.end))


def _demographics(analysis: Analysis) -> list[tuple[int, int]]:
    """Age and sex of the person, from the first sentence that states them, else the sex of the head."""
    for sentence in analysis.sentences:
        if analysis.section_at(sentence.start).kind in {"hpi", "hospital_course", "other", "chief_complaint"}:
            found = demographic_spans(analysis.text, sentence.start, sentence.end)
            if found:
                return found
    head = heading_sex(analysis.text, 0, min(len(analysis.text), 1000))
    return [head] if head else []


def _tag_sentence(analysis: Analysis, section: Section, sentence: Sentence) -> list[TaggedSpan]:
    if section.kind == "header":
        return []
    heading = sentence.start < section.body_start
    if heading and not analysis.text[section.start : section.body_start].lstrip().startswith("#"):
        return []
    clause = read_clause(analysis, sentence.start, sentence.end)
    if section.kind in {"instructions", "followup"} and clause.tokens and clause.tokens[0].lower in CONDITIONAL:
        return []
    chunks = [c for c in (trim(clause, chunk) for chunk in split(clause)) if c is not None]
    chunks = share_predicates(clause, absorb_parentheses(clause, chunks))
    spans = []
    for i, chunk in enumerate(chunks):
        following = chunks[i + 1] if i + 1 < len(chunks) else None
        if _is_occurrence(clause, chunk, section, heading) and not _only_names_the_next(clause, chunk, following):
            start, end = clause.tokens[chunk.first].start, clause.tokens[chunk.last - 1].end
            spans.append(TaggedSpan(start, end, analysis.text[start:end]))
    return spans


def _is_occurrence(clause: Clause, chunk: Chunk, section: Section, heading: bool) -> bool:
    words = {clause.tokens[i].lower for i in range(chunk.first, chunk.last)}
    if heading and words <= TOPICS:
        return False
    if section.kind == "disposition" and concepts(clause, chunk.first, chunk.last):
        return True
    return strength(clause, chunk.first, chunk.last) > 0 or is_bare_value(clause, chunk)


def _only_names_the_next(clause: Clause, chunk: Chunk, following: Chunk | None) -> bool:
    """A name whose value or fate follows after a comma or colon: "Her temperature, 99.7 on arrival", "Metoprolol, which was ordered"."""
    if following is None or has_value(clause, chunk.first, chunk.last):
        return False
    mark = clause.tokens[chunk.last].text if chunk.last < len(clause.tokens) else ""
    if any(clause.parts[i] == "VERB" for i in range(chunk.first, chunk.last)):
        return False
    found = concepts(clause, chunk.first, chunk.last)
    if mark == ":" and (not found or found <= {Concept.DRUG, Concept.LAB, Concept.MICRO, Concept.VITAL}):
        return is_bare_value(clause, following) or not found or bool(concepts(clause, following.first, following.last) & {Concept.LAB})
    relative = chunk.last + 1 < len(clause.tokens) and clause.tokens[chunk.last + 1].lower in {"which", "who"}
    if mark == ",":
        return relative or (bool(found & {Concept.LAB, Concept.VITAL}) and is_bare_value(clause, following))
    return False
