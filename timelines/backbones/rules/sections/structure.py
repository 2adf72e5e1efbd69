"""Find the sections of a note by headings, content and order together.

A known heading decides the passage under it. Passages without one (before the first heading, under
an unknown heading, later paragraphs) get the kind that fits their words and the order in which
sections follow each other; the best sequence over the whole note is chosen (Viterbi). A later
paragraph keeps its section's kind unless its words clearly say otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from timelines.backbones.rules.sections.content import (
    ContentModel,
    content_model,
    passage_features,
)
from timelines.backbones.rules.sections.headings import (
    HEAD_FIELD,
    SYSTEM,
    Section,
    find_sections,
)
from timelines.backbones.rules.sections.literature import (
    LITERATURE,
    Report,
    is_literature,
    read_report,
)

#: Kinds whose words are too alike, or that are too rare, are one kind of content.
CONTENT = {
    "admission_diagnosis": "chief_complaint",
    "social_family": "social",
    "family": "social",
    "ros": "exam",
    "exam_admission": "exam",
    "exam_discharge": "exam",
    "results_admission": "results",
    "results_discharge": "results",
    "consults": "hospital_course",
    "complications": "discharge_diagnosis",
    "medications": "medications_discharge",
    "discharge_condition": "instructions",
    "followup": "instructions",
    "transitional": "instructions",
}
#: Log-odds for the kind of the heading above a later paragraph: stories have many paragraphs, other
#: sections seldom.
_SAME_STORY, _SAME_SECTION = 5.0, 2.0
_STORIES = frozenset({"hpi", "hospital_course"})
#: The same under a heading that is not known: something new begins, or a part of the section.
_NEW_HEADING = 1.0
#: Log-odds for a course or an examination if the heading is a system of the body ("NEURO:").
_NAMES_SYSTEM = 4.0
#: Characters; shorter paragraphs (without, with a heading) and notes say too little to be read so.
_SHORTEST, _SHORTEST_TITLED = 60, 20
_SHORTEST_NOTE = 300
_BREAK = re.compile(r"\n[ \t\r]*\n\s*")
_UNKNOWN = re.compile(
    r"^[ \t]*(?P<title>(?=[^a-z\n]*:?[ \t]*$)[A-Z][A-Z0-9 /&,'().-]{7,60}|"
    r"[A-Z][A-Za-z0-9 /&,'().-]{3,60}(?=:[ \t]*$))"
    r":?[ \t]*$|^[ \t]*(?P<label>[A-Z][A-Z /&]{4,40}):(?=[ \t]+\S)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class _Passage:
    """A stretch of a note that has one kind.

    `section` is the headed section it belongs to. `headed`: it begins with that heading. `title`:
    words of a heading that is not known; its text begins at `body_start`.
    """

    start: int
    end: int
    body_start: int
    section: Section
    headed: bool
    title: str = ""

    @property
    def is_known(self) -> bool:
        """Whether a known heading decides its kind."""
        return self.headed and self.section.kind != "other"


def read_sections(text: str) -> tuple[Section, ...]:
    """Return all sections of a note in order.

    They cover `[0, len(text))` without gap or overlap. Neighbours of one kind without a known
    heading between them are one section.
    """
    report = read_report(text) or Report()
    openings: dict[int, tuple[int, str, str]] = {
        start: (body, "hpi", title) for start, body, title in report.cases
    }
    headed = _set_apart(find_sections(text, openings), report)
    passages = [p for s in headed if s.kind != LITERATURE for p in _split(text, s)]
    if len(text) < _SHORTEST_NOTE or all(p.is_known for p in passages):
        return headed
    current = ""
    after_course = False
    for passage, chosen in zip(passages, _choose(text, passages, content_model()), strict=True):
        aside = not passage.headed and is_literature(text[passage.body_start : passage.end])
        content = LITERATURE if aside else chosen
        if not passage.is_known and content != current:
            kind = "exam_discharge" if content == "exam" and after_course else content
            openings[passage.start] = (passage.body_start, kind, passage.title)
        current = content
        after_course = after_course or content == "hospital_course"
    return _set_apart(find_sections(text, openings), report)


def _set_apart(sections: tuple[Section, ...], report: Report) -> tuple[Section, ...]:
    """Return the sections with each part of literature as one of its own."""
    found = list(sections)
    for start, end, body, title in report.literature:
        cut = []
        for s in found:
            if s.start < start:
                cut.append(replace(s, end=min(s.end, start), body_start=min(s.body_start, start)))
            if s.end > end:
                cut.append(replace(s, start=max(s.start, end), body_start=max(s.body_start, end)))
        found = [*cut, Section(LITERATURE, title, start, end, body)]
    return tuple(sorted((s for s in found if s.end > s.start), key=lambda s: s.start))


def _split(text: str, section: Section) -> list[_Passage]:
    """Cut a section at headings that are not known and at empty lines."""
    cuts = {section.start: (section.body_start, "")}
    for m in _UNKNOWN.finditer(text, section.body_start, section.end):
        cuts[m.start()] = (m.end(), m["title"] or m["label"])
    if section.kind != "hospital_course":
        for m in re.finditer(r"^.*$", text[section.body_start : section.end], re.MULTILINE):
            if system := SYSTEM.match(m.group()):
                start = section.body_start + m.start()
                cuts[start] = (start + system.end(), system["title"])
    for m in _BREAK.finditer(text, section.body_start, section.end):
        if section.kind != "header" or not _is_of_fields(text, m.end(), section.end):
            cuts.setdefault(m.end(), (m.end(), ""))
    starts = sorted(s for s in cuts if s < section.end)
    edges = [*starts, section.end]
    passages: list[_Passage] = []
    for start, end in pairwise(edges):
        body, title = cuts[start]
        first = start == section.start
        if passages and len(text[body:end].strip()) < (_SHORTEST_TITLED if title else _SHORTEST):
            passages[-1] = replace(passages[-1], end=end)
        else:
            passages.append(_Passage(start, end, min(body, end), section, first, title))
    return passages


def _is_of_fields(text: str, start: int, end: int) -> bool:
    """Return whether a paragraph has nothing but fields of the head."""
    following = _BREAK.search(text, start, end)
    lines = text[start : following.start() if following else end].splitlines()
    return all(HEAD_FIELD.match(line.lstrip()) for line in lines if line.strip())


def _choose(text: str, passages: Sequence[_Passage], model: ContentModel) -> list[str]:
    """Return the most likely sequence of kinds, one for each passage."""
    number = {kind: i for i, kind in enumerate(model.kinds)}
    best: list[float] = []
    back: list[list[int]] = []
    for n, passage in enumerate(passages):
        scores = _passage_scores(text, passage, model, number)
        if n == 0:
            best = [s + f for s, f in zip(scores, model.follows[-1], strict=True)]
            continue
        choice = []
        total = []
        for kind, score in enumerate(scores):
            before = max(range(len(best)), key=lambda a: best[a] + model.follows[a][kind])
            choice.append(before)
            total.append(best[before] + model.follows[before][kind] + score)
        back.append(choice)
        best = total
    path = [max(range(len(best)), key=best.__getitem__)]
    for choice in reversed(back):
        path.append(choice[path[-1]])
    return [model.kinds[i] for i in reversed(path)]


def _passage_scores(
    text: str, passage: _Passage, model: ContentModel, number: dict[str, int]
) -> list[float]:
    kind = number.get(CONTENT.get(passage.section.kind, passage.section.kind))
    if passage.headed and kind is not None:
        return [0.0 if i == kind else -1e6 for i in range(len(model.kinds))]
    body = text[passage.body_start : passage.end]
    features = passage_features(body, passage.start / max(len(text), 1), passage.title)
    # A score divided by the prior is a likelihood, as the sequence of kinds has its own prior.
    scores = [s - p for s, p in zip(model.scores(features), model.priors, strict=True)]
    if kind is not None and passage.section.kind != "header":
        same = _SAME_STORY if model.kinds[kind] in _STORIES else _SAME_SECTION
        scores[kind] += _NEW_HEADING if passage.title else same
    if SYSTEM.fullmatch(f"{passage.title}:"):
        scores[number["hospital_course"]] += _NAMES_SYSTEM
        scores[number["exam"]] += _NAMES_SYSTEM
    return scores
