"""What blinded samples say: precision, and how far reviewers agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from django.db import connection

from adjudication.scoring.agreement import cohen_kappa
from adjudication.scoring.intervals import wilson_interval
from cohorts.models import ConceptSample, ConceptSampleItem

DECIDED = ("yes", "no")


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its 95 % interval (Wilson); unclear answers are counted apart."""

    successes: int
    answered: int
    unclear: int

    @property
    def share(self) -> float | None:
        return self.successes / self.answered if self.answered else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return wilson_interval(self.successes, self.answered)

    @property
    def words(self) -> str:
        """Return the share in words; "" without an answer."""
        if self.share is None or self.interval is None:
            return ""
        low, high = self.interval
        unclear = f", {self.unclear} unclear" if self.unclear else ""
        return (
            f"{self.successes} of {self.answered}{unclear}: {self.share:.0%}"
            f" (95 % CI {low:.0%} to {high:.0%})"
        )


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often two reviewers gave the same answer, and Cohen's κ.

    Sentences that one of them left unclear are counted apart. κ is None if both answered alike
    throughout with one answer.
    """

    people: tuple[str, str]
    same: Rate
    kappa: float | None

    @property
    def words(self) -> str:
        kappa = "" if self.kappa is None else f", κ {self.kappa:.2f}"
        return f"{self.same.words}{kappa}"


@dataclass(frozen=True, slots=True)
class Draw:
    """The samples of one draw: the same sentences, a sample for each reviewer."""

    samples: tuple[ConceptSample, ...]

    @property
    def is_closed(self) -> bool:
        """Return whether every reviewer has closed; no figure is shown before."""
        return all(sample.closed_at is not None for sample in self.samples)

    @property
    def version_words(self) -> str:
        version, at = self.samples[0].version, self.samples[0].created_at
        return f"{version.number}, drawn {at:%Y-%m-%d %H:%M}"

    @property
    def together(self) -> tuple[Rate, Rate]:
        return measure(self.samples)

    @property
    def agreements(self) -> list[Agreement]:
        """Return the agreement of each pair of reviewers."""
        return [measure_agreement(a, b) for a, b in combinations(self.samples, 2)]


def group_draws(samples: Iterable[ConceptSample]) -> list[Draw]:
    """Return the draws of these samples in their order."""
    found: dict[str, list[ConceptSample]] = defaultdict(list)
    for sample in samples:
        found[sample.draw].append(sample)
    return [Draw(tuple(sorted(several, key=lambda s: s.pk))) for several in found.values()]


def measure(samples: Sequence[ConceptSample]) -> tuple[Rate, Rate]:
    """Return the precision, and the share of missed among rejected.

    A sentence has the answer that more of its reviewers gave; as many yes as no is unclear.
    """
    rejected = set(
        samples[0]
        .version.concept.members.filter(kind="mention", state="rejected")
        .values_list("key", "polarity")
    )
    answers: dict[int, list[str]] = defaultdict(list)
    members, others = set(), set()
    keys = _load_keys(samples)
    for item in ConceptSampleItem.objects.filter(sample__in=samples):
        answers[item.occurrence_id].append(item.answer)
        if item.is_member:
            members.add(item.occurrence_id)
        elif keys.get(item.occurrence_id) in rejected:
            others.add(item.occurrence_id)
    return _rate(settle(answers[o]) for o in members), _rate(settle(answers[o]) for o in others)


def measure_agreement(one: ConceptSample, other: ConceptSample) -> Agreement:
    """Return how far two reviewers of the same sentences agree."""
    first, second = ({i.occurrence_id: i.answer for i in s.items.all()} for s in (one, other))
    pairs = [(first[o], second[o]) for o in first.keys() & second.keys()]
    decided = [pair for pair in pairs if set(pair) <= set(DECIDED)]
    table = [[decided.count((a, b)) for b in DECIDED] for a in DECIDED]
    same = sum(a == b for a, b in decided)
    return Agreement(
        (one.reviewer.get_username(), other.reviewer.get_username()),
        Rate(same, len(decided), len(pairs) - len(decided)),
        cohen_kappa(table),
    )


def settle(answers: Sequence[str]) -> str:
    """Return the answer that more reviewers gave.

    "unclear" for a tie, "" without an answer.
    """
    yes, no = answers.count("yes"), answers.count("no")
    if yes != no:
        return "yes" if yes > no else "no"
    return "unclear" if any(answers) else ""


def _rate(answers: Iterable[str]) -> Rate:
    given = list(answers)
    yes, no, unclear = (given.count(name) for name in ("yes", "no", "unclear"))
    return Rate(yes, yes + no, unclear)


def _load_keys(samples: Sequence[ConceptSample]) -> dict[int, tuple[str, str]]:
    """Return the words' key and the polarity of each sampled occurrence.

    The database makes the key; the model does not have it.
    """
    items = ConceptSampleItem.objects.filter(sample__in=samples)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, mention_key, polarity FROM timelines_occurrence WHERE id = ANY(%s)",
            [list(items.values_list("occurrence_id", flat=True))],
        )
        return {pk: (key, polarity) for pk, key, polarity in cursor.fetchall()}
