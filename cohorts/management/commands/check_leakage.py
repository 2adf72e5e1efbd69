"""`manage.py check_leakage`: features that could not be known when used."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.audit.trail import record_each
from accounts.wording import format_count
from cohorts.asof.checking import check_features
from cohorts.asof.features import Feature, FeatureFileError, read_features
from cohorts.asof.jobs import to_plain
from cohorts.asof.leaks import Leak, describe_leaks, write_leaks
from cohorts.asof.states import State
from cohorts.values import Source
from ehr.models import Dataset, Encounter
from timelines.cases.datasets import find_dataset
from timelines.formats.files import replace_file

_SOURCES = tuple(source.value for source in Source if source is not Source.ROWS)


class Command(BaseCommand):
    help = (
        "Check the features of a model for leakage: each one that uses something that had not"
        " happened, or was not documented, at its hour. FILE is a CSV with the columns case, name,"
        " and hours (from admission) or time. A name is that of a concept, or the words of a"
        " mention."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the file, the dataset and the source of times."""
        parser.add_argument("file", type=Path)
        parser.add_argument("--dataset", required=True, help="name or public id of the dataset")
        parser.add_argument("--study", default="", help="name of its study, if two have such one")
        parser.add_argument("--source", default=Source.RECORD.value, choices=_SOURCES)
        parser.add_argument("--out", required=True, type=Path, help="the CSV to write")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the leaks and say how many there are."""
        try:
            dataset = find_dataset(options["dataset"], options["study"])
            features = _read(options["file"], dataset)
        except LookupError as error:
            raise CommandError(str(error)) from error
        found = list(check_features(dataset, Source(options["source"]), features))
        counts = Counter(one.state for one in found)
        leaks = describe_leaks([to_plain(one) for one in found if one.state is not State.KNOWN])
        leaks.sort(key=lambda leak: leak.line)
        with replace_file(options["out"]) as part:
            part.write_text(write_leaks(leaks), encoding="utf-8")
        _audit(dataset, leaks)
        unmatched = counts.pop(None, 0)
        words = [f"{state.words}: {counts[state]}" for state in State]
        self.stdout.write(
            f"{format_count(len(found), 'feature')}. {'; '.join(words)};"
            f" without an occurrence of that name: {unmatched}. Wrote {options['out']}"
        )


def _read(path: Path, dataset: Dataset) -> list[Feature]:
    cases = Encounter.objects.filter(dataset=dataset).order_by()
    try:
        return read_features(path.read_bytes(), dict(cases.values_list("case_id", "admitted_at")))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}. Check the path.") from None
    except FeatureFileError as error:
        raise CommandError("\n".join(f"{path}: {fault}" for fault in error.faults)) from None


def _audit(dataset: Dataset, leaks: list[Leak]) -> None:
    record_each(
        actor=None,
        study=dataset.study,
        action="cohort.case",
        object_type="ehr.encounter",
        object_ids=sorted({leak.encounter.public_id for leak in leaks if leak.encounter}),
        detail={"command": "check_leakage"},
    )
