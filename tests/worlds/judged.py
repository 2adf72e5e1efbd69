"""Judged cohorts in the database.

Real games of real rows, judged by a stand-in whose findings are written by hand.
`make_judged_world()` has cases with one note, a small record and the timelines of three sources.
`execute_game` judges each pair of them, so that findings, charges and subjects are stored as the
application stores them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from accounts.models import Study
from adjudication.judge_runs import actions
from adjudication.judging.config import JudgeConfig
from adjudication.judging.input import Candidate, Judged, JudgeInput, Unjudged
from adjudication.judging.validation import validate_findings
from adjudication.models import Game, JudgeRun
from ehr.models import Dataset, Encounter
from jobs.models import JobState
from tests import factories
from tests.unit.adjudication.judging.judge_games import FIRST, NOTE, SECOND, find_row, make_raw
from tests.worlds.kept import build_once
from timelines.domain import TimelineKind
from timelines.evaluation.values import SourceKey
from timelines.models import Entry, Timeline

THIRD = (
    *(replace(c, time=None if c.time is None else c.time + 7) for c in SECOND),
    Candidate(event="lactate 4.1", time=6.0),
)
#: Sources of the world, in the order of its judge runs, and what each says.
SOURCES: dict[str, Sequence[Candidate]] = {
    "author:vega": FIRST,
    "rules-orion": SECOND,
    "llm-lyra": THIRD,
}
KEYS = tuple(SourceKey(name, TimelineKind.REVISED.value, 1) for name in SOURCES)
#: (event name, [(hours, value, unit), …]) of each case's record.
RECORD = (
    ("admission:admission_type:", [(0.0, "EMERGENCY", "")]),
    ("lab:lactate::", [(0.25, "4.1", "mmol/L"), (18.5, "2.0", "mmol/L")]),
    ("chart:heart rate::", [(float(h), str(80 + h), "bpm") for h in range(20)]),
)


@dataclass(frozen=True)
class FixedJudge:
    """A judge with fixed answers for any rows; it may refuse some games."""

    version: str = "1"
    refuse: frozenset[int] = frozenset()
    #: Replaces the verdict of TIMING findings about fever, for a version that has changed its mind.
    fever: str = "FIRST"
    name: str = "stand-in"

    def judge(self, given: JudgeInput) -> Judged | Unjudged:
        if len(given.a_rows) in self.refuse:
            return Unjudged(("attempt 1: the answer must be one JSON object",))
        findings = validate_findings(list(self._told(given)), given)
        return Judged(tuple(findings), len(given.series))

    def _told(self, given: JudgeInput) -> Iterator[dict[str, Any]]:
        note, rash, hip = {"grounding": "NOTE"}, r"rash \| resolved", "fractured hip"
        both: list[tuple[str, str, str | None, str | None, str, dict[str, Any]]] = [
            ("TIMING", "fever", "fever", "fever", self.fever, {**note, "note_evidence": "Fever for three days"}),
            ("VALUE", "", "lactate 4.1", "lactate 4.0", "FIRST",
             {"grounding": "TABLE", "table_evidence": "lab:lactate:: = 4.1 mmol/L @ 0h"}),
            ("TIMING", "", "lactate 2.0", "lactate 2.0", "SECOND", {**note, "note_evidence": "then 2.0 the next morning."}),
            ("FIRST_ONLY", "", "no chest pain", None, "FIRST",
             {**note, "note_evidence": "Denies chest pain.", "polarity": "absent"}),
            ("SECOND_ONLY", "", None, 'pain "worst ever"', "FIRST", {"relation": "added_detail"}),
            ("DUPLICATE", "", rash, None, "SECOND", {**note, "note_evidence": "Patient's rash resolved"}),
            ("SHARED_UNSUPPORTED", "", hip, hip, "NEITHER", {}),
            ("TIMING", "", rash, rash, "UNCLEAR", {}),
            ("VALUE", "", "lactate 2.0", "lactate 4.0", "BOTH", {"note_evidence": None}),
        ]  # fmt: skip
        for kind, _, one, two, right, fields in both:
            try:
                first = (
                    None
                    if one is None
                    else find_row(given, one, first=True, at=1 if kind == "DUPLICATE" else 0)
                )
                second = None if two is None else find_row(given, two, first=False)
            except IndexError:
                continue
            yield make_raw(
                given, kind, first, second, right, **{"reason": "the stand-in says so", **fields}
            )


@dataclass(frozen=True)
class JudgedWorld:
    study: Study
    dataset: Dataset
    encounters: tuple[Encounter, ...]
    run: JudgeRun


def make_case(
    dataset: Dataset, case_id: str, sources: dict[str, Sequence[Candidate]] | None = None
) -> Encounter:
    """Create a case with the data of the judge's small game.

    It has the note, the record and the timelines; each source has its own inventory.
    """
    encounter = factories.make_encounter(dataset, case_id=case_id)
    note = factories.make_note(encounter, NOTE)
    for event, values in RECORD:
        rows = [
            factories.make_row(encounter, event, hours, value=value, unit=unit)
            for hours, value, unit in values
        ]
        factories.make_series(encounter, event, rows)
    for source, candidates in (sources or SOURCES).items():
        make_source(encounter, source, candidates)
    assert note.sha256
    return encounter


def make_source(
    encounter: Encounter,
    source: str,
    candidates: Sequence[Candidate],
    kind: TimelineKind = TimelineKind.REVISED,
) -> Timeline:
    """Create a finished timeline of these events, over a sealed inventory.

    Spans are the places of the words in the note.
    """
    note = encounter.notes.get()
    inventory = factories.make_inventory(note, origin="import")
    entries = []
    for c in candidates:
        words = c.event.split(" ")[0].capitalize()
        start = note.text.find(words)
        span = None if start < 0 else (start, start + len(words))
        mention = c.event.replace("|", r"\|")
        occurrence = factories.make_occurrence(
            inventory, span=span, mention=mention, polarity=c.polarity
        )
        entries.append(Entry(occurrence=occurrence, time=c.time, decided_by="test/given"))
    timeline = factories.make_timeline(inventory, entries, kind=kind, source=source)
    factories.seal(inventory)
    return timeline


@contextmanager
def use_judge(judge: FixedJudge) -> Iterator[None]:
    """Games that are executed inside are judged by the stand-in."""
    with mock.patch.object(actions, "build_judge", return_value=judge):
        yield


def make_judged_run(
    dataset: Dataset, judge: FixedJudge | None = None, *, swap: bool = False, label: str = ""
) -> JudgeRun:
    """A judge run over the dataset's three sources, done to its end."""
    with use_judge(judge or FixedJudge()):
        run = actions.start_judging(
            study=dataset.study,
            datasets=[dataset],
            sources=KEYS,
            config=JudgeConfig(swap=swap),
            label=label,
            by=None,
            tell_workers=False,
        )
        for pk in Game.objects.filter(run=run, state=JobState.QUEUED).values_list("pk", flat=True):
            actions.execute_game(pk)
    return run


@build_once
def make_judged_world(
    cases: int = 2, *, swap: bool = False, study: Study | None = None
) -> JudgedWorld:
    """Return a cohort of that many cases, three sources each, all judged.

    It needs a test that commits (`transaction=True`).
    """
    dataset = factories.make_dataset(study)
    encounters = tuple(make_case(dataset, f"case-{number:03d}") for number in range(1, cases + 1))
    return JudgedWorld(dataset.study, dataset, encounters, make_judged_run(dataset, swap=swap))
