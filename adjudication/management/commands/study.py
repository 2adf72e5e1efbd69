"""`manage.py study`: save, launch and follow a study recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Study, User
from accounts.permissions import NotAllowed
from adjudication.models import RecipeLaunch
from adjudication.recipes.actions import RecipeRefused, launch_recipe, save_recipe
from adjudication.recipes.advancing import advance
from adjudication.recipes.inline import follow_launch, work_launch
from adjudication.recipes.lines import list_lines
from adjudication.recipes.reading import RecipeInvalid
from timelines.runs.following import NoWorker


class Command(BaseCommand):
    help = "Save a study recipe and launch it, or show a launch."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `run` and `show`."""
        steps = parser.add_subparsers(dest="step", required=True)
        run = steps.add_parser("run", help="save the recipe and launch it")
        run.add_argument("recipe", type=Path, help="a YAML file")
        run.add_argument("--study", default="", help="name of the study, if there are several")
        run.add_argument("--by", default="", help="user name of the admin who launches it")
        run.add_argument("--wait", action="store_true", help="wait until every step has ended")
        run.add_argument("--inline", action="store_true", help="do the work in this process")
        show = steps.add_parser("show", help="show the steps of a launch")
        show.add_argument("launch", nargs="?", default="", help="its id (default: the newest)")
        show.add_argument("--wait", action="store_true", help="wait until every step has ended")
        show.add_argument("--inline", action="store_true", help="do the work in this process")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the step that was asked for."""
        launch = self._show(options) if options["step"] == "show" else self._run(options)
        for step in launch.steps.all():
            reused = " (was there)" if step.reused else ""
            reason = f": {step.reason}" if step.reason else ""
            self.stdout.write(f"{step.get_state_display():<10} {step.key}{reused}{reason}")
        lines = list_lines(launch)
        spent = lines.spent
        self.stdout.write(
            f"{launch.get_state_display()}: {lines.ended} of {len(lines.steps)} steps ended,"
            f" {spent.calls} calls of language models, {_count(spent.tokens_in)} tokens in,"
            f" {_count(spent.tokens_out)} out, {spent.seconds:.0f} s"
            f"{'; ' if lines.time_left else ''}{lines.time_left}"
        )
        if launch.state == RecipeLaunch.State.FAILED:
            raise CommandError("Not every step ended well; the lines above say which.")

    def _run(self, options: dict[str, Any]) -> RecipeLaunch:
        try:
            text = options["recipe"].read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{options['recipe']} cannot be read: {error}") from error
        try:
            by = User.objects.get(username=options["by"]) if options["by"] else None
            version = save_recipe(study=_find_study(options["study"]), text=text, by=by)
            launch = launch_recipe(version=version, by=by)
        except RecipeInvalid as error:
            found = "\n".join(error.faults)
            raise CommandError(f"{options['recipe']} is no recipe:\n{found}") from error
        except (RecipeRefused, User.DoesNotExist, NotAllowed) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"launch {launch.public_id}: {launch.steps.count()} steps")
        if not options["wait"] and not options["inline"]:
            advance(launch.pk)
        self._follow(launch, options)
        return launch

    def _follow(self, launch: RecipeLaunch, options: dict[str, Any]) -> None:
        try:
            if options["inline"]:
                work_launch(launch, self.stderr.write)
            elif options["wait"]:
                follow_launch(launch, self.stderr.write)
        except NoWorker as error:
            raise CommandError(str(error)) from error
        launch.refresh_from_db()

    def _show(self, options: dict[str, Any]) -> RecipeLaunch:
        launches = RecipeLaunch.objects.all()
        if options["launch"]:
            launches = launches.filter(public_id=options["launch"])
        found = launches.first()
        if found is None:
            raise CommandError("There is no such launch.")
        self._follow(found, options)
        return found


def _count(number: int | None) -> str:
    return "unknown" if number is None else str(number)


def _find_study(name: str) -> Study:
    """Return the study of that name, or the only one. Raises CommandError."""
    studies = Study.objects.filter(name=name) if name else Study.objects.all()
    found = list(studies[:2])
    if len(found) != 1:
        known = ", ".join(Study.objects.order_by("name").values_list("name", flat=True))
        raise CommandError(f"Name one study with --study; there are: {known or 'none yet'}")
    return found[0]
