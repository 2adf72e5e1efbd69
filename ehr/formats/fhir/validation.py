"""Name the faults of a resource with the R4 models of fhir.resources.

The models are slow, so they see each refused resource and a sample of the others. The library has
models of R4B, which differ from R4 in none of the elements that are read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from pydantic import BaseModel, ValidationError

from ehr.formats.fhir.elements import Resource

#: The first resources of each type in a file are validated, and one of so many after them.
FIRST, EVERY = 3, 100
#: Our own words for the commonest errors; the library's words may quote values.
WORDS = {
    "missing": "missing",
    "string_type": "not a text",
    "list_type": "not a list",
    "model_type": "not an object",
    "dict_type": "not an object",
    "json_invalid": "not an object",
    "bool_type": "not true or false",
    "extra_forbidden": "an element that R4 does not have",
}


def is_sampled(number: int) -> bool:
    """Say if the resource is validated; `number` counts its type from 0."""
    return number < FIRST or number % EVERY == 0


def find_fault(resource: Resource) -> tuple[str, str] | None:
    """Return (JSON path, reason) of the first fault, None if it is valid.

    Neither quotes a value of the resource.
    """
    if fault := find_type_fault(resource):
        return fault
    try:
        _model(resource["resourceType"]).model_validate(resource)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = first["loc"]
        if first["type"] == "extra_forbidden":
            place = place[:-1]  # the element's name is a text of the file
        return make_path(place), WORDS.get(first["type"], f"not valid R4 ({first['type']})")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return "", "not valid R4"
    return None


def find_type_fault(resource: Resource) -> tuple[str, str] | None:
    """Return the fault of a resource whose type R4 does not have."""
    try:
        _model(resource["resourceType"])
    except (LookupError, ValueError, TypeError):
        return "resourceType", "no resource type of R4"
    return None


def make_path(parts: tuple[int | str, ...]) -> str:
    """Return `component[0].code` for ("component", 0, "code")."""
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
    return path.removeprefix(".")


@cache
def _model(name: str) -> type[BaseModel]:
    """Return the model; imported late, because it takes a second."""
    module: Mapping[str, Any] = vars(import_module("fhir.resources.R4B"))
    model: type[BaseModel] = module["get_fhir_model_class"](name)
    return model
