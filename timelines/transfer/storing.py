"""Store foreign timelines, each as a source of its own.

They are sealed and complete; storing the same input twice changes nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.db import transaction
from django.db.models import ProtectedError, RestrictedError

from accounts.audit.trail import record
from accounts.models import User
from ehr.formats.cases import LONGEST_PROTOCOL
from ehr.models import Dataset, Encounter, Note, SourceRow
from ehr.record.charts import find_note
from timelines import domain, models
from timelines.access.authoring import PEOPLES
from timelines.domain import TimelineKind
from timelines.formats.assembling import build_domain
from timelines.formats.extension import file_name
from timelines.formats.readers import READERS
from timelines.formats.values import CaseFacts, Fault, Foreign, Unreadable
from timelines.models import Inventory, Run, Timeline
from timelines.pipeline.uids import UidsUsedUp, unescape_mention
from timelines.runs import storage
from timelines.runs.baselines import BASELINES
from timelines.runs.tools import BACKBONES
from timelines.transfer.references import SOURCE as REFERENCE_SOURCE

SOURCE_NAME = re.compile(r"[\w][\w.:/ +=-]{0,99}")
_Key = tuple[TimelineKind, int]


class SourceRefused(ValueError):
    """The name of a source cannot be used; the message says why."""

    log_safe = True


@dataclass(frozen=True)
class Wanted:
    """How to store the files.

    `kind` and `alternative` None: as the file says, else text_only and 1. `only`: import only this
    source of the files. `protocol` is the annotation protocol of references.
    """

    source: str
    kind: TimelineKind | None = None
    alternative: int | None = None
    only: str = ""
    replace: bool = False
    protocol: str = ""

    def protocol_of(self, kind: TimelineKind) -> str:
        return self.protocol if kind is TimelineKind.REFERENCE else ""


@dataclass
class ForeignReport:
    """The counts of an import, in timelines.

    `faults` are in order of the files.
    """

    imported: int = 0
    replaced: int = 0
    unchanged: int = 0
    left_out: int = 0
    cases: int = 0
    events: int = 0
    placed: int = 0
    faults: list[Fault] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The summary, without any text of notes or events."""
        new = (
            f"{self.imported} timelines imported, {self.replaced} replaced, {self.unchanged}"
            f" unchanged in {self.cases} cases"
        )
        spans = f"{self.events} occurrences stored, {self.placed} of them with a place in the note"
        left = (
            [f"  {self.left_out} timelines of other sources, kinds or alternatives left out"]
            if self.left_out
            else []
        )
        return [
            f"{new}; {spans}; {len(self.faults)} faults",
            *left,
            *(f"  {fault.words()}" for fault in self.faults),
        ]


def import_foreign(
    *, dataset: Dataset, path: Path, format: str, wanted: Wanted, by: User | None = None
) -> ForeignReport:
    """Read the files and store what is valid, case by case.

    Records an audit event. Raises SourceRefused, Unreadable (no file at `path`).
    """
    check_source(dataset, wanted.source)
    if len(wanted.protocol) > LONGEST_PROTOCOL or not wanted.protocol.isprintable():
        raise SourceRefused(
            f"a protocol is named by at most {LONGEST_PROTOCOL} characters that can be shown"
        )
    report, book = ForeignReport(), CaseBook(dataset)
    found: dict[str, list[Foreign]] = defaultdict(list)
    for item in READERS[format](path, book.find):
        if isinstance(item, Fault):
            report.faults.append(item)
        else:
            found[item.heading.case].append(item)
    named = sorted(
        {f.heading.source for listed in found.values() for f in listed if f.heading.source}
    )
    if len(named) > 1 and not wanted.only:
        raise SourceRefused(
            f"the files have timelines of {len(named)} sources: {', '.join(named)}; choose one with"
            " --only"
        )
    for case_id, listed in found.items():
        _take(book.encounters[case_id], listed, wanted, report)
    counts = {
        "imported": report.imported,
        "replaced": report.replaced,
        "unchanged": report.unchanged,
        "faults": len(report.faults),
    }
    record(
        actor=by,
        study=dataset.study,
        action="timelines.import",
        object_type="ehr.dataset",
        object_id=dataset.public_id,
        detail={"format": format, "source": wanted.source, **counts},
    )
    return report


def check_source(dataset: Dataset, source: str) -> None:
    """Names of runs, references and authors stay theirs. Raises SourceRefused."""
    if not SOURCE_NAME.fullmatch(source):
        raise SourceRefused(
            "a source is named by at most 100 letters, digits, spaces and . : / + = - _"
        )
    runs = Run.objects.filter(study=dataset.study, source=source)
    ours = (
        source == REFERENCE_SOURCE
        or source.startswith(PEOPLES)
        or re.split("[/:]", source)[0] in {*BACKBONES, *BASELINES}
    )
    if ours or runs.exists():
        raise SourceRefused(
            f"{source!r} is the name of a reference, an author, a correction or a run; choose another"
        )


class CaseBook:
    """The dataset's cases by id, or by the file name that exports use."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.encounters: dict[str, Encounter] = {}
        self._facts: dict[str, CaseFacts] = {}
        self._files: dict[str, str] | None = None

    def find(self, name: str) -> CaseFacts | None:
        """Return the facts of a case, None if it is unknown.

        Raises Unreadable for a case whose note is missing or no longer the imported one.
        """
        if name not in self._facts:
            encounter = self._encounter(name)
            if encounter is None:
                return None
            self.encounters[encounter.case_id] = encounter
            self._facts[name] = _facts(encounter)
        return self._facts[name]

    def _encounter(self, name: str) -> Encounter | None:
        cases = Encounter.objects.filter(dataset=self.dataset)
        if "\x00" in name:
            return None
        if encounter := cases.filter(case_id=name).first():
            return encounter
        if self._files is None:
            self._files = {
                file_name(case_id): case_id for case_id in cases.values_list("case_id", flat=True)
            }
        return cases.filter(case_id=self._files.get(name, "")).first()


def _facts(encounter: Encounter) -> CaseFacts:
    note = find_note(encounter)
    if note is None:
        raise Unreadable("case_id", "the case has no note")
    try:
        case = storage.load_case(encounter, note)
    except storage.NoteChanged:
        raise Unreadable(
            "case_id", "the stored note no longer matches its checksum; import the case again"
        ) from None
    return CaseFacts(encounter.case_id, case.note, case.window.anchor)


def _take(
    encounter: Encounter, listed: Sequence[Foreign], wanted: Wanted, report: ForeignReport
) -> None:
    """Store what is wanted of one case, or nothing of it."""
    chosen: dict[_Key, Foreign] = {}
    for foreign in listed:
        heading = foreign.heading
        kind, alternative = (
            wanted.kind or heading.kind or TimelineKind.TEXT_ONLY,
            wanted.alternative or heading.alternative or 1,
        )
        other = (wanted.only and heading.source != wanted.only) or heading.kind not in (None, kind)
        if other or heading.alternative not in (None, alternative):
            report.left_out += 1
        elif (kind, alternative) in chosen:
            report.faults.append(
                Fault(
                    foreign.file,
                    None,
                    "case_id",
                    "a second timeline of the same case, kind and alternative",
                )
            )
            return
        else:
            chosen[kind, alternative] = foreign
    if chosen:
        _store(encounter, chosen, wanted, report)


@transaction.atomic
def _store(
    encounter: Encounter, chosen: dict[_Key, Foreign], wanted: Wanted, report: ForeignReport
) -> None:
    # Not a key lock: a run that stores its inventory of this note refers to the encounter while it
    # has the note's lock.
    Encounter.objects.select_for_update(no_key=True).get(pk=encounter.pk)
    note = find_note(encounter)
    assert note is not None
    there = {
        (TimelineKind(t.kind), t.alternative): t
        for t in Timeline.objects.filter(
            encounter=encounter, source=wanted.source, case_run=None
        ).select_related("inventory")
    }
    try:
        made = _made(note, chosen, there, wanted)
    except UidsUsedUp as error:
        report.faults.append(Fault(next(iter(chosen.values())).file, None, "uid", str(error)))
        return
    same = {
        key
        for key in made
        if key in there
        and wanted.protocol_of(key[0]) in ("", there[key].protocol)
        and _load_stored(there[key]) == made[key]
    }
    changed = [key for key in made if key in there and key not in same]
    faults = [
        f
        for key in made
        if key not in same
        if (f := _refusal(chosen[key], encounter, there.get(key), wanted))
    ]
    if faults:
        report.faults += faults
        return
    try:
        with transaction.atomic():
            for key in changed:
                _remove(there[key])
    except (ProtectedError, RestrictedError):
        reason = (
            "findings about the stored timeline are in a review packet, so it is not replaced;"
            " choose another --source"
        )
        report.faults += [Fault(chosen[key].file, None, "", reason) for key in changed]
        return
    inventories: dict[domain.Inventory, Inventory] = {}
    for key, stored in there.items():
        if key not in changed and stored.inventory is not None:
            inventories[storage.load_inventory(stored.inventory.pk)] = stored.inventory
    for key in made:
        if key in same:
            continue
        inventory, timeline = made[key]
        if inventory not in inventories:
            inventories[inventory] = storage.save_inventory(
                note=note, inventory=inventory, origin=Inventory.Origin.IMPORT
            )
            report.events += len(inventory)
            report.placed += sum(o.start is not None for o in inventory)
        replaced = there[key].protocol if key in there else ""
        storage.save_timeline(
            timeline=timeline,
            inventory=inventories[inventory],
            source=wanted.source,
            protocol=wanted.protocol_of(key[0]) or replaced,
        )
    report.cases += 1
    report.unchanged += len(same)
    report.replaced += len(changed)
    report.imported += len(made) - len(same) - len(changed)


def _made(
    note: Note, chosen: Mapping[_Key, Foreign], there: Mapping[_Key, Timeline], wanted: Wanted
) -> dict[_Key, tuple[domain.Inventory, domain.Timeline]]:
    """Return the inventories and timelines that the files give.

    A timeline that replaces one of its own source may keep the UIDs of that one. Raises UidsUsedUp.
    """
    staying = {t.inventory_id for key, t in there.items() if key not in chosen}
    replaced = {
        t.inventory_id
        for key, t in there.items()
        if t.inventory_id and t.inventory_id not in staying
    }
    in_use = storage.uids_in_use(note.pk, without={i for i in replaced if i is not None})
    seed = f"{note.sha256}:{wanted.source}"
    made = {}
    for (kind, alternative), foreign in chosen.items():
        found = build_domain(
            _add_kinds(foreign, note.text),
            note.text,
            seed=seed,
            kind=kind,
            alternative=alternative,
            in_use=in_use,
        )
        in_use |= {o.uid: (o.start, o.end, o.mention) for o in found[0]}
        made[kind, alternative] = found
    return made


def _add_kinds(foreign: Foreign, note: str) -> Foreign:
    """Add the lanes and polarities that the file does not say.

    A file that gives one of them for any event says what its author meant for all.
    """
    events = foreign.events
    lanes = not any(e.lane_given for e in events)
    polarities = not any(e.polarity_given for e in events)
    if not (lanes or polarities):
        return foreign
    # The parser is loaded only if a file needs it.
    from timelines.backbones.rules.tagging.kinds import Marked, infer_kinds

    inferred = infer_kinds(
        note, [Marked(unescape_mention(e.mention), e.start, e.end) for e in events]
    )
    return replace(
        foreign,
        events=tuple(
            replace(
                e, lane=lane if lanes else e.lane, polarity=polarity if polarities else e.polarity
            )
            for e, (lane, polarity) in zip(events, inferred, strict=True)
        ),
    )


def _load_stored(timeline: Timeline) -> tuple[domain.Inventory, domain.Timeline] | None:
    """Return the stored values; None for a timeline without an inventory."""
    if timeline.inventory is None:
        return None
    rows = (
        models.Entry.objects.filter(timeline=timeline)
        .order_by("occurrence__ordinal")
        .select_related("occurrence")
    )
    entries = tuple(
        domain.Entry(
            e.occurrence.uid4 if e.occurrence else "",
            e.time,
            e.lower,
            e.upper,
            e.known,
            tuple(e.context),
            e.decided_by,
            e.reason,
            tuple(e.adopted_rows),
            e.confidence,
        )
        for e in rows
    )
    return storage.load_inventory(timeline.inventory.pk), domain.Timeline(
        entries, TimelineKind(timeline.kind), timeline.alternative
    )


def _refusal(
    foreign: Foreign, encounter: Encounter, there: Timeline | None, wanted: Wanted
) -> Fault | None:
    rows = {row for event in foreign.events for row in event.rows}
    if rows:
        known = SourceRow.objects.filter(
            dataset_id=encounter.dataset_id, encounter_id=encounter.pk, row_index__in=rows
        )
        missing = sorted(rows - set(known.values_list("row_index", flat=True)))
        if missing:
            return Fault(
                foreign.file,
                None,
                "rows",
                f"the record has no row {', '.join(map(str, missing[:5]))}",
            )
    if there is None:
        return None
    if there.inventory is None or there.inventory.origin != Inventory.Origin.IMPORT:
        return Fault(
            foreign.file,
            None,
            "",
            "the source has a timeline of this case that was not imported; choose another --source",
        )
    if not wanted.replace:
        return Fault(
            foreign.file,
            None,
            "",
            "the source has another timeline of this case; add --replace, or choose another"
            " --source",
        )
    return None


def _remove(timeline: Timeline) -> None:
    """Remove the timeline, and its inventory if no other timeline uses it."""
    inventory = timeline.inventory
    timeline.delete()
    if inventory is not None and not inventory.timelines.exists():
        inventory.delete()
