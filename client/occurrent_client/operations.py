"""Every operation of the API, from `operations.json`.

`client/occurrent_client/generate.py` writes that file from the OpenAPI description.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Operation:
    """One method of one address.

    `query` are its parameters, `body` the fields of its JSON body. One that `starts` something may
    be sent again with its key; one that `edits` needs the ETag of what was read.
    """

    method: str
    path: str
    query: list[str]
    body: list[str]
    starts: bool
    edits: bool


def load_operations() -> dict[str, Operation]:
    """Return the operations by name."""
    found = json.loads(files("occurrent_client").joinpath("operations.json").read_text("utf-8"))
    return {name: Operation(**values) for name, values in found.items()}


OPERATIONS = load_operations()
