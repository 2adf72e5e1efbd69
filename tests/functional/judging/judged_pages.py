"""The case page's small case, judged.

It has a game of every pair of its timelines with findings written by hand, and a second opinion.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from adjudication.domain import FindingType
from adjudication.findings.listing import domain_finding
from adjudication.judging.input import whole_hours
from adjudication.models import Comparison, Finding, Game, JudgeRun
from adjudication.scoring.errors import charge
from jobs.models import JobState
from tests.functional.cases.case_world import MARKUP, World
from timelines.models import Entry, Timeline

REASON = f"The administration row is this very dose, five hours after arrival {MARKUP}"


@dataclass(frozen=True)
class JudgedPages:
    """Two judge runs over the world's case.

    The second one has another opinion of the reversal agent.
    """

    first: JudgeRun
    second: JudgeRun
    #: Text-only beside revised: the finding about the reversal agent.
    andexanet: Finding


def judge_world(world: World) -> JudgedPages:
    """Judge text-only, revised and reference against each other, twice."""
    timelines = (world.text_only, world.revised, world.reference)
    first = _run(world, "rules, first version", "1.0", timelines, right="B")
    second = _run(world, "rules, second version", "1.1", timelines, right="UNCLEAR")
    game = Game.objects.get(
        run=first, comparison__first=world.text_only, comparison__second=world.revised
    )
    return JudgedPages(first, second, game.findings.get(ordinal=1))


def _run(
    world: World, label: str, version: str, timelines: tuple[Timeline, ...], right: str
) -> JudgeRun:
    run = JudgeRun.objects.create(
        study=world.study,
        label=label,
        sources=[[t.source, t.kind, t.alternative] for t in timelines],
        judge="rules",
        judge_name="rules",
        judge_version=version,
        config={"seed": 7, "swap": False},
        code_revision="0123456789ab",
    )
    run.datasets.set([world.encounter.dataset])
    for number, (one, two) in enumerate(combinations(timelines, 2)):
        comparison, _ = Comparison.objects.get_or_create(
            encounter=world.encounter, first=one, second=two
        )
        unjudged = number == 2
        game = Game.objects.create(
            run=run,
            comparison=comparison,
            seed=number,
            state=JobState.FAILED if unjudged else JobState.SUCCEEDED,
            outcome=Game.Outcome.UNJUDGED if unjudged else Game.Outcome.JUDGED,
            unjudged_reasons=[
                "attempt 1: the answer must be one JSON object",
                "attempt 2: finding 3: a_row is no row of timeline A",
            ]
            if unjudged
            else [],
            a_is_first=True,
            series_supplied=2,
            series_omitted=0,
        )
        if not unjudged:
            _findings(world, game, right)
    return run


def _findings(world: World, game: Game, right: str) -> None:
    quote = "Andexanet alfa was given soon after arrival."
    start = world.note.text.index(quote)
    series = world.encounter.series.get(event="med:andexanet alfa:start")
    a, b = game.comparison.first, game.comparison.second
    note = {"note_evidence": quote, "note_start": start, "note_end": start + len(quote)}
    table = {"table_evidence": f"med:andexanet alfa:start = 400 {MARKUP} @ +6h", "series": series}
    _store(
        game,
        1,
        "TIMING",
        right,
        _row(a, "Andexanet"),
        _row(b, "Andexanet"),
        grounding="BOTH",
        reason=REASON,
        **note,
        **table,
    )
    _store(
        game,
        2,
        "TIMING",
        "BOTH",
        _row(a, "Head CT"),
        _row(b, "Head CT"),
        flagged=True,
        reason="Either hour is within an hour of the scan.",
    )
    _store(
        game,
        3,
        "A_ONLY",
        "B",
        _row(a, "Diet was"),
        None,
        relation="novel_event",
        reason="Nothing dates or supports it.",
    )
    _store(
        game,
        4,
        "DUPLICATE",
        "A",
        None,
        _row(b, "last dose"),
        reason="One dose appears in two rows.",
    )
    _store(
        game,
        5,
        "VALUE",
        "UNCLEAR",
        _row(a, MARKUP),
        _row(b, MARKUP),
        reason="The note does not settle it.",
    )


def _row(timeline: Timeline, mention: str) -> Entry:
    return Entry.objects.select_related("occurrence").get(
        timeline=timeline, occurrence__mention__startswith=mention
    )


def _store(
    game: Game,
    ordinal: int,
    kind: str,
    verdict: str,
    a: Entry | None,
    b: Entry | None,
    **fields: object,
) -> None:
    def event(entry: Entry | None) -> str | None:
        return (
            entry.occurrence.mention if entry is not None and entry.occurrence is not None else None
        )

    def hours(entry: Entry | None) -> int | None:
        return whole_hours(entry.time) if entry is not None else None

    values: dict[str, object] = {
        "polarity": "present",
        "grounding": "NONE",
        "subject_sha256": f"{game.comparison_id:060x}{ordinal:04x}",
    }
    finding = Finding(
        game=game, ordinal=ordinal, type=FindingType(kind), verdict=verdict, a_entry=a, b_entry=b,
        a_event=event(a), a_time=hours(a), b_event=event(b), b_time=hours(b),
        a_row=None if a is None else 100 + ordinal, b_row=None if b is None else 200 + ordinal,
        **{**values, **fields},
    )  # fmt: skip
    charged = charge(domain_finding(finding))
    finding.category = "" if charged is None else charged.category.value
    finding.charged_first = None if charged is None else charged.side.value == "A"
    finding.save()
