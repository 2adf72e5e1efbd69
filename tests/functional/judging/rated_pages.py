"""A cohort of judged games with made-up findings, stored as rows.

It has five sources of unlike quality, in both positions and two protocols.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from django.utils import timezone

from accounts.models import Role, Study, User
from adjudication.models import Comparison, Finding, Game, JudgeRun
from adjudication.scoring.errors import Category
from jobs.models import JobState
from tests import factories
from tests.worlds.kept import build_once
from timelines.models import Authoring, Timeline

#: (source, kind, errors of each kind a game): who errs more is rated lower.
SOURCES = (
    ("author:dr-vega", "reference", 3.0),
    ("prompted:GLM-4.6", "revised", 3.5),
    ("prompted:GLM-4.6", "text_only", 6.0),
    ("rules", "revised", 5.0),
    ("rules", "text_only", 8.0),
)
#: Kind of finding and the error that a decisive one is.
KINDS = (
    ("TIMING", Category.WRONG_TIME, 0.55),
    ("VALUE", Category.WRONG_VALUE, 0.05),
    ("A_ONLY", Category.MISSED_POSITIVE, 0.25),
    ("A_ONLY", Category.OVER_ANNOTATION, 0.05),
    ("A_ONLY", Category.MISSED_NEGATIVE, 0.05),
    ("DUPLICATE", Category.FALSE_DUPLICATE, 0.05),
)


@dataclass(frozen=True)
class RatedPages:
    """Two judge runs over the same comparisons.

    The second changes its mind now and then.
    """

    study: Study
    first: JudgeRun
    second: JudgeRun


@build_once
def build_rated_world(study: Study | None = None, *, cases: int = 16) -> RatedPages:
    """Judge every pair of the five sources of every case, twice."""
    dataset = factories.make_dataset(study)
    author = factories.make_user(dataset.study, Role.CLINICIAN, username="dr-vega")
    pairs = [pair for number in range(cases) for pair in _case(dataset, number, author)]
    first = _run(dataset, "rules, first version", "1.0", pairs, seed=1, swap=True)
    second = _run(dataset, "rules, second version", "1.1", pairs, seed=2, swap=False)
    return RatedPages(dataset.study, first, second)


def _case(dataset: Any, number: int, author: User) -> list[Comparison]:
    encounter = factories.make_encounter(dataset, case_id=f"case-{number:03d}")
    inventory = factories.make_inventory(
        factories.make_note(encounter, "Fell at home."), origin="reference"
    )
    factories.seal(inventory)
    there = [
        Timeline.objects.create(encounter=encounter, source=source, kind=kind)
        for source, kind, _ in SOURCES
    ]
    Authoring.objects.create(
        encounter=encounter,
        author=author,
        protocol=Authoring.Protocol.ASSISTED if number % 2 else Authoring.Protocol.UNAIDED,
        state=Authoring.State.SUBMITTED,
        inventory=inventory,
        timeline=there[0],
        submitted_at=timezone.now(),
    )
    return [
        Comparison.objects.create(encounter=encounter, first=one, second=two)
        for one, two in combinations(there, 2)
    ]


def _run(
    dataset: Any, label: str, version: str, pairs: list[Comparison], *, seed: int, swap: bool
) -> JudgeRun:
    run = JudgeRun.objects.create(
        study=dataset.study,
        label=label,
        sources=[[source, kind, 1] for source, kind, _ in SOURCES],
        judge="rules",
        judge_name="rules",
        judge_version=version,
        config={"seed": 7, "swap": swap},
    )
    run.datasets.set([dataset])
    findings: list[Finding] = []
    for number, comparison in enumerate(pairs):
        for swapped in (False, True) if swap else (False,):
            game = _game(run, comparison, number, swapped)
            if game.outcome == Game.Outcome.JUDGED:
                findings += _findings(
                    game, random.Random(number), random.Random(f"{seed}{number}{swapped}")
                )
    Finding.objects.bulk_create(findings)
    return run


def _game(run: JudgeRun, comparison: Comparison, number: int, swapped: bool) -> Game:
    unjudged = number % 29 == 5
    return Game.objects.create(
        run=run,
        comparison=comparison,
        swapped=swapped,
        seed=number,
        state=JobState.FAILED if unjudged else JobState.SUCCEEDED,
        outcome=Game.Outcome.UNJUDGED if unjudged else Game.Outcome.JUDGED,
        unjudged_reasons=["attempt 1: the answer must be one JSON object"] if unjudged else [],
        a_is_first=(number % 2 == 0) != swapped,
    )


def _findings(game: Game, subjects: random.Random, mood: random.Random) -> list[Finding]:
    """Return made-up findings of a game.

    `subjects` draws the differences, the same in every judging; `mood` draws those that this
    judging leaves out or turns.
    """
    errors = {(source, kind): rate for source, kind, rate in SOURCES}
    sides = (game.comparison.first, game.comparison.second)
    found: list[Finding] = []
    for first, timeline in ((True, sides[0]), (False, sides[1])):
        for n in range(round(subjects.expovariate(1 / errors[timeline.source, timeline.kind]))):
            kind, category, _ = subjects.choices(KINDS, weights=[w for *_, w in KINDS])[0]
            close, hour = subjects.random() < 0.15, subjects.randrange(-200, 200)
            if mood.random() < 0.08:
                continue
            charged = first if mood.random() > 0.06 else not first
            reported = _finding(
                game,
                kind,
                category,
                charged,
                hour,
                hour + (2 if close else 24 + n),
                unclear=mood.random() < 0.1,
            )
            reported.ordinal, reported.flagged = len(found) + 1, kind == "TIMING" and close
            reported.subject_sha256 = f"{game.comparison_id}-{first}-{n}"
            found.append(reported)
    return found


def _finding(
    game: Game,
    kind: str,
    category: Category,
    charged_first: bool,
    one: int,
    two: int,
    *,
    unclear: bool,
) -> Finding:
    charged_a = charged_first == game.a_is_first
    verdict = "UNCLEAR" if unclear else "B" if charged_a else "A"
    rows: dict[str, Any] = {"a_event": "Fell", "a_time": one, "b_event": "Fell", "b_time": two}
    if kind in ("A_ONLY", "DUPLICATE"):
        # A missed row is the other side's; a wrong one its holder's.
        held_by_a = charged_a == (category in (Category.OVER_ANNOTATION, Category.FALSE_DUPLICATE))
        rows = (
            {"a_event": "Fell", "a_time": one} if held_by_a else {"b_event": "Fell", "b_time": two}
        )
        kind = kind if kind == "DUPLICATE" or held_by_a else "B_ONLY"
    return Finding(
        game=game,
        type=kind,
        verdict=verdict,
        polarity="absent" if category is Category.MISSED_NEGATIVE else "present",
        grounding="NOTE" if one % 3 else "TABLE",
        relation="novel_event" if kind.endswith("_ONLY") else None,
        category="" if unclear else category.value,
        charged_first=None if unclear else charged_first,
        **rows,
    )
