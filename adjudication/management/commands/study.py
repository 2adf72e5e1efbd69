"""`manage.py study`: save, launch and follow a study recipe."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Study, User
from adjudication.models import RecipeLaunch, RecipeStep
from adjudication.recipes.actions import RecipeRefused, launch_recipe, save_recipe
from adjudication.recipes.advancing import advance
from adjudication.recipes.reading import RecipeInvalid

#: Seconds between two looks at a launch that is under way.
PAUSE = 2.0


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
        show = steps.add_parser("show", help="show the steps of a launch")
        show.add_argument("launch", nargs="?", default="", help="its id (default: the newest)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do the step that was asked for."""
        launch = self._show(options) if options["step"] == "show" else self._run(options)
        for step in launch.steps.all():
            reused = " (was there)" if step.reused else ""
            reason = f": {step.reason}" if step.reason else ""
            self.stdout.write(f"{step.get_state_display():<10} {step.key}{reused}{reason}")
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
        except (RecipeRefused, User.DoesNotExist, PermissionError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"launch {launch.public_id}: {launch.steps.count()} steps")
        while not advance(launch.pk) and options["wait"]:
            self._say_progress(launch)
            time.sleep(PAUSE)
        launch.refresh_from_db()
        return launch

    def _say_progress(self, launch: RecipeLaunch) -> None:
        ended = launch.steps.exclude(
            state__in=(RecipeStep.State.WAITING, RecipeStep.State.RUNNING)
        ).count()
        words = f"{ended} of {launch.steps.count()} steps have ended"
        if words != getattr(self, "_said", ""):
            self._said = words
            self.stderr.write(words)

    def _show(self, options: dict[str, Any]) -> RecipeLaunch:
        launches = RecipeLaunch.objects.all()
        if options["launch"]:
            launches = launches.filter(public_id=options["launch"])
        found = launches.first()
        if found is None:
            raise CommandError("There is no such launch.")
        return found


def _find_study(name: str) -> Study:
    """Return the study of that name, or the only one. Raises CommandError."""
    studies = Study.objects.filter(name=name) if name else Study.objects.all()
    found = list(studies[:2])
    if len(found) != 1:
        known = ", ".join(Study.objects.order_by("name").values_list("name", flat=True))
        raise CommandError(f"Name one study with --study; there are: {known or 'none yet'}")
    return found[0]
