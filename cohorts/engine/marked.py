"""Read YAML into values that know their lines.

Aliases, tags, several documents, long texts and deep nesting are refused before anything is built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import yaml

from cohorts.engine.values import WindowError
from timelines.formats.yaml_text import YamlFault, compose

Value = TypeVar("Value")
MAX_NESTING = 40
_SCALARS = ("str", "int", "float", "null", "bool")


@dataclass(frozen=True, slots=True)
class Marked:
    """A value of the text (words, a list or a mapping) and its line, from 1."""

    line: int
    value: str | list[Marked] | dict[str, Marked] | None

    def fail(self, key: str, problem: str) -> WindowError:
        """Return an error about this line."""
        return WindowError(f"line {self.line}, {key}: {problem}.")

    def get_keys(self, key: str, known: tuple[str, ...] = ()) -> dict[str, Marked]:
        """Return the keys of a mapping, of which only some may be known."""
        if not isinstance(self.value, dict):
            listed = f": {', '.join(known)}" if known else ""
            raise self.fail(key, f"give keys and values{listed}")
        for found, value in self.value.items():
            if known and found not in known:
                raise value.fail(found, f"unknown here. Use: {', '.join(known)}")
        return self.value

    def get_text(self, key: str) -> str:
        """Return the words of a scalar."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.fail(key, "write a word or a number here")
        return self.value.strip()

    def get_count(self, key: str) -> int:
        """Return a whole number."""
        text = self.get_text(key)
        if not text.isascii() or not text.isdigit() or len(text) > 6:
            raise self.fail(key, "write a whole number, such as 2")
        return int(text)

    def build(self, key: str, make: Callable[[], Value]) -> Value:
        """Return what `make` returns; name the line in its ValueError."""
        try:
            return make()
        except WindowError:
            raise
        except ValueError as error:
            raise self.fail(key, str(error)) from None


def read_marked(text: str) -> Marked:
    """Read one YAML document; raises WindowError with the line."""
    try:
        node = compose(text, nesting=MAX_NESTING)
    except YamlFault as fault:
        raise WindowError(str(fault)) from None
    if node is None:
        raise WindowError("The text is empty. Write at least name, anchor and where.")
    return _mark(node)


def _mark(node: yaml.Node) -> Marked:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        return Marked(line, None if node.tag.endswith(":null") else node.value)
    if isinstance(node, yaml.SequenceNode):
        return Marked(line, [_mark(part) for part in node.value])
    found: dict[str, Marked] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise WindowError(f"line {line}: a key is not a word. Write key: value.")
        if key.value in found:
            line = key.start_mark.line + 1
            raise WindowError(f"line {line}, {key.value}: given twice. Remove one.")
        found[key.value] = Marked(key.start_mark.line + 1, _mark(value).value)
    return Marked(line, found)
