"""The timelines of a case, in groups that a reader switches between.

There is one group for each run or other source; references are separate.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ehr.models import Encounter
from timelines.access.authoring import (
    CONSENSUS,
    CURATED,
    SOURCE,
    SUPERSEDED_TIMELINES,
    source_words,
)
from timelines.domain import TimelineKind
from timelines.models import Run, Timeline
from timelines.runs.study_timeline.selection import (
    fallback_order,
    find_study_run,
    is_study_run,
    run_words,
)
from timelines.transfer.references import SOURCE as REFERENCE_SOURCE


@dataclass(frozen=True, slots=True)
class Choice:
    """One timeline that may be shown.

    `settled` timelines can no longer change, so their drawings may be cached.
    """

    pk: int
    public_id: str
    kind: TimelineKind
    alternative: int
    source: str
    inventory_id: int | None
    case_run_id: int | None
    settled: bool
    #: Whether it is over a chart of several notes.
    composed: bool = False

    @property
    def is_curated(self) -> bool:
        """Whether it has people's corrections (docs/adr/0050)."""
        return self.source.startswith(CURATED)

    @property
    def author(self) -> str:
        """Whose submitted timeline it is; empty for any other."""
        return source_words(self.source) if self.source.startswith(SOURCE) else ""

    @property
    def consensus(self) -> str:
        """Whose timelines it reconciles; empty for any other."""
        return source_words(self.source) if self.source.startswith(CONSENSUS) else ""


@dataclass(frozen=True)
class Group:
    """The timelines of one run, or of one source without a run.

    `is_study`: its run is the study timeline (docs/adr/0040). `curated`: its best timeline with the
    corrections that count, if any do.
    """

    label: str
    text_only: Choice | None = None
    revised: tuple[Choice, ...] = ()
    run: Run | None = None
    is_study: bool = False
    curated: Choice | None = None

    @property
    def base(self) -> Choice:
        """Return the primary revised timeline, else the text-only one.

        People correct its times.
        """
        found = self.revised[0] if self.revised else self.text_only
        assert found is not None
        return found

    @property
    def best(self) -> Choice:
        """Return the timeline that opens first: the curated one, else the base."""
        return self.curated or self.base

    @property
    def members(self) -> tuple[Choice, ...]:
        """Return all of its timelines, the curated one last."""
        return tuple(c for c in (self.text_only, *self.revised, self.curated) if c)

    def find_origin(self, choice: Choice) -> Choice:
        """Return the base of the curated timeline, else the same timeline."""
        return self.base if choice is self.curated else choice


@dataclass(frozen=True)
class Choices:
    """All timelines of a case.

    The study timeline's group comes first, then other full runs, variants and foreign sources.
    """

    groups: tuple[Group, ...] = ()
    references: tuple[Choice, ...] = field(default=())
    #: How pages name the study timeline of the case's dataset; empty if none is chosen.
    study_label: str = ""

    def __bool__(self) -> bool:
        return bool(self.groups or self.references)

    @property
    def count(self) -> int:
        """Return the number of timelines."""
        return len(self.references) + sum(len(g.members) for g in self.groups)

    @property
    def authors(self) -> int:
        """Return the number of authors among the references."""
        return sum(bool(c.author) for c in self.references)

    @property
    def default(self) -> Choice:
        return self.groups[0].best if self.groups else self.references[0]

    @property
    def first_group(self) -> Group | None:
        """The group that opens first; None for a case that has references alone."""
        return self.groups[0] if self.groups else None

    def find(self, public_id: str) -> Choice | None:
        """The timeline of that public id, if this case has it."""
        known = (c for g in self.groups for c in g.members)
        return next((c for c in (*known, *self.references) if c.public_id == public_id), None)

    def find_group(self, choice: Choice) -> Group | None:
        """The group a timeline belongs to; None for a reference."""
        return next((g for g in self.groups if choice in g.members), None)

    def notice(self, group: Group | None) -> str:
        """Return what a reader must know of a group.

        Empty if there is nothing to say, as for the finished study timeline.
        """
        if group is None or (group.is_study and group.revised):
            return ""
        if group.is_study:
            return (
                "The study timeline is not finished for this case: it has no times from the record"
                " yet."
            )
        if not self.study_label:
            return (
                "No study timeline is chosen for this cohort. The oldest full run opens first."
                if len(self.groups) > 1
                else ""
            )
        if self.first_group and self.first_group.is_study:
            return "This is not the study timeline."
        return f"This case has no study timeline ({self.study_label}). Another run is shown."


_FIELDS = (
    "pk",
    "public_id",
    "kind",
    "alternative",
    "source",
    "inventory_id",
    "case_run_id",
    "inventory__sealed_at",
    "inventory__note__composed",
    "case_run__run_id",
    "curated__base_id",
)


def load_choices(encounter: Encounter, *, hidden: Collection[int] = ()) -> Choices:
    """Return the timelines of a case, in two or three queries.

    The third is for a case that no study timeline has. The `hidden` ones
    (`timelines.access.authoring.hidden_timelines`) are left out, and so are submissions that a
    later one replaced.
    """
    rows = (
        Timeline.objects.filter(encounter=encounter)
        .exclude(pk__in=hidden)
        .exclude(SUPERSEDED_TIMELINES)
        .order_by("-case_run_id", "source", "kind", "alternative", "-pk")
        .values_list(*_FIELDS)
    )
    found = Run.objects.filter(cases__encounter=encounter).annotate(of_study=is_study_run("pk"))
    runs = {run.pk: run for run in found}
    study = next((run for run in found if run.of_study), None) or find_study_run(
        encounter.dataset_id
    )
    grouped: dict[tuple[int, str], list[Choice]] = {}
    references = []
    curated: dict[int, Choice] = {}
    for (
        pk,
        public_id,
        kind,
        alternative,
        source,
        inventory_id,
        case_run_id,
        sealed_at,
        composed,
        run_id,
        base_id,
    ) in rows:
        settled = sealed_at is not None or inventory_id is None
        choice = Choice(
            pk,
            public_id,
            TimelineKind(kind),
            alternative,
            source,
            inventory_id,
            case_run_id,
            settled,
            bool(composed),
        )
        if base_id is not None:
            curated[base_id] = choice
        elif choice.kind is TimelineKind.REFERENCE:
            references.append(choice)
        else:
            grouped.setdefault((run_id or 0, "" if run_id else source), []).append(choice)
    groups = [
        _group(runs.get(run_id), source, members, study, curated)
        for (run_id, source), members in sorted(grouped.items())
    ]
    # The cohort's own reference first, then imported ones, then people's: the first is what the
    # others are compared with.
    references.sort(
        key=lambda c: (c.source != REFERENCE_SOURCE, c.source.startswith((SOURCE, CONSENSUS)))
    )
    study_label = run_words(study) if study else ""
    return Choices(tuple(sorted(groups, key=_order)), tuple(references), study_label)


def _order(group: Group) -> tuple[object, ...]:
    """Return the sort key of a group.

    First the study timeline, if it has revised times; then other runs, full and revised ones first;
    then sources without a run by name.
    """
    if group.run is None:
        return 2, group.label
    full, own_rho, pk = fallback_order(group.run)
    return 0 if group.is_study and group.revised else 1, full, not group.revised, own_rho, pk


def _group(
    run: Run | None,
    source: str,
    members: Sequence[Choice],
    study: Run | None,
    curated: Mapping[int, Choice],
) -> Group:
    text = next((c for c in members if c.kind is TimelineKind.TEXT_ONLY), None)
    is_study = run is not None and run == study
    return Group(
        _label(run, source, study),
        text,
        tuple(c for c in members if c.kind is TimelineKind.REVISED),
        run,
        is_study,
        next((curated[c.pk] for c in members if c.pk in curated), None),
    )


def _label(run: Run | None, source: str, study: Run | None) -> str:
    if run is None:
        return f"Imported: {source}"
    if study is None:
        return f"Run: {run_words(run)}"
    return (
        f"Study timeline: {run.label or run.source}"
        if run == study
        else f"Other run: {run_words(run)}"
    )
