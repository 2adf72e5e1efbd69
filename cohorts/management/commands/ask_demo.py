"""`manage.py ask_demo`: ask what the demo shows of cohorts, once."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Study, User
from cohorts.asof.counting import Question
from cohorts.asof.jobs import execute_report, start_report
from cohorts.attention.ranking import execute_ranking, start_ranking
from cohorts.facts.versions import newest_versions
from cohorts.models import AsOfReport, ConceptVersion, Trajectory, Window, WindowResult
from cohorts.trajectories.actions import save_view
from cohorts.trajectories.choices import Choice
from cohorts.values import Source
from cohorts.windows.actions import create_window
from cohorts.windows.evaluating import execute_result
from cohorts.windows.results import launch_result
from ehr.models import Dataset
from jobs.models import JobState

REVERSAL, ANTIBIOTIC = "reversal agent given", "antibiotic given"
#: Window → the dataset that it is evaluated over, by name.
WINDOWS = {
    f"""
name: Reversal agent within 5 h of arrival
anchor: admission
where:
  - event: {REVERSAL}
    within: 0 h to 5 h after anchor
""": "intro",
    f"""
name: Antibiotic within 3 h of arrival
anchor: admission
where:
  - event: {ANTIBIOTIC}
    which: first
    within: 0 h to 3 h after anchor
""": "demo",
}
VIEW = "From arrival to the first antibiotic"


class Command(BaseCommand):
    help = "Ask two windows, an as-of report and a trajectory of the demo's cohorts."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the study and the person who asks."""
        parser.add_argument("--study", default="demo")
        parser.add_argument("--by", default="admin")

    def handle(self, *args: Any, **options: Any) -> None:
        """Ask what was not asked yet."""
        study = Study.objects.get(name=options["study"])
        person = User.objects.get(username=options["by"])
        versions = newest_versions(study)
        by_name = {version.concept.name: version for version in versions.values()}
        missing = {REVERSAL, ANTIBIOTIC} - by_name.keys()
        if missing:
            raise CommandError(f"Import the demo's concepts first: {', '.join(sorted(missing))}.")
        for text, dataset in WINDOWS.items():
            self._ask_window(study, text, dataset, person)
        self._ask_report(Dataset.objects.get(study=study, name="demo"), by_name, person)
        self._save_view(study, versions, by_name[ANTIBIOTIC], person)
        execute_ranking(start_ranking(study).pk)

    def _ask_window(self, study: Study, text: str, dataset: str, person: User) -> None:
        name = text.split("name: ")[1].split("\n")[0]
        window = Window.objects.filter(study=study, name=name).first()
        window = window or create_window(study=study, yaml=text, by=person)
        version = window.versions.first()
        assert version is not None
        if WindowResult.objects.filter(version__window=window).exists():
            return
        result = launch_result(
            version=version,
            dataset=Dataset.objects.get(study=study, name=dataset),
            first=Source.NOTE,
            second=Source.RECORD,
            by=person,
            tell_workers=False,
        )
        self._check(name, execute_result(result.pk))

    def _ask_report(
        self, dataset: Dataset, by_name: dict[str, ConceptVersion], person: User
    ) -> None:
        if AsOfReport.objects.filter(dataset=dataset).exists():
            return
        report = start_report(
            question=Question(dataset, Source.RECORD, 6.0),
            concepts=list(by_name.values()),
            label="Six hours after admission",
            by=person,
        )
        self._check("as-of report", execute_report(report.pk))

    def _save_view(
        self, study: Study, versions: dict[str, ConceptVersion], target: ConceptVersion, by: User
    ) -> None:
        if Trajectory.objects.filter(study=study, name=VIEW).exists():
            return
        dataset = Dataset.objects.get(study=study, name="demo")
        choice = Choice(
            dataset=dataset.public_id,
            concepts=tuple(versions),
            target=target.concept.public_id,
            series="lab:lactate:*",
        )
        save_view(dataset=dataset, name=VIEW, choice=choice, versions=versions, by=by)

    def _check(self, name: str, state: JobState | None) -> None:
        # None: a worker has taken it.
        if state not in (JobState.SUCCEEDED, None):
            raise CommandError(f"{name}: the job ended as {state}.")
        self.stdout.write(f"asked: {name}")
