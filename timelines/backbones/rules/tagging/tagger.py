"""The rules tagger: stage 1 of a reconstruction without a language model (protocol, stage 1)."""

from __future__ import annotations

from timelines.backbones.rules.tagging.chunks import concepts, has_value, is_bare_value, read_clause, split, strength
from timelines.backbones.rules.tagging.demographics import demographic_spans, heading_sex
from timelines.backbones.rules.tagging.lexicon import Concept
from timelines.backbones.rules.tagging.spans import trim
from timelines.backbones.rules.tagging.vocabulary import TOPICS
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
    out = []
    series = False
    for chunk in split(clause):
        trimmed = trim(clause, chunk)
        if trimmed is None:
            continue
        bare = is_bare_value(clause, trimmed)
        if heading and clause.tokens[trimmed.first].lower in TOPICS:
            continue
        power = strength(clause, trimmed.first, trimmed.last)
        keep = power == 2 or (bare and series) or (power == 1 and section.kind not in {"hpi", "hospital_course", "other", "results"})
        if concepts(clause, trimmed.first, trimmed.last) & {
            Concept.LAB,
            Concept.VITAL,
            Concept.DRUG,
            Concept.DEVICE,
            Concept.FLUID,
        } and has_value(clause, trimmed.first, trimmed.last):
            series = True
        if keep:
            start, end = clause.tokens[trimmed.first].start, clause.tokens[trimmed.last - 1].end
            out.append(TaggedSpan(start, end, analysis.text[start:end]))
    return out
