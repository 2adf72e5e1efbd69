"""Assemble whole timelines from a file.

A timeline is valid as a whole or rejected with every fault named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from timelines import domain
from timelines.domain import InvariantError, TaggedNote, TimelineKind
from timelines.formats.locating import locate
from timelines.formats.values import (
    EMPTY,
    NO_CASE,
    UNKNOWN_CASE,
    CaseFacts,
    Cases,
    Event,
    Fault,
    Foreign,
    Heading,
    Unreadable,
)
from timelines.pipeline.uids import InUse, Taken, draw_uid, uid_rng, unescape_mention


def find_files(path: Path, *suffixes: str) -> list[Path]:
    """Return the file itself, or the folder's files with that ending.

    Files are in order. Raises Unreadable if there is none.
    """
    if path.is_file():
        return [path]
    found = sorted(p for p in path.rglob("*") if p.name.endswith(suffixes) and p.is_file())
    if not found:
        raise Unreadable(
            "", f"no such file, nor a folder with files that end in {' or '.join(suffixes)}"
        )
    return found


def read_text(path: Path, *, exactly: bool = False) -> str:
    """Return the file's text with its line ends.

    The byte order mark is removed unless `exactly` (offsets count it). Raises Unreadable.
    """
    try:
        return path.read_bytes().decode("utf-8" if exactly else "utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("", "not UTF-8 text; save the file as UTF-8") from None
    except OSError as error:
        raise Unreadable("", f"cannot be read: {error.strerror}") from None


def parse_stem(path: Path) -> str:
    """Return the file's name up to its first known ending.

    `20001.xml.txt` and `20001.bsv` are of the case 20001.
    """
    name = path.name
    while (shorter := _strip_ending(name)) != name:
        name = shorter
    return name


def _strip_ending(name: str) -> str:
    endings = (".ann", ".bsv", ".csv", ".json", ".jsonl", ".psv", ".txt", ".xml", ".unlocated")
    return next(
        (name[: -len(e)] for e in endings if name.lower().endswith(e) and len(name) > len(e)), name
    )


def find_case(heading: Heading, cases: Cases) -> CaseFacts:
    """Return the case of a heading.

    Raises Unreadable if the heading names none of our cases.
    """
    if not heading.case:
        raise Unreadable("case_id", NO_CASE)
    facts = cases(heading.case)
    if facts is None:
        raise Unreadable("case_id", UNKNOWN_CASE)
    return facts


def assemble(
    file: str, heading: Heading, items: Sequence[Event | Fault], facts: CaseFacts
) -> Iterator[Foreign | Fault]:
    """Return the timeline, or what is wrong with it.

    It is valid if all its items are events that fit together and into the note.
    """
    faults = [item for item in items if isinstance(item, Fault)]
    events = tuple(item for item in items if isinstance(item, Event))
    if not faults and not events:
        faults = [Fault(file, None, "", EMPTY)]
    if faults:
        yield from faults
        return
    found = Foreign(file, replace(heading, case=facts.case_id), locate_events(events, facts.note))
    try:
        build_domain(found, facts.note, seed="")
    except InvariantError as error:
        yield Fault(file, None, "", str(error))
    else:
        yield found


def group_lines(
    file: str, lines: Iterable[tuple[int, Heading | None, Event | Fault]], cases: Cases
) -> Iterator[Foreign | Fault]:
    """Group lines that name their timeline themselves.

    Groups are by case, source, kind and alternative, in order of appearance. A line that cannot be
    attributed (heading None) invalidates the timelines before and after it: it may be a lost part
    of either.
    """
    groups: dict[Heading, list[Event | Fault]] = {}
    first: dict[Heading, int] = {}
    last: Heading | None = None
    orphan: Fault | None = None
    for number, heading, item in lines:
        if heading is None:
            assert isinstance(item, Fault)
            orphan = item
            yield item
            if last is not None:
                groups[last].append(_leave_out(item))
            continue
        group = groups.setdefault(heading, [])
        first.setdefault(heading, number)
        if orphan is not None and heading != last:
            group.append(_leave_out(orphan))
        orphan = None
        group.append(item)
        last = heading
    for heading, items in groups.items():
        try:
            facts = find_case(heading, cases)
        except Unreadable as error:
            yield error.make_fault(file, first[heading])
            continue
        yield from assemble(file, heading, items, facts)


def _leave_out(fault: Fault) -> Fault:
    return Fault(
        fault.file,
        fault.line,
        "",
        "beside an unreadable line, so this timeline may lack an occurrence and is left out",
    )


def locate_events(events: Sequence[Event], note: str) -> tuple[Event, ...]:
    """Add the places that `locating` finds to the events that need one."""
    missing = [n for n, e in enumerate(events) if e.sought and e.start is None]
    places = locate([unescape_mention(events[n].mention) for n in missing], note)
    found = list(events)
    for number, place in zip(missing, places, strict=True):
        if place is not None:
            found[number] = replace(found[number], start=place[0], end=place[1])
    return tuple(found)


def build_domain(
    foreign: Foreign,
    note: str,
    *,
    seed: str,
    kind: TimelineKind = TimelineKind.TEXT_ONLY,
    alternative: int = 1,
    in_use: InUse | None = None,
) -> tuple[domain.Inventory, domain.Timeline]:
    """Return inventory and timeline as they are stored.

    Events without an identifier get one; the same `seed` gives the same. An event whose identifier
    another inventory of the note has `in_use` for another occurrence gets a new one, in contexts
    too. Raises InvariantError for identifiers that occur twice, contexts that name none, spans
    outside the note.
    """
    uids = _uids(foreign.events, seed, in_use or {})
    renamed = {e.uid: uid for uid, e in zip(uids, foreign.events, strict=True) if e.uid}
    inventory = domain.Inventory(
        tuple(
            domain.Occurrence(uid, number, e.mention, e.start, e.end, e.polarity, e.lane)
            for number, (uid, e) in enumerate(zip(uids, foreign.events, strict=True))
        )
    )
    TaggedNote(note, inventory)
    entries = [
        domain.Entry(
            uid,
            e.time,
            e.lower,
            e.upper,
            e.known,
            _rename_context(e.context, renamed),
            e.decided_by,
            e.reason,
            e.rows,
            e.confidence,
        )
        for uid, e in zip(uids, foreign.events, strict=True)
    ]
    return inventory, domain.Timeline.complete(inventory, entries, kind, alternative)


def _uids(events: Sequence[Event], seed: str, in_use: InUse) -> list[str]:
    """The events' own UIDs as far as they are free, drawn ones for the others."""
    identities = [(e.start, e.end, e.mention) for e in events]
    rng = uid_rng(0, seed, identities)
    own = {e.uid for e in events if e.uid}
    uids: list[str] = []
    for event, identity in zip(events, identities, strict=True):
        if not event.uid or event.uid in Taken((), in_use, identity):
            uids.append(draw_uid(rng, Taken({*own, *uids}, in_use, identity)))
        else:
            uids.append(event.uid)
    return uids


def _rename_context(context: Sequence[str], renamed: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(renamed.get(uid, uid) for uid in context)
