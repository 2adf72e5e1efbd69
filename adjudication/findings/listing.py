"""The findings of a judge run as a list, filtered and sorted in SQL.

Each line has both rows and the charged side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Case, Count, F, IntegerField, Q, QuerySet, Value, When
from django.db.models.functions import Abs

from adjudication import domain
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
TYPES: Mapping[str, tuple[str, Q]] = {
    "TIMING": ("different time", Q(type="TIMING")),
    "VALUE": ("different value", Q(type="VALUE")),
    ONE_SIDED: ("only in one", Q(type__in=("A_ONLY", "B_ONLY"))),
    "DUPLICATE": ("reported twice", Q(type="DUPLICATE")),
    "SHARED_UNSUPPORTED": ("in both, unsupported", Q(type="SHARED_UNSUPPORTED")),
}
VERDICTS: Mapping[str, tuple[str, Q]] = {
    DECISIVE: ("for one side", Q(verdict__in=("A", "B"))),
    "BOTH": ("both possible", Q(verdict="BOTH")),
    "NEITHER": ("neither right", Q(verdict="NEITHER")),
    "UNCLEAR": ("unclear", Q(verdict="UNCLEAR")),
}
SIZES: Mapping[str, tuple[str, Q]] = {
    "hours": ("less than 24 h", Q(apart__gt=0, apart__lt=24)),
    "days": ("24 h to 7 d", Q(apart__gte=24, apart__lt=168)),
    "weeks": ("7 d or more", Q(apart__gte=168)),
    "same": ("same hour", Q(apart=0)),
    "none": (
        "a side has no time",
        Q(apart__isnull=True, a_event__isnull=False, b_event__isnull=False),
    ),
    "single": ("only one side has a row", Q(a_event__isnull=True) | Q(b_event__isnull=True)),
}
RERUNS: Mapping[str, tuple[str, Q]] = {
    "": ("first positions", Q(game__swapped=False)),
    "swapped": ("exchanged positions", Q(game__swapped=True)),
    "all": ("both", Q()),
}
SORTS: Mapping[str, tuple[str, ...]] = {
    "case": ("game__comparison__encounter__case_id", "game_id", "ordinal"),
    "type": ("type", "game_id", "ordinal"),
    "verdict": ("verdict", "game_id", "ordinal"),
    "size": ("apart", "pk"),
    "grounding": ("grounding", "game_id", "ordinal"),
    "weight": ("weight", "category", "pk"),
}
_RELATED = (
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

    def conditions(self, sources: Sequence[SourceKey]) -> Q:
        """Return the condition of the filter, without the order."""
        found = RERUNS[self.rerun][1]
        for table, value in ((TYPES, self.type), (VERDICTS, self.verdict), (SIZES, self.size)):
            found &= table[value][1] if value else Q()
        found &= Q(grounding=self.grounding) if self.grounding else Q()
        found &= Q(category=self.category) if self.category else Q()
        found &= Q(flagged=True) if self.flagged else Q()
        found &= Q(game__comparison__encounter__public_id=self.case) if self.case else Q()
        if self.source:
            key = sources[int(self.source)]
            found &= _build_side_condition("first", key) | _build_side_condition("second", key)
        if self.charged:
            key = sources[int(self.charged)]
            found &= (Q(charged_first=True) & _build_side_condition("first", key)) | (
                Q(charged_first=False) & _build_side_condition("second", key)
            )
        return found


def list_run_sources(run: JudgeRun) -> list[SourceKey]:
    """Return the compared sources in order."""
    return [SourceKey(*source) for source in run.sources]


def filter_findings(run: JudgeRun, wanted: FindingFilter) -> QuerySet[Finding]:
    """Return the run's findings, filtered and sorted.

    `apart` is the number of whole hours between both times. The order never uses the labels, which
    are random.
    """
    weights = [
        When(category=category.value, then=Value(round(weight * 2)))
        for category, weight in WEIGHTS.items()
    ]
    found = Finding.objects.filter(game__run=run).annotate(
        apart=Abs(F("a_time") - F("b_time")),
        weight=Case(*weights, default=Value(0), output_field=IntegerField()),
    )
    found = found.filter(wanted.conditions(list_run_sources(run)))
    down, fields = wanted.sort.startswith("-"), SORTS[wanted.sort.removeprefix("-")]
    first = F(fields[0]).desc(nulls_last=True) if down else F(fields[0]).asc(nulls_last=True)
    return found.select_related(*_RELATED).order_by(first, *fields[1:])


def count_by_type(findings: QuerySet[Finding]) -> list[tuple[str, str]]:
    """Return (value, words with the count) for each type, after the total."""
    counts = dict(findings.order_by().values_list("type").annotate(n=Count("pk")))
    counts[ONE_SIDED] = counts.pop("A_ONLY", 0) + counts.pop("B_ONLY", 0)
    present = [(value, words, n) for value, (words, _) in TYPES.items() if (n := counts.get(value))]
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


def _build_side_condition(side: str, key: SourceKey) -> Q:
    path = f"game__comparison__{side}__"
    return Q(
        **{
            f"{path}source": key.source,
            f"{path}kind": key.kind,
            f"{path}alternative": key.alternative,
        }
    )
