"""Recall and precision of a judge on planted discrepancies. No Django.

By type and size. Tallies of games add up. Source: protocol section 4 ("Beyond the paper").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from adjudication.domain import Finding, FindingType, Verdict
from adjudication.judging.input import JudgedFinding, JudgeInput
from adjudication.planting.twins import MEASURED, Plant, PlantedChange
from timelines.domain import DAY, WEEK


class Difference(StrEnum):
    """A finding's type in terms of the original and its twin, not A and B."""

    VALUE = "value"
    TIMING = "timing"
    ORIGINAL_ONLY = "original only"
    TWIN_ONLY = "twin only"
    DUPLICATE = "duplicate"
    SHARED_UNSUPPORTED = "shared, unsupported"


#: Each change's expected difference; quiet changes have none.
EXPECTED: Mapping[Plant, Difference] = {
    Plant.SHIFTED_BEYOND: Difference.TIMING,
    Plant.SIGN_FLIPPED: Difference.TIMING,
    Plant.DROPPED: Difference.ORIGINAL_ONLY,
    Plant.DUPLICATED: Difference.DUPLICATE,
    Plant.INVENTED: Difference.TWIN_ONLY,
    Plant.VALUE_CHANGED: Difference.VALUE,
}
#: (words, exclusive upper end) of the sizes: hours for times, shares of the original for values.
TIME_SIZES = (("under 1 day", DAY), ("1 day to 1 week", WEEK), ("1 week or more", float("inf")))
VALUE_SIZES = (
    ("under a quarter", 0.25),
    ("a quarter to a half", 0.5),
    ("half or more", float("inf")),
)
ANY_SIZE = ""

#: Counted separately: a difference, and the words of its size (ANY_SIZE if it has none).
Key = tuple[Difference, str]


@dataclass(frozen=True)
class Tally:
    """Counts of one game or of many.

    `planted` and `found` by (difference, size planted); `reported` and `true` by (difference, size
    by the judged rows, ANY_SIZE if they have none). `kinds` and `kinds_found` by kind of change; a
    quiet change counts in `kinds_found` if any finding is about its rows. `decided` counts true
    findings with a decisive verdict, `right` those of them for the original.
    """

    planted: Counter[Key] = field(default_factory=Counter)
    found: Counter[Key] = field(default_factory=Counter)
    reported: Counter[Key] = field(default_factory=Counter)
    true: Counter[Key] = field(default_factory=Counter)
    kinds: Counter[Plant] = field(default_factory=Counter)
    kinds_found: Counter[Plant] = field(default_factory=Counter)
    decided: Counter[Difference] = field(default_factory=Counter)
    right: Counter[Difference] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Rates:
    """Recall and precision of one difference, of one size or all.

    `size` is empty for all. A rate is None if its denominator is 0.
    """

    difference: Difference
    size: str
    planted: int
    found: int
    reported: int
    true: int

    @property
    def recall(self) -> float | None:
        return _ratio(self.found, self.planted)

    @property
    def precision(self) -> float | None:
        return _ratio(self.true, self.reported)


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts on the true findings of a difference.

    Of `found` findings `decided` have a verdict for a side, and `right` of those for the original.
    """

    difference: Difference
    found: int
    decided: int
    right: int

    @property
    def decisive(self) -> float | None:
        return _ratio(self.decided, self.found)

    @property
    def accuracy(self) -> float | None:
        return _ratio(self.right, self.decided)


def tally(
    planted: Sequence[PlantedChange], given: JudgeInput, findings: Iterable[JudgedFinding]
) -> Tally:
    """Count a game whose first timeline is the original and second its twin.

    A finding of the expected difference about a change's rows detects it, and one finding detects
    one change: if a change is reported twice, the second finding is false. So is a finding about
    rows of a quiet change, or of an unexpected difference.
    """
    result = Tally()
    for change in planted:
        result.kinds[change.kind] += 1
        if not change.kind.quiet:
            result.planted[EXPECTED[change.kind], _planted_size(change)] += 1
    met: set[frozenset[str]] = set()
    for judged in findings:
        finding = judged.finding
        difference, uids = unblinded_difference(finding, given), _uids(finding, given)
        key = difference, _judged_size(finding, given)
        result.reported[key] += 1
        about = next((p for p in planted if uids and uids <= p.uids), None)
        if about is None:
            continue
        if about.kind.quiet:
            result.kinds_found[about.kind] += about.uids not in met
        elif EXPECTED[about.kind] is difference and about.uids not in met:
            result.true[key] += 1
            result.found[difference, _planted_size(about)] += 1
            result.kinds_found[about.kind] += 1
            if finding.verdict.decisive:
                result.decided[difference] += 1
                result.right[difference] += (finding.verdict is Verdict.A) == given.a_is_first
        else:
            continue
        met.add(about.uids)
    return result


def pool_tallies(tallies: Iterable[Tally]) -> Tally:
    """Add up the counts of many games."""
    total = Tally()
    for one in tallies:
        for name, counts in vars(one).items():
            getattr(total, name).update(counts)
    return total


def rates(counts: Tally) -> list[Rates]:
    """Return rates of every difference: all sizes, then each size.

    Differences that were planted or reported.
    """
    rows = []
    for difference in Difference:
        keys = {
            k
            for counter in (counts.planted, counts.reported)
            for k in counter
            if k[0] is difference
        }
        if not keys:
            continue
        named = [words for words in _sizes(difference) if (difference, words) in keys]
        rows.append(_rates(counts, difference, ANY_SIZE, keys))
        rows += [_rates(counts, difference, words, {(difference, words)}) for words in named]
    return rows


def overall(counts: Tally) -> tuple[float | None, float | None]:
    """Return (recall, precision) of all differences together.

    None if no difference was planted, or none reported.
    """
    planted, found, reported, true = (
        c.total() for c in (counts.planted, counts.found, counts.reported, counts.true)
    )
    return _ratio(found, planted), _ratio(true, reported)


def verdicts(counts: Tally) -> list[Verdicts]:
    """Return the verdicts on every difference with true findings."""
    found = {d: sum(n for key, n in counts.true.items() if key[0] is d) for d in Difference}
    return [Verdicts(d, n, counts.decided[d], counts.right[d]) for d, n in found.items() if n]


def report(counts: Tally) -> list[tuple[str, ...]]:
    """Return a table in words, its head first.

    Each difference and size has its counts, recall and precision; each difference has its verdicts.
    A rate without a denominator is "–".
    """
    judged = {v.difference: v for v in verdicts(counts)}
    table = [
        (
            "difference",
            "size",
            "planted",
            "found",
            "recall",
            "reported",
            "true",
            "precision",
            "decided",
            "original right",
        )
    ]
    for r in rates(counts):
        v = judged.get(r.difference) if r.size == ANY_SIZE else None
        decided = (_share(v.decisive), _share(v.accuracy)) if v else ("", "")
        numbers = (
            str(r.planted),
            str(r.found),
            _share(r.recall),
            str(r.reported),
            str(r.true),
            _share(r.precision),
        )
        table.append((str(r.difference), r.size or "all", *numbers, *decided))
    recall, precision = overall(counts)
    planted, found, reported, true = (
        str(c.total()) for c in (counts.planted, counts.found, counts.reported, counts.true)
    )
    decisive, right = counts.decided.total(), counts.right.total()
    shares = (_share(_ratio(decisive, counts.true.total())), _share(_ratio(right, decisive)))
    return [
        *table,
        ("all", "all", planted, found, _share(recall), reported, true, _share(precision), *shares),
    ]


def report_of_kinds(counts: Tally) -> list[tuple[str, ...]]:
    """Return a table in words, its head first, by kind of change.

    It counts the changes that a finding was about; quiet ones should have none.
    """
    table = [("change", "made", "reported", "expected")]
    made = [kind for kind in Plant if counts.kinds[kind]]
    return [
        *table,
        *(
            (str(k), str(counts.kinds[k]), str(counts.kinds_found[k]), "no" if k.quiet else "yes")
            for k in made
        ),
    ]


def unblinded_difference(finding: Finding, given: JudgeInput) -> Difference:
    """Return a finding's difference, unblinded."""
    if finding.type.one_sided:
        return (
            Difference.ORIGINAL_ONLY
            if (finding.type is FindingType.A_ONLY) == given.a_is_first
            else Difference.TWIN_ONLY
        )
    return Difference[finding.type.name]


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _share(rate: float | None) -> str:
    return "–" if rate is None else f"{rate:.3f}"


def _rates(counts: Tally, difference: Difference, size: str, keys: Iterable[Key]) -> Rates:
    keys = list(keys)
    planted, found, reported, true = (
        sum(c[k] for k in keys)
        for c in (counts.planted, counts.found, counts.reported, counts.true)
    )
    return Rates(difference, size, planted, found, reported, true)


def _uids(finding: Finding, given: JudgeInput) -> frozenset[str]:
    rows = [given.by_row[n][1] for n in (finding.a_row, finding.b_row) if n is not None]
    return frozenset(r.uid for r in rows if r.uid is not None)


def _sizes(difference: Difference) -> list[str]:
    bands = {Difference.TIMING: TIME_SIZES, Difference.VALUE: VALUE_SIZES}.get(difference, ())
    return [words for words, _ in bands]


def _band(size: float, bands: Sequence[tuple[str, float]]) -> str:
    return next(words for words, end in bands if size < end)


def _planted_size(change: PlantedChange) -> str:
    if change.size is None:
        return ANY_SIZE
    return _band(change.size, VALUE_SIZES if change.kind is Plant.VALUE_CHANGED else TIME_SIZES)


def _judged_size(finding: Finding, given: JudgeInput) -> str:
    """Return the size by the judged rows.

    It is whole hours apart, or the change of the one differing number as a share of the original's.
    """
    if (
        finding.type is FindingType.TIMING
        and finding.a_time is not None
        and finding.b_time is not None
    ):
        return _band(abs(finding.a_time - finding.b_time), TIME_SIZES)
    if finding.type is FindingType.VALUE:
        events = (finding.a_event or "", finding.b_event or "")
        original, twin = (
            Counter(map(float, MEASURED.findall(e)))
            for e in (events if given.a_is_first else reversed(events))
        )
        gone, come = list((original - twin).elements()), list((twin - original).elements())
        if len(gone) == len(come) == 1 and gone[0]:
            return _band(abs(gone[0] - come[0]) / gone[0], VALUE_SIZES)
    return ANY_SIZE
