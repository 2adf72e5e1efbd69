"""What deleting cases deletes here (`ehr.registry.register_losses`)."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Count, Model, Q, QuerySet

from accounts.models import Study
from adjudication.models import (
    Decision,
    Game,
    ItemMark,
    ItemNote,
    JudgePreparation,
    JudgeRun,
    Packet,
    PacketItem,
    PairSearch,
    Slot,
)
from ehr.models import Dataset, Encounter
from ehr.registry import Keep, Loss, Trace
from llm_runtime.models import ModelCall


def adjudication_losses(encounters: QuerySet[Encounter]) -> Iterator[Loss]:
    """Yield findings in packets, which are never deleted, and judged games."""
    cases = encounters.values("pk")
    items = PacketItem.objects.filter(finding__game__comparison__encounter__in=cases)
    yield Loss(
        items.values("finding").distinct().count(),
        "findings in review packets",
        "finding in a review packet",
        Keep.ALWAYS,
    )
    yield Loss(
        Game.objects.filter(comparison__encounter__in=cases).count(), "judged games", "judged game"
    )


def adjudication_traces(study: Study, encounters: QuerySet[Encounter]) -> Iterator[Trace]:
    """Yield what this app has of the cases after they are deleted."""
    names = list(encounters.values_list("case_id", flat=True))
    named = Q(wanted__overlap=names) | Q(cursor__in=names)
    yield Trace(
        JudgePreparation.objects.filter(named, run__study=study).count(),
        "judge runs whose list of cases names its case ids; they go with the judge runs",
    )
    datasets = list(encounters.values_list("dataset__public_id", flat=True).distinct())
    yield Trace(
        ModelCall.objects.filter(owner_type="adjudication.planted", owner_id__in=datasets).count(),
        "model calls about planted differences, which may quote its notes; they go with the dataset",
    )


def withheld_answers() -> Iterator[tuple[type[Model], Q]]:
    """Yield which answers of people nobody may read yet, by model."""
    yield Decision, ~Q(packet__state=Packet.State.CLOSED)
    for model in (Slot, ItemMark, ItemNote):
        yield model, ~Q(item__packet__state=Packet.State.CLOSED)
    yield PairSearch, ~Q(assignment__packet__state=Packet.State.CLOSED)


def dataset_losses(dataset: Dataset) -> Iterator[Loss]:
    """Yield packets, which are never deleted, and judge runs of the dataset."""
    items = PacketItem.objects.filter(finding__game__comparison__encounter__dataset=dataset)
    packets = Packet.objects.filter(pk__in=items.values("packet"))
    yield Loss(packets.count(), "review packets", "review packet", Keep.ALWAYS)
    yield Loss(len(_only_judge_runs(dataset)), "judge runs", "judge run")


def delete_of_dataset(dataset: Dataset) -> None:
    """Delete judge runs over this dataset alone that have no packet."""
    JudgeRun.objects.filter(pk__in=_only_judge_runs(dataset)).delete()


def _only_judge_runs(dataset: Dataset) -> list[int]:
    counted = JudgeRun.objects.filter(study=dataset.study_id).annotate(
        all=Count("datasets", distinct=True),
        this=Count("datasets", distinct=True, filter=Q(datasets=dataset)),
    )
    alone = counted.filter(all=1, this=1, packets__isnull=True)
    return list(alone.values_list("pk", flat=True))
