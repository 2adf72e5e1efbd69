"""Read and write a recipe as YAML; faults name line and field. No Django."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import yaml
from pydantic import ValidationError

from adjudication.recipes.schema import Recipe
from llm_runtime.schema import named_faults
from timelines.formats.yaml_text import YamlFault, compose

MAX_NESTING = 12


class RecipeInvalid(ValueError):
    """A text that is no recipe; each fault names its line and field."""

    log_safe = True
    retryable = False

    def __init__(self, *found: str) -> None:
        super().__init__(" ".join(found))
        self.faults = found


def read_recipe(text: str) -> Recipe:
    """Return the recipe of a YAML text. Raises RecipeInvalid."""
    try:
        node = compose(text, nesting=MAX_NESTING)
    except YamlFault as fault:
        raise RecipeInvalid(str(fault)) from None
    if not isinstance(node, yaml.MappingNode):
        raise RecipeInvalid("line 1: a recipe begins with keys, such as name: and cohorts:.")
    lines = dict(_locate(node, ""))
    try:
        return Recipe.model_validate_json(_to_json(text))
    except ValidationError as error:
        raise RecipeInvalid(
            *(_say(_find_line(lines, f.path), f.path, f.reason) for f in named_faults(error))
        ) from None


def write_recipe(recipe: Recipe) -> str:
    """Return the recipe as YAML, without what has its usual value."""
    plain = recipe.model_dump(mode="json", exclude_defaults=True)
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=100)


def digest(text: str) -> str:
    """Return the SHA-256 of a recipe's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def _to_json(text: str) -> str:
    try:
        return json.dumps(yaml.safe_load(text))
    except (TypeError, ValueError):
        raise RecipeInvalid("Write dates and other special values as words in quotes.") from None


def _locate(node: yaml.Node, path: str) -> Iterator[tuple[str, int]]:
    """Yield (path, line) of every value, as pydantic's faults name it."""
    yield path, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            below = f"{path}.{key.value}" if path else str(key.value)
            yield below, key.start_mark.line + 1
            yield from _locate(value, below)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield from _locate(value, f"{path}[{number}]")


def _find_line(lines: dict[str, int], path: str) -> int:
    """Return the line of the path, or of the nearest value around it."""
    while path and path not in lines:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return lines.get(path, 1)


#: Beginnings of pydantic's reasons that a person would not know → what to do.
_PLAIN = {
    "String should match pattern": "use lower-case letters, digits, - and _, at most 40",
    "Tuple should have at least 1 item": "name at least one",
}


def _say(line: int, path: str, reason: str) -> str:
    reason = next((words for start, words in _PLAIN.items() if reason.startswith(start)), reason)
    return f"line {line}, {path}: {reason}." if path else f"line {line}: {reason}."
