"""Which timelines a case has, in groups a reader switches between: one group a run or other source, the references apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ehr.models import Encounter
from timelines.authoring_access import SOURCE, SUPERSEDED_TIMELINES
from timelines.domain import TimelineKind
from timelines.models import Timeline
from timelines.pipeline.config import Variant
from timelines.references import SOURCE as REFERENCE_SOURCE


@dataclass(frozen=True, slots=True)
class Choice:
    """One timeline that may be shown. `settled` timelines can no longer change, so what is drawn from them may be kept."""

    pk: int
    public_id: str
    kind: TimelineKind
    alternative: int
    source: str
    inventory_id: int | None
    case_run_id: int | None
    settled: bool

    @property
    def author(self) -> str:
        """Whose submitted timeline it is; empty for any other."""
        return self.source.removeprefix(SOURCE) if self.source.startswith(SOURCE) else ""


@dataclass(frozen=True)
class Group:
    """The timelines of one run, or of one source without a run."""

    label: str
    text_only: Choice | None = None
    revised: tuple[Choice, ...] = ()

    @property
    def best(self) -> Choice:
        """What opens first: the primary revised timeline, else the text-only one."""
        found = self.revised[0] if self.revised else self.text_only
        assert found is not None
        return found


@dataclass(frozen=True)
class Choices:
    """All timelines of a case: the latest full run's group first, then other full runs, variants and foreign sources."""

    groups: tuple[Group, ...] = ()
    references: tuple[Choice, ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.groups or self.references)

    @property
    def count(self) -> int:
        """How many timelines there are."""
        return len(self.references) + sum(len(g.revised) + (g.text_only is not None) for g in self.groups)

    @property
    def authors(self) -> int:
        """How many people's own timelines are among the references."""
        return sum(bool(c.author) for c in self.references)

    @property
    def default(self) -> Choice:
        return self.groups[0].best if self.groups else self.references[0]

    @property
    def first_group(self) -> Group | None:
        """The latest run's group; None for a case that has references alone."""
        return self.groups[0] if self.groups else None

    def find(self, public_id: str) -> Choice | None:
        """The timeline of that public id, if this case has it."""
        known = (c for g in self.groups for c in (g.text_only, *g.revised) if c)
        return next((c for c in (*known, *self.references) if c.public_id == public_id), None)

    def group_of(self, choice: Choice) -> Group | None:
        """The group a timeline belongs to; None for a reference."""
        return next((g for g in self.groups if choice is g.text_only or choice in g.revised), None)


def choices_of(encounter: Encounter, *, hidden: Collection[int] = ()) -> Choices:
    """One query. Without the `hidden` ones (`authoring_access.hidden_timelines`), and without submissions that a later one replaced."""
    rows = (
        Timeline.objects.filter(encounter=encounter)
        .exclude(pk__in=hidden)
        .exclude(SUPERSEDED_TIMELINES)
        .order_by("-case_run_id", "source", "kind", "alternative", "-pk")
        .values_list(
            "pk",
            "public_id",
            "kind",
            "alternative",
            "source",
            "inventory_id",
            "case_run_id",
            "inventory__sealed_at",
            "case_run__run__label",
            "case_run__run__variant",
            "case_run__run__based_on",
            "case_run__run__created_at",
        )
    )
    grouped: dict[tuple[int, str], list[Choice]] = {}
    labels: dict[tuple[int, str], str] = {}
    begun: dict[tuple[int, str], datetime | None] = {}
    full: set[tuple[int, str]] = set()
    references = []
    for pk, public_id, kind, alternative, source, inventory_id, case_run_id, sealed_at, label, variant, base, created in rows:
        settled = sealed_at is not None or inventory_id is None
        choice = Choice(pk, public_id, TimelineKind(kind), alternative, source, inventory_id, case_run_id, settled)
        if choice.kind is TimelineKind.REFERENCE:
            references.append(choice)
        else:
            key = (case_run_id or 0, "" if case_run_id else source)
            grouped.setdefault(key, []).append(choice)
            labels[key], begun[key] = label or source, created
            if variant == Variant.FULL and base is None and inventory_id is not None:
                full.add(key)
    ordered = sorted(grouped, key=lambda key: (key not in full, -key[0], key[1]))
    # The cohort's own reference first, then imported ones, then people's: the first is what the others are compared with.
    references.sort(key=lambda c: (c.source != REFERENCE_SOURCE, c.source.startswith(SOURCE)))
    return Choices(tuple(_group(name, grouped[key]) for key, name in _told_apart(labels, begun, ordered)), tuple(references))


def _told_apart(
    labels: Mapping[tuple[int, str], str], begun: Mapping[tuple[int, str], datetime | None], ordered: Sequence[tuple[int, str]]
) -> Iterator[tuple[tuple[int, str], str]]:
    """Each group with its label, and with the minute its run began where several have one label."""
    several = Counter(labels.values())
    for key in ordered:
        began = begun[key]
        when = f", {began:%Y-%m-%d %H:%M} UTC" if began is not None and several[labels[key]] > 1 else ""
        yield key, labels[key] + when


def _group(label: str, members: Sequence[Choice]) -> Group:
    text = next((c for c in members if c.kind is TimelineKind.TEXT_ONLY), None)
    return Group(label, text, tuple(c for c in members if c.kind is TimelineKind.REVISED))
