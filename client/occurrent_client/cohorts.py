"""Many stays at once: concepts, windows, what was known, trajectories."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from occurrent_client.frames import Library, make_frame
from occurrent_client.parts import Part, find_dataset, find_named
from occurrent_client.waiting import AsOfReport, Export, LeakageCheck, WindowResult


class Concepts(Part):
    """Reviewed sets of mentions and series. Each is given by name or id."""

    def all(self) -> list[dict[str, Any]]:
        """Return all concepts."""
        return [*self._transport.list_all("concept_list")]

    def create(self, name: str, description: str = "", study: str = "") -> dict[str, Any]:
        """Create a concept without members.

        `study` is its id, for people in several.
        """
        values = {"name": name, "description": description, "study": study}
        return dict(self._transport.call("concept_create", **values))

    def get(self, concept: str) -> dict[str, Any]:
        """Return a concept with its rules and versions."""
        return dict(self._transport.call("concept", concept_id=self._find(concept)))

    def propose(self, concept: str, kind: str, value: str, **more: Any) -> int:
        """Add a rule, and return how many members it proposed.

        `kind` is words, drug_class or series; `more`: polarities, lanes.
        """
        values: dict[str, Any] = {
            "concept_id": self._find(concept),
            "kind": kind,
            "value": value,
            **more,
        }
        return int(self._transport.call("concept_propose", **values)["new"])

    def propose_nearest(self, concept: str) -> int:
        """Propose mentions of nearly the same meaning; return how many."""
        return int(self._transport.call("concept_meaning", concept_id=self._find(concept))["new"])

    def members(self, concept: str, state: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the members with counts and sentences."""
        found = self._find(concept)
        return self._transport.list_all("concept_member_list", concept_id=found, state=state)

    def accept(self, concept: str, members: Collection[str], reason: str = "") -> int:
        """Accept members by their ids; return how many changed."""
        return self._decide(concept, members, reason, accepted=True)

    def reject(self, concept: str, members: Collection[str], reason: str = "") -> int:
        """Reject members by their ids; return how many changed."""
        return self._decide(concept, members, reason, accepted=False)

    def make_version(self, concept: str) -> dict[str, Any]:
        """Freeze the accepted members; analyses use versions."""
        found = self._find(concept)
        return dict(self._transport.call("concept_version_make", concept_id=found))

    def version(self, concept: str, number: int) -> dict[str, Any]:
        """Return a version with its members."""
        values: dict[str, Any] = {"concept_id": self._find(concept), "number": number}
        return dict(self._transport.call("concept_version", **values))

    def write(self, concept: str) -> dict[str, Any]:
        """Return a concept as plain values, for a JSON file."""
        return dict(self._transport.call("concept_export", concept_id=self._find(concept)))

    def read(
        self, content: Mapping[str, Any], *, accept: bool = False, study: str = ""
    ) -> dict[str, Any]:
        """Import what `write` returned; with `accept`, its answers count as yours."""
        values: dict[str, Any] = {"content": dict(content), "accept": accept, "study": study}
        return dict(self._transport.call("concept_import", **values))

    def _find(self, name: str) -> str:
        return find_named(self._transport, "concept", name)

    def _decide(
        self, concept: str, members: Collection[str], reason: str, *, accepted: bool
    ) -> int:
        values: dict[str, Any] = {"members": list(members), "accepted": accepted, "reason": reason}
        found = self._find(concept)
        return int(self._transport.call("concept_decide", concept_id=found, **values)["count"])


class Windows(Part):
    """Criteria over concepts, and which stays meet them.

    Each is given by name or id.
    """

    def all(self) -> list[dict[str, Any]]:
        """Return all windows."""
        return [*self._transport.list_all("window_list")]

    def create(self, yaml: str, study: str = "") -> dict[str, Any]:
        """Save criteria; their `name` is that of the window."""
        return dict(self._transport.call("window_create", yaml=yaml, study=study))

    def get(self, window: str) -> dict[str, Any]:
        """Return a window with its versions, newest first."""
        return dict(self._transport.call("window", window_id=self._find(window)))

    def edit(self, window: str, yaml: str) -> dict[str, Any]:
        """Save other criteria as the next version."""
        values = {"window_id": self._find(window), "yaml": yaml}
        return dict(self._transport.call("window_version_save", **values))

    def evaluate(
        self, window: str, dataset: str, first: str = "note", second: str = "record"
    ) -> WindowResult:
        """Evaluate the newest version over a dataset, by two sources of times."""
        values = {
            "window_id": self._find(window),
            "dataset": find_dataset(self._transport, dataset),
            "first": first,
            "second": second,
        }
        return WindowResult(self._transport, self._transport.call("window_evaluate", **values))

    def result(self, result: str) -> WindowResult:
        """Return a result by its id."""
        facts = self._transport.call("window_result", result_id=result)
        return WindowResult(self._transport, facts)

    def read_aces(self, task: str, name: str = "Task of ACES", study: str = "") -> dict[str, Any]:
        """Return a task of ACES as `yaml`, with `notes` on what was left out."""
        return dict(self._transport.call("aces_read", task=task, name=name, study=study))

    def write_aces(self, window: str) -> str:
        """Return the newest version as a task of ACES."""
        found: bytes = self._transport.call("window_aces", window_id=self._find(window))
        return found.decode()

    def _find(self, name: str) -> str:
        return find_named(self._transport, "window", name)


class AsOf(Part):
    """What was known at an hour."""

    def case(self, case: str, hour: float, source: str = "record") -> dict[str, Any]:
        """Return what of a stay was known."""
        return dict(self._transport.call("case_as_of", case_id=case, h=hour, source=source))

    def report(self, dataset: str, hours: float, **choices: Any) -> AsOfReport:
        """Start a report over a dataset (name or id), and return it.

        `choices`: source, after, concepts (ids), label.
        """
        values = {"dataset": find_dataset(self._transport, dataset), "hours": hours, **choices}
        return AsOfReport(self._transport, self._transport.call("as_of_start", **values))

    def export(self, report: AsOfReport, **policy: Any) -> Export:
        """Export what was known at the hour of a report; for study admins.

        `policy`: format, basis, doubt, later_notes, with_note_text.
        """
        made = self._transport.call("as_of_export", report_id=report.id, **policy)
        facts = self._transport.call("export", export_id=made["export"])
        return Export(self._transport, facts)

    def check(
        self, dataset: str, features: str | Path = "", hours: float | None = None, **choices: Any
    ) -> LeakageCheck:
        """Check a CSV file of features, or a rule of so many hours, for leakage.

        `choices`: source, after, label.
        """
        text = features.read_text("utf-8") if isinstance(features, Path) else features
        values = {
            "dataset": find_dataset(self._transport, dataset),
            "features": text,
            "hours": hours,
            **choices,
        }
        return LeakageCheck(self._transport, self._transport.call("leakage_start", **values))


class Trajectories(Part):
    """Stays aligned at a concept. Each is given by name or id."""

    def all(self) -> list[dict[str, Any]]:
        """Return all saved views."""
        return [*self._transport.list_all("trajectory_list")]

    def save(self, name: str, dataset: str, **choices: Any) -> dict[str, Any]:
        """Save a view of a dataset (name or id).

        `choices`: zero, concepts, target, group (ids of concepts), source, series, start, stop, order.
        """
        values = {"name": name, "dataset": find_dataset(self._transport, dataset), **choices}
        return dict(self._transport.call("trajectory_save", **values))

    def get(self, trajectory: str) -> dict[str, Any]:
        """Return a saved view and what its figures say."""
        return dict(self._transport.call("trajectory", trajectory_id=self._find(trajectory)))

    def table(self, trajectory: str, name: str, library: Library | None = None) -> Any:
        """Return a tidy table.

        It is lanes, density, curve, changes, survival or courses.
        """
        values = {"trajectory_id": self._find(trajectory), "table": name, "form": "json"}
        found = self._transport.call("trajectory_table", **values)
        rows = (dict(zip(found["heads"], row, strict=True)) for row in found["rows"])
        return make_frame(rows, library)

    def delete(self, trajectory: str) -> None:
        """Delete a saved view."""
        self._transport.call("trajectory_delete", trajectory_id=self._find(trajectory))

    def _find(self, name: str) -> str:
        return find_named(self._transport, "trajectory", name)


class Attention(Part):
    """Where a person's look would change most."""

    def all(self, study: str = "", **filters: Any) -> Iterator[dict[str, Any]]:
        """Yield the places, best first. `filters`: dataset (id), why."""
        return self._transport.list_all("attention_list", study=study or None, **filters)

    def unexplained(self, dataset: str) -> Iterator[dict[str, Any]]:
        """Yield stays with important rows that no occurrence explains."""
        found = find_dataset(self._transport, dataset)
        stays = self._transport.list_all("unexplained_list", dataset_id=found)
        return (stay for stay in stays if stay["episodes"])
