"""The client: one attribute for each part of the API.

>>> oc = Occurrent("http://127.0.0.1:8000", token="…")
>>> run = oc.runs.launch(dataset="demo", backbone="rules").wait()
>>> oc.timelines.frame(run)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx

from occurrent_client.cohorts import AsOf, Attention, Concepts, Trajectories, Windows
from occurrent_client.frames import Library, make_frame
from occurrent_client.parts import Part, find_dataset
from occurrent_client.recipes import Recipes
from occurrent_client.transport import Transport
from occurrent_client.waiting import Evaluation, Export, Import, Run


class Occurrent:
    """An Occurrent server, as seen by the person of the token.

    Without arguments, the environment variables OCCURRENT and TOKEN are read.
    """

    def __init__(self, url: str = "", token: str = "", http: httpx.Client | None = None) -> None:
        address = url or os.environ.get("OCCURRENT", "http://127.0.0.1:8000")
        secret = token or os.environ.get("TOKEN", "")
        if not secret:
            raise ValueError("Give a token: Occurrent(url, token=…), or set TOKEN.")
        self._transport = Transport(address, secret, http)
        self.datasets = Datasets(self._transport)
        self.cases = Cases(self._transport)
        self.runs = Runs(self._transport)
        self.timelines = Timelines(self._transport)
        self.evaluations = Evaluations(self._transport)
        self.imports = Imports(self._transport)
        self.exports = Exports(self._transport)
        self.concepts = Concepts(self._transport)
        self.windows = Windows(self._transport)
        self.as_of = AsOf(self._transport)
        self.trajectories = Trajectories(self._transport)
        self.attention = Attention(self._transport)
        self.recipes = Recipes(self._transport)

    def call(self, operation: str, /, **values: Any) -> Any:
        """Call any operation by its name in the description of the API."""
        return self._transport.call(operation, **values)

    def all(self, operation: str, /, **values: Any) -> Iterator[dict[str, Any]]:
        """Yield all results of any list, page after page."""
        return self._transport.list_all(operation, **values)


class Datasets(Part):
    """Imported cohorts."""

    def all(self) -> list[dict[str, Any]]:
        """Return all datasets."""
        return [*self._transport.list_all("dataset_list")]

    def get(self, name: str) -> dict[str, Any]:
        """Return a dataset with its counts, by name or id.

        Raises LookupError if there is none, or several of that name.
        """
        return dict(self._transport.call("dataset", dataset_id=find_dataset(self._transport, name)))


class Cases(Part):
    """Stays with their notes, series and rows."""

    def all(self, dataset: str = "", **filters: Any) -> Iterator[dict[str, Any]]:
        """Yield the cases; filters are those of the API."""
        chosen = {"dataset": find_dataset(self._transport, dataset)} if dataset else {}
        return self._transport.list_all("case_list", **chosen, **filters)

    def get(self, case: str) -> dict[str, Any]:
        """Return one stay."""
        return dict(self._transport.call("case", case_id=case))

    def notes(self, case: str) -> list[str]:
        """Return the texts of the notes of a stay, in order of time."""
        listed = self._transport.call("note_list", case_id=case)
        numbers = [note["number"] for note in listed]
        return [self._transport.call("note", case_id=case, number=n)["text"] for n in numbers]

    def rows(self, case: str, library: Library | None = None, **filters: Any) -> Any:
        """Return the rows of the record of a stay as a table."""
        return make_frame(self._transport.list_all("row_list", case_id=case, **filters), library)

    def series(self, case: str, library: Library | None = None, **filters: Any) -> Any:
        """Return the series of a stay as a table."""
        return make_frame(self._transport.list_all("series_list", case_id=case, **filters), library)


class Imports(Part):
    """Files that become datasets."""

    def upload(self, files: str | Path | Iterable[str | Path], study: str = "") -> Import:
        """Bring files, a zip, or a folder of this computer.

        The result is the check of them, which has begun. `study` is its id, for people who manage several.
        """
        sent = find_files(files)
        facts = self._transport.send_files("import_bring", sent, study=study or None)
        return Import(self._transport, facts)

    def folder(self, name: str, study: str = "") -> Import:
        """Bring a folder of the server that its operator allowed."""
        facts = self._transport.call("import_bring", folder=name, study=study or None)
        return Import(self._transport, facts)

    def get(self, found: str) -> Import:
        """Return an import by its id."""
        return Import(self._transport, self._transport.call("import", import_id=found))

    def all(self) -> list[dict[str, Any]]:
        """Return all imports, newest first."""
        return [*self._transport.list_all("import_list")]

    def mappings(self, format: str | None = None) -> list[dict[str, Any]]:
        """Return the saved mappings by name. `start` takes the name as `saved`."""
        return [*self._transport.list_all("mapping_list", format=format)]

    def save_mapping(self, name: str, format: str, study: str = "", **mapping: Any) -> Any:
        """Save a mapping (pattern, columns or codes) for the next import."""
        return self._transport.call(
            "mapping_save", name=name, format=format, mapping=mapping, study=study or None
        )


class Exports(Part):
    """Timelines as files."""

    def start(
        self,
        run: Run | str = "",
        dataset: str = "",
        format: str = "csv",
        *,
        text: bool = False,
        all_sources: bool = False,
    ) -> Export:
        """Start an export of a run, or of a dataset (name or id), and return it.

        A dataset has its study timeline and references, or `all_sources`. `text` adds words of the
        notes.
        """
        values: dict[str, Any] = {"run": find_id(run), "format": format, "with_note_text": text}
        if all_sources:
            values["all_sources"] = True
        if dataset:
            values["dataset"] = find_dataset(self._transport, dataset)
        return Export(self._transport, self._transport.call("export_start", **values))

    def get(self, export: str) -> Export:
        """Return an export by its id."""
        return Export(self._transport, self._transport.call("export", export_id=export))


class Runs(Part):
    """Reconstructions."""

    def launch(self, dataset: str, backbone: str = "rules", **choices: Any) -> Run:
        """Start a run over a dataset (name or id), and return it.

        `choices`: variant, preset, model, settings, cases, label, based_on.
        """
        found = find_dataset(self._transport, dataset)
        values = {"dataset": found, "backbone": backbone, **choices}
        return Run(self._transport, self._transport.call("run_start", **values))

    def get(self, run: str) -> Run:
        """Return a run by its id."""
        return Run(self._transport, self._transport.call("run", run_id=run))

    def all(self) -> list[dict[str, Any]]:
        """Return all runs, newest first."""
        return [*self._transport.list_all("run_list")]

    def cases(self, run: Run | str, state: str | None = None) -> Iterator[dict[str, Any]]:
        """Yield the cases of a run with their stages and why any failed."""
        return self._transport.list_all("run_case_list", run_id=find_id(run), state=state)


class Timelines(Part):
    """When things happened, and why."""

    def frame(self, run: Run | str, library: Library | None = None, *, text: bool = False) -> Any:
        """Return all finished timelines of a run, a row for each occurrence.

        Columns are those of docs/reference/timeline-export.md. `text` adds words of the notes.
        """
        return make_frame(self.stream(run, text=text), library)

    def stream(self, run: Run | str, *, text: bool = False) -> Iterator[dict[str, Any]]:
        """Yield the same rows while they arrive."""
        asked = {"run_id": find_id(run), **({"text": "1"} if text else {})}
        for line in self._transport.stream_lines("run_timelines", **asked):
            yield json.loads(line)

    def of_case(self, case: str) -> list[dict[str, Any]]:
        """Return the timelines of a case; the one with `first` opens first."""
        return list(self._transport.call("case_timelines", case_id=case))

    def chain(self, case: str, uid: str, timeline: str = "") -> dict[str, Any]:
        """Return an occurrence with everything behind its time.

        Without a timeline, that of the one that opens first.
        """
        chosen = timeline or next(t["id"] for t in self.of_case(case) if t["first"])
        values = {"case_id": case, "timeline_id": chosen, "uid": uid}
        return dict(self._transport.call("chain", **values))


class Evaluations(Part):
    """Comparisons with a reference."""

    def launch(self, dataset: str, reference: str = "reference", **choices: Any) -> Evaluation:
        """Start an evaluation of a dataset (name or id), and return it."""
        datasets = [find_dataset(self._transport, dataset)]
        values = {"datasets": datasets, "reference": reference, **choices}
        return Evaluation(self._transport, self._transport.call("evaluation_start", **values))

    def get(self, evaluation: str) -> Evaluation:
        """Return an evaluation by its id."""
        facts = self._transport.call("evaluation", evaluation_id=evaluation)
        return Evaluation(self._transport, facts)

    def table(
        self, evaluation: Evaluation, name: str = "main", library: Library | None = None
    ) -> Any:
        """Return one table of figures; figures without a value are empty."""
        table = next((t for t in evaluation.facts["tables"] if t["name"] == name), None)
        if table is None:
            known = ", ".join(t["name"] for t in evaluation.facts["tables"])
            raise LookupError(f"No table {name}. There are: {known or 'none yet'}.")
        rows = (
            {
                head: cell["value"] if isinstance(cell, dict) else cell
                for head, cell in zip(table["heads"], row, strict=True)
            }
            for row in table["rows"]
        )
        return make_frame(rows, library)


def find_files(files: str | Path | Iterable[str | Path]) -> list[tuple[str, Path]]:
    """Return the files with the names under which they are sent.

    Those of a folder keep its name. Raises FileNotFoundError.
    """
    found: list[tuple[str, Path]] = []
    for path in map(Path, [files] if isinstance(files, str | Path) else files):
        if not path.is_dir():
            found.append((path.name, path))
            continue
        top = Path(path.resolve().name)
        inner = sorted(p for p in path.rglob("*") if p.is_file())
        found += [((top / one.relative_to(path)).as_posix(), one) for one in inner]
    if missing := [str(path) for _, path in found if not path.is_file()]:
        raise FileNotFoundError(f"There is no file {missing[0]}.")
    return found


def find_id(run: Run | str) -> str:
    """Return the id of a run, or the id itself."""
    return run if isinstance(run, str) else run.id
