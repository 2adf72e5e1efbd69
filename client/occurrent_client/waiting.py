"""Things that take a while: imports, runs, evaluations and exports."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from occurrent_client.errors import RunEnded, TookTooLong
from occurrent_client.transport import Transport

POLL_SECONDS = 2.0


@dataclass
class Started:
    """Something that was started. `facts` is its last known state."""

    transport: Transport = field(repr=False)
    facts: dict[str, Any] = field(repr=False)
    id: str = field(init=False)

    #: Of the operation that reads it, and of its id.
    operation = ""
    parameter = ""

    def __post_init__(self) -> None:
        self.id = self.facts["id"]

    def refresh(self) -> Mapping[str, Any]:
        """Ask the server for the current state, and return it."""
        self.facts = self.transport.call(self.operation, **{self.parameter: self.id})
        return self.facts

    @property
    def state(self) -> str:
        """Return the last known state."""
        return str(self.facts["state"])

    def _is_active(self) -> bool:
        raise NotImplementedError

    def _describe(self) -> str:
        raise NotImplementedError

    def _has_failed(self) -> bool:
        raise NotImplementedError

    def _wait(self, timeout: float, poll: float, say: Callable[[str], object]) -> None:
        """Poll until it has ended.

        `say` gets the state whenever its words change. Raises RunEnded if it failed or was
        cancelled, TookTooLong after `timeout` seconds.
        """
        end, said = time.monotonic() + timeout, ""
        while True:
            self.refresh()
            if (words := self._describe()) != said:
                say(words)
                said = words
            if not self._is_active():
                break
            if time.monotonic() > end:
                raise TookTooLong(f"{self.id} is not finished after {timeout:g} s: {words}")
            time.sleep(poll)
        if self._has_failed():
            raise RunEnded(f"{self.id}: {said}")


def print_line(words: str) -> None:
    """Print the state to the standard error output."""
    print(words, file=sys.stderr)


class Run(Started):
    """A reconstruction of a cohort."""

    operation, parameter = "run", "run_id"

    def wait(
        self,
        timeout: float = 24 * 3600,
        poll: float = POLL_SECONDS,
        say: Callable[[str], object] = print_line,
    ) -> Run:
        """Wait until the run has ended, and return it.

        Raises RunEnded if cases failed or were cancelled, TookTooLong.
        """
        self._wait(timeout, poll, say)
        return self

    def act(self, action: str) -> Run:
        """Pause, resume, cancel or retry the run."""
        self.facts = self.transport.call("run_action", run_id=self.id, action=action)
        return self

    def rename(self, label: str) -> Run:
        """Change the label; nobody else may have changed it meanwhile."""
        _, etag = self.transport.call_with_etag("run", run_id=self.id)
        self.facts = self.transport.call("run_edit", run_id=self.id, label=label, etag=etag)
        return self

    def _is_active(self) -> bool:
        return bool(self.facts["active"])

    def _describe(self) -> str:
        left = f", {self.facts['time_left']}" if self.facts["time_left"] else ""
        warning = f" {self.facts['warning']}" if self.facts["warning"] else ""
        return f"{self.facts['state_words']}, {self.facts['percent']} %{left}{warning}"

    def _has_failed(self) -> bool:
        return self.state in ("failed", "cancelled")


class Job(Started):
    """Something that one worker does."""

    def wait(
        self,
        timeout: float = 24 * 3600,
        poll: float = POLL_SECONDS,
        say: Callable[[str], object] = print_line,
    ) -> Self:
        """Wait until it has ended, and return it.

        Raises RunEnded if it failed or was cancelled, TookTooLong.
        """
        self._wait(timeout, poll, say)
        return self

    def _is_active(self) -> bool:
        return self.state in ("blocked", "queued", "running")

    def _describe(self) -> str:
        return str(self.facts["progress"].get("words") or self.state)

    def _has_failed(self) -> bool:
        return self.state in ("failed", "cancelled")


class Evaluation(Job):
    """A comparison of timelines with a reference."""

    operation, parameter = "evaluation", "evaluation_id"

    @property
    def result(self) -> str:
        """Return the result in a sentence."""
        return str(self.facts["result"])


class WindowResult(Job):
    """Which stays of a dataset meet the criteria of a window."""

    operation, parameter = "window_result", "result_id"

    def members(self, show: str = "") -> Iterator[dict[str, Any]]:
        """Yield the members with what decides them.

        `show` is that of a cell, "changed" or "since".
        """
        values = {"result_id": self.id, "show": show or None}
        return self.transport.list_all("window_member_list", **values)

    def answer(self, number: int, member: str, reason: str) -> dict[str, Any]:
        """Confirm or override the answer for a stay; an empty one withdraws."""
        values: dict[str, Any] = {
            "result_id": self.id,
            "number": number,
            "member": member,
            "reason": reason,
        }
        return dict(self.transport.call("window_member_answer", **values))

    def update(self) -> WindowResult:
        """Evaluate again what is current, and return the new result."""
        made = self.transport.call("window_result_update", result_id=self.id)
        return WindowResult(self.transport, made)

    def act(self, action: str) -> WindowResult:
        """Cancel or retry it."""
        values = {"result_id": self.id, "action": action}
        self.facts = self.transport.call("window_result_action", **values)
        return self

    def save(self, path: str | Path) -> Path:
        """Write the members as CSV. Every case in it counts as seen by you."""
        target = Path(path)
        self.transport.save("window_result_csv", target, result_id=self.id)
        return target


class AsOfReport(Job):
    """What of a dataset was known at an hour."""

    operation, parameter = "as_of", "report_id"

    def occurrences(self, **cell: Any) -> Iterator[dict[str, Any]]:
        """Yield the occurrences behind a number. `cell`: of, key, known."""
        return self.transport.list_all("as_of_cell_list", report_id=self.id, **cell)

    def save(self, path: str | Path, form: str = "csv") -> Path:
        """Write the figures as csv, latex or json."""
        target = Path(path)
        self.transport.save("as_of_table", target, report_id=self.id, form=form)
        return target


class LeakageCheck(Job):
    """Which features use what was not known."""

    operation, parameter = "leakage", "check_id"

    def leaks(self) -> Iterator[dict[str, Any]]:
        """Yield the features that leak, with the occurrences behind each."""
        return self.transport.list_all("leakage_leak_list", check_id=self.id)

    def occurrences(self, **cell: Any) -> Iterator[dict[str, Any]]:
        """Yield the occurrences behind a number of a rule. `cell`: of, key, known."""
        return self.transport.list_all("leakage_cell_list", check_id=self.id, **cell)

    def save(self, path: str | Path) -> Path:
        """Write the features that leak as CSV.

        Every case in it counts as seen by you.
        """
        target = Path(path)
        self.transport.save("leakage_file", target, check_id=self.id)
        return target


class Import(Started):
    """Files that were brought, with their latest check or import."""

    operation, parameter = "import", "import_id"

    def wait(
        self,
        timeout: float = 24 * 3600,
        poll: float = POLL_SECONDS,
        say: Callable[[str], object] = print_line,
    ) -> Import:
        """Wait until the check or import has ended, and return it.

        Raises RunEnded if it failed or was cancelled, TookTooLong.
        """
        self._wait(timeout, poll, say)
        return self

    def start(self, name: str, **choices: Any) -> Import:
        """Import the files into the dataset of a name.

        `choices`: format, mapping, saved, replace, delete_authored. Wait for the check first.
        """
        values = {"import_id": self.id, "name": name, **choices}
        self.facts = self.transport.call("import_start", **values)
        return self

    def act(self, action: str) -> Import:
        """Pause, resume, cancel or retry it, or remove the files."""
        self.facts = self.transport.call("import_action", import_id=self.id, action=action)
        return self

    @property
    def dataset(self) -> str:
        """Return the id of the dataset; empty before its import."""
        return str((self.facts["job"] or {}).get("dataset") or "")

    @property
    def state(self) -> str:
        """Return the last known state; empty if no format was recognised."""
        return str((self.facts["job"] or {}).get("state", ""))

    def _is_active(self) -> bool:
        return bool(self.facts["job"] and self.facts["job"]["active"])

    def _describe(self) -> str:
        job = self.facts["job"]
        if job is None:
            return str(self.facts["recognised"])
        parts = (job["state_words"], job["time_left"], job["warning"], *job["reasons"][-1:])
        return ", ".join(part for part in parts if part)

    def _has_failed(self) -> bool:
        return self.state in ("", "failed", "cancelled")


class Export(Started):
    """Timelines that are written to a file."""

    operation, parameter = "export", "export_id"

    def wait(
        self,
        timeout: float = 24 * 3600,
        poll: float = POLL_SECONDS,
        say: Callable[[str], object] = print_line,
    ) -> Export:
        """Wait until the file is written, and return the export.

        Raises RunEnded if it failed or was cancelled, TookTooLong.
        """
        self._wait(timeout, poll, say)
        return self

    def save(self, path: str | Path) -> Path:
        """Download the zip. Every case in it counts as seen by you."""
        target = Path(path)
        self.transport.save("export_download", target, export_id=self.id)
        return target

    def _is_active(self) -> bool:
        return bool(self.facts["active"] or self.facts["paused"])

    def _describe(self) -> str:
        return "paused" if self.facts["paused"] else str(self.facts["state"])

    def _has_failed(self) -> bool:
        return self.state in ("failed", "cancelled")
