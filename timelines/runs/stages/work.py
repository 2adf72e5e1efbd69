"""One execution of one stage of one case.

Its steps share and store their data here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ehr.models import Note
from ehr.record.charts import find_text
from jobs.errors import PermanentFailure
from jobs.leases.hold import Hold, write_guard
from llm_runtime.calls.calling import Ledger
from llm_runtime.ledger import DatabaseLedger
from timelines.domain import TaggedNote, Timeline, TimelineKind
from timelines.models import CaseRun, Inventory, StageBatch, StageRun
from timelines.pipeline.config import PipelineConfig
from timelines.pipeline.run import Case, Tools
from timelines.runs import storage, tools
from timelines.runs.calls import CALLS_OWNER
from timelines.runs.language_models import Calls, ReportingLedger, check_unchanged, find_choices


@dataclass
class StageWork:
    """The data that the steps of one execution share."""

    stage_run: StageRun
    hold: Hold

    @cached_property
    def case_run(self) -> CaseRun:
        return CaseRun.objects.select_related("run", "encounter", "inventory__note").get(
            pk=self.stage_run.case_run_id
        )

    @cached_property
    def note(self) -> Note:
        note = (
            self.case_run.inventory.note
            if self.case_run.inventory
            else find_text(self.case_run.encounter, self.config.note_kinds)
        )
        if note is None:
            raise PermanentFailure("the case has no note of the kinds that the run reads")
        return note

    @cached_property
    def base(self) -> CaseRun | None:
        """This case in the run that its run is based on."""
        run = self.case_run.run
        return (
            None
            if run.based_on_id is None
            else CaseRun.objects.get(
                run_id=run.based_on_id, encounter_id=self.case_run.encounter_id
            )
        )

    @property
    def kept(self) -> dict[str, str]:
        """Return what a stored batch records if it was copied from the base.

        Empty in a run without a base.
        """
        return {} if self.base is None else {"kept_from": self.base.public_id}

    @cached_property
    def case(self) -> Case:
        return storage.load_case(self.case_run.encounter, self.note)

    @cached_property
    def calls(self) -> Calls:
        """Return calls through the ledger on behalf of this stage.

        A cancelled stage drops its requests.
        """
        ledger = DatabaseLedger(CALLS_OWNER, str(self.stage_run.pk))
        return self.calls_over(ReportingLedger(ledger, self.hold))

    def calls_over(self, ledger: Ledger) -> Calls:
        """Return calls through that ledger.

        Raises PermanentFailure if a model has changed since the run started.
        """
        run = self.case_run.run
        check_unchanged(run.language_models, tools.roles())
        return Calls(
            find_choices(run.language_models), ledger, self.hold.check, self.case_run.rounds
        )

    @cached_property
    def config(self) -> PipelineConfig:
        return PipelineConfig.from_dict(self.case_run.run.config)

    @cached_property
    def tools(self) -> Tools:
        return tools.build_tools(self.case_run.run.backbone, self.config, self.calls)

    @cached_property
    def inventory(self) -> Inventory:
        if self.case_run.inventory is None:
            raise PermanentFailure("the case has no inventory")
        return self.case_run.inventory

    @cached_property
    def tagged(self) -> TaggedNote:
        return TaggedNote(
            self.case.note, storage.load_inventory(self.inventory.pk), self.case.parts
        )

    @cached_property
    def text_only(self) -> Timeline:
        (timeline,) = storage.load_timelines(self.case_run, TimelineKind.TEXT_ONLY)
        return timeline

    @cached_property
    def _stored_ordinals(self) -> set[int]:
        return set(
            StageBatch.objects.filter(stage_run=self.stage_run).values_list("ordinal", flat=True)
        )

    def has(self, ordinal: int) -> bool:
        """Return whether the batch is stored; otherwise its work may begin.

        Raises JobCancelled or LostLease if it may not.
        """
        self.hold.check()
        return ordinal in self._stored_ordinals

    def store(
        self, ordinal: int, payload: Mapping[str, Any], save: Callable[[], object] = lambda: None
    ) -> None:
        """Store a batch: the rows that `save` writes and the row that marks it.

        Both are stored, or neither.
        """
        with write_guard(self.hold):
            save()
            StageBatch.objects.create(stage_run=self.stage_run, ordinal=ordinal, payload=payload)
        self._stored_ordinals.add(ordinal)
