"""What the files of one timeline of a case show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from accounts.models import User
from ehr.models import Encounter
from timelines.cases.choices import Choice, Choices
from timelines.cases.story import load_story, load_story_lines
from timelines.curation.curated import load_standing
from timelines.curation.standing import CORRECTING, Kind, Mark
from timelines.domain import Polarity, TimelineKind
from timelines.formats.lines import CaseLines, Line
from timelines.models import CuratedTimeline, Entry, Occurrence, Run, Timeline
from timelines.presentation.story import Story
from timelines.runs.storage import checked_text
from timelines.transfer.lines import load_lines

_RELATED = ("inventory__note", "case_run__run")


@dataclass(frozen=True)
class CaseExport:
    """One timeline of a case.

    `with_note_text`: its files quote the note.
    """

    encounter: Encounter
    choice: Choice
    choices: Choices
    with_note_text: bool

    @cached_property
    def timeline(self) -> Timeline:
        return Timeline.objects.select_related(*_RELATED).get(pk=self.choice.pk)

    @cached_property
    def base(self) -> Timeline:
        """The timeline that was corrected, else the timeline itself."""
        curated = CuratedTimeline.objects.filter(timeline=self.timeline)
        found = curated.values_list("base_id", flat=True).first()
        if found is None:
            return self.timeline
        return Timeline.objects.select_related(*_RELATED).get(pk=found)

    @cached_property
    def run(self) -> Run | None:
        """The run that made the timeline, or the one that was corrected."""
        return self.base.case_run.run if self.base.case_run else None

    @cached_property
    def case(self) -> CaseLines:
        return load_lines(self.encounter, [self.timeline])

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        return self.case.timelines[0]

    @cached_property
    def judged_lines(self) -> tuple[Line, ...]:
        """The lines; what a clinician says did not happen is absent.

        The sealed inventory cannot say so, and the columns of CSV and JSONL are the inventory's.
        """
        refuted = {uid for uid, mark in self.corrections.items() if mark.kind is Kind.NOT_HAPPENED}
        return tuple(
            replace(x, polarity=Polarity.ABSENT.value) if x.uid4 in refuted else x
            for x in self.lines
        )

    @cached_property
    def note(self) -> str | None:
        """The text that the timeline's spans point into. Raises NoteChanged."""
        inventory = self.timeline.inventory
        return checked_text(inventory.note) if inventory else None

    @cached_property
    def label(self) -> str:
        """The timeline as the page's switch names it."""
        if (group := self.choices.find_group(self.choice)) is None:
            if self.choice.consensus:
                return f"Consensus of {self.choice.consensus}"
            return f"Reference: {self.choice.author or self.choice.source}"
        basis = "from the note" if self.choice.kind is TimelineKind.TEXT_ONLY else "with the record"
        number = f", alternative {self.choice.alternative}" if self.choice.alternative > 1 else ""
        return f"{group.label}, {basis}{number}"

    @cached_property
    def text_times(self) -> dict[str, float | None]:
        """Times from the text alone, by UID, if the timeline is revised."""
        if self.choice.kind is not TimelineKind.REVISED or self.base.case_run_id is None:
            return {}
        entries = Entry.objects.filter(
            timeline__case_run=self.base.case_run_id,
            timeline__kind=TimelineKind.TEXT_ONLY,
            occurrence__isnull=False,
        )
        return dict(entries.values_list("occurrence__uid4", "time"))

    @cached_property
    def story(self) -> Story:
        """The story of the case page."""
        lines = load_story_lines(self.encounter, self.choice, self.choices)
        return load_story(self.encounter, self.choice, lines)

    @cached_property
    def corrections(self) -> dict[str, Mark]:
        """The corrections that the timeline has, by UID."""
        if self.base is self.timeline:
            return {}
        corrected = {x.uid4 for x in self.lines if x.uid4 and x.decided_by in CORRECTING}
        standing = load_standing(self.base)
        uids = Occurrence.objects.filter(pk__in=standing).values_list("pk", "uid4")
        return {
            uid: mark for key, uid in uids if uid in corrected and (mark := standing[key].applied)
        }

    @cached_property
    def correctors(self) -> dict[str, str]:
        """Who corrected each corrected occurrence, by UID."""
        names = User.objects.in_bulk({mark.person for mark in self.corrections.values()})
        return {uid: names[mark.person].get_username() for uid, mark in self.corrections.items()}
