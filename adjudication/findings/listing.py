"""The findings of a judge run as lines, and the filters of their list.

Each line has both rows and the charged side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adjudication import domain
from adjudication.findings.facets import Facet
from adjudication.judge_runs.calls import source_names
from adjudication.judging.finding_words import (
    CATEGORY_WORDS,
    GROUNDING_WORDS,
    TYPE_WORDS,
    size_words,
    verdict_words,
)
from adjudication.models import Finding, Game, JudgeRun
from adjudication.scoring.errors import WEIGHTS, Category
from ehr.presentation.clock import Moment
from ehr.record.clock import clock_of
from timelines.evaluation.values import SourceKey
from timelines.pipeline.uids import unescape_mention

ONE_SIDED, DECISIVE = "one-sided", "decisive"
#: Filter → its words and the values of findings that match it.
TYPES: Mapping[str, tuple[str, frozenset[str]]] = {
    "TIMING": ("different time", frozenset({"TIMING"})),
    "VALUE": ("different value", frozenset({"VALUE"})),
    ONE_SIDED: ("only in one", frozenset({"A_ONLY", "B_ONLY"})),
    "DUPLICATE": ("reported twice", frozenset({"DUPLICATE"})),
    "SHARED_UNSUPPORTED": ("in both, unsupported", frozenset({"SHARED_UNSUPPORTED"})),
}
VERDICTS: Mapping[str, tuple[str, frozenset[str]]] = {
    DECISIVE: ("for one side", frozenset({"A", "B"})),
    "BOTH": ("both possible", frozenset({"BOTH"})),
    "NEITHER": ("neither right", frozenset({"NEITHER"})),
    "UNCLEAR": ("unclear", frozenset({"UNCLEAR"})),
}
#: As a trigger stores them (`adjudication/migrations/sql/listing.sql`).
SIZES: Mapping[str, str] = {
    "hours": "less than 24 h",
    "days": "24 h to 7 d",
    "weeks": "7 d or more",
    "same": "same hour",
    "none": "a side has no time",
    "single": "only one side has a row",
}
RERUNS: Mapping[str, tuple[str, frozenset[str]]] = {
    "": ("first positions", frozenset({""})),
    "swapped": ("exchanged positions", frozenset({"swapped"})),
    "all": ("both", frozenset({"", "swapped"})),
}
#: Orders of lists (`adjudication.findings.pages`).
SORTS = ("case", "type", "verdict", "size", "grounding", "weight")
RELATED = (
    "game__run",
    "game__comparison__encounter__dataset__study",
    "game__comparison__first",
    "game__comparison__second",
)


@dataclass(frozen=True, slots=True)
class FindingFilter:
    """A filter of findings.

    `source` and `charged` are indices of the run's sources, `case` a public id, so all of it is
    safe in addresses.
    """

    type: str = ""
    verdict: str = ""
    grounding: str = ""
    category: str = ""
    size: str = ""
    source: str = ""
    charged: str = ""
    flagged: bool = False
    rerun: str = ""
    case: str = ""
    sort: str = "case"

    @classmethod
    def from_query(cls, asked: Mapping[str, str], sources: int) -> FindingFilter:
        """Read a filter from an address; unknown values are ignored."""
        numbers = [str(n) for n in range(sources)]
        known: Mapping[str, Sequence[str]] = {
            "type": [*TYPES],
            "verdict": [*VERDICTS],
            "grounding": [*domain.Grounding],
            "category": [*Category],
            "size": [*SIZES],
            "source": numbers,
            "charged": numbers,
            "rerun": [*RERUNS],
        }
        chosen = {
            name: asked.get(name, "")
            for name, values in known.items()
            if asked.get(name, "") in values
        }
        sort = asked.get("sort", "")
        return cls(
            **chosen,
            flagged=bool(asked.get("flagged")),
            case=asked.get("case", ""),
            sort=sort if sort.removeprefix("-") in SORTS else "case",
        )

    @property
    def narrows(self) -> bool:
        return self != FindingFilter(sort=self.sort)

    def matches(self, facet: Facet) -> bool:
        """Return whether findings of the facet match; `case` is not part of it."""
        return (
            facet.swapped in RERUNS[self.rerun][1]
            and (not self.type or facet.type in TYPES[self.type][1])
            and (not self.verdict or facet.verdict in VERDICTS[self.verdict][1])
            and self.grounding in ("", facet.grounding)
            and self.category in ("", facet.category)
            and self.size in ("", facet.size)
            and self.source in ("", facet.first, facet.second)
            and self.charged in ("", facet.charged_source)
            and (not self.flagged or bool(facet.flagged))
        )


def list_run_sources(run: JudgeRun) -> list[SourceKey]:
    """Return the compared sources in order."""
    return [SourceKey(*source) for source in run.sources]


def word_types(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return (value, words with the count) for each filter, after the total.

    `counts` are by type of finding.
    """
    present = [
        (value, words, n)
        for value, (words, types) in TYPES.items()
        if (n := sum(counts.get(one, 0) for one in types))
    ]
    total = sum(n for *_, n in present)
    return [("", f"all ({total})"), *((value, f"{words} ({n})") for value, words, n in present)]


@dataclass(frozen=True, slots=True)
class SideLine:
    """One side's row as judged: `time` in whole hours, `when` in words."""

    label: str
    source: str
    event: str | None
    time: int | None
    when: Moment | None
    charged: bool


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A finding in words."""

    finding: Finding
    game: Game
    kind: str
    a: SideLine
    b: SideLine
    verdict: str
    grounding: str
    apart: str
    category: str
    weight: str
    charged: str

    @property
    def sided_verdict(self) -> str:
        """The verdict with sources instead of labels.

        Two compared games may have drawn different labels.
        """
        return {"A right": f"{self.a.source} right", "B right": f"{self.b.source} right"}.get(
            self.verdict, self.verdict
        )

    @property
    def difference(self) -> str:
        """The kind of difference without a label."""
        return TYPES[ONE_SIDED][0] if self.finding.type.endswith("_ONLY") else self.kind

    @property
    def sides(self) -> tuple[SideLine, SideLine]:
        return self.a, self.b

    @property
    def hours_apart(self) -> int | None:
        """Whole hours between both times."""
        a, b = self.a.time, self.b.time
        return None if a is None or b is None else abs(a - b)

    @property
    def error(self) -> Category | None:
        """The charged error."""
        return Category(self.finding.category) if self.finding.category else None

    @property
    def points(self) -> float | None:
        """The points of the error."""
        return WEIGHTS[self.error] if self.error else None


def finding_line(finding: Finding, game: Game | None = None) -> FindingLine:
    """Return the line of one finding of a judged game."""
    game = game or finding.game
    judged = domain_finding(finding)
    names = sources_words(game)
    clock = clock_of(game.comparison.encounter)
    charged_a = None if finding.charged_first is None else finding.charged_first == game.a_is_first
    category = Category(finding.category) if finding.category else None
    return FindingLine(
        finding=finding,
        game=game,
        kind=TYPE_WORDS[judged.type],
        a=SideLine(
            "A",
            names[0],
            _event_text(judged.a_event),
            finding.a_time,
            clock.read_whole(judged.a_time) if judged.a_event else None,
            charged_a is True,
        ),
        b=SideLine(
            "B",
            names[1],
            _event_text(judged.b_event),
            finding.b_time,
            clock.read_whole(judged.b_time) if judged.b_event else None,
            charged_a is False,
        ),
        verdict=verdict_words(judged),
        grounding=GROUNDING_WORDS[judged.grounding],
        apart=size_words(judged.a_time, judged.b_time),
        category=CATEGORY_WORDS[category] if category else "",
        weight=f"{WEIGHTS[category]:g}" if category else "",
        charged="" if charged_a is None else names[0] if charged_a else names[1],
    )


def sources_words(game: Game) -> tuple[str, str]:
    """Return the sources labelled A and B in a judged game."""
    first, second = source_names(game.comparison)
    return (first, second) if game.a_is_first else (second, first)


def domain_finding(finding: Finding) -> domain.Finding:
    """Convert a stored finding to the value that charging and wording read."""
    return domain.Finding(
        type=domain.FindingType(finding.type),
        verdict=domain.Verdict(finding.verdict),
        polarity=domain.FindingPolarity(finding.polarity),
        a_event=finding.a_event,
        a_time=finding.a_time,
        b_event=finding.b_event,
        b_time=finding.b_time,
        a_row=finding.a_row,
        b_row=finding.b_row,
        note_evidence=finding.note_evidence,
        table_evidence=finding.table_evidence,
        grounding=domain.Grounding(finding.grounding),
        relation=domain.Relation(finding.relation) if finding.relation else None,
        reason=finding.reason,
        flagged=finding.flagged,
    )


def _event_text(event: str | None) -> str | None:
    """Return an event as the note writes it: the judge sees its bars escaped."""
    return None if event is None else unescape_mention(event)
