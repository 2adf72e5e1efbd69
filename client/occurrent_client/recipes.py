"""Study recipes: save, launch, wait, and take the report."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from occurrent_client.errors import RunEnded, TookTooLong
from occurrent_client.parts import Part, find_named
from occurrent_client.waiting import POLL_SECONDS, Started, print_line


class Launch(Started):
    """A version of a recipe that is carried out."""

    operation, parameter = "launch", "public_id"

    def wait(
        self,
        timeout: float = 7 * 24 * 3600,
        poll: float = POLL_SECONDS,
        say: Callable[[str], object] = print_line,
    ) -> Launch:
        """Wait until every step has ended, and return it.

        Raises RunEnded if steps failed or were cancelled, TookTooLong.
        """
        self._wait(timeout, poll, say)
        return self

    def act(self, action: str) -> Launch:
        """Cancel it, or retry what failed."""
        self.facts = self.transport.call("launch_step", public_id=self.id, action=action)
        return self

    def report(self, timeout: float = 3600, poll: float = POLL_SECONDS) -> dict[str, Any]:
        """Have a report written of what there is, and return its content.

        Raises RunEnded if it failed, TookTooLong.
        """
        end = time.monotonic() + timeout
        found = self.transport.call("launch_report_start", public_id=self.id)
        while found["state"] in ("blocked", "queued", "running"):
            if time.monotonic() > end:
                raise TookTooLong(f"The report of {self.id} is not written after {timeout:g} s.")
            time.sleep(poll)
            found = self.transport.call("launch_report", public_id=self.id)
        if found["state"] != "succeeded":
            raise RunEnded(f"The report of {self.id}: {'; '.join(found['reasons'])}")
        return dict(found["report"])

    def save(self, path: str | Path, form: str = "pdf") -> Path:
        """Write the newest report as pdf, or everything as zip."""
        target = Path(path)
        self.transport.save("launch_report_file", target, public_id=self.id, form=form)
        return target

    def _is_active(self) -> bool:
        return self.state == "running"

    def _describe(self) -> str:
        done, steps = self.facts["ended"], len(self.facts["steps"])
        left = f", {self.facts['time_left']}" if self.facts["time_left"] else ""
        return f"{self.state}, {done} of {steps} steps ended{left}"

    def _has_failed(self) -> bool:
        return self.state in ("failed", "cancelled")


class Recipes(Part):
    """Whole studies."""

    def all(self) -> list[dict[str, Any]]:
        """Return all recipes, by name."""
        return [*self._transport.list_all("recipe_list")]

    def save(self, text: str, study: str = "") -> dict[str, Any]:
        """Save a text (YAML) as the next version of the recipe of its name.

        Raises OccurrentError with the faults of the text by line.
        """
        return dict(self._transport.call("recipe_save", text=text, study=study))

    def get(self, name: str, version: int | None = None) -> dict[str, Any]:
        """Return a version of a recipe (name or id), by default the newest."""
        found = find_named(self._transport, "recipe", name)
        return dict(self._transport.call("recipe", public_id=found, version=version))

    def launch(self, name: str, version: int | None = None) -> Launch:
        """Launch a version of a recipe (name or id), and return the launch."""
        found = find_named(self._transport, "recipe", name)
        made = self._transport.call("recipe_launch", public_id=found, version=version)
        return Launch(self._transport, made)

    def launches(self) -> list[dict[str, Any]]:
        """Return all launches, newest first."""
        return [*self._transport.list_all("launch_list")]

    def find_launch(self, launch: str) -> Launch:
        """Return a launch by its id."""
        return Launch(self._transport, self._transport.call("launch", public_id=launch))
