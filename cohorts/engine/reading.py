"""Read a window from YAML; an error names line, key and what to do."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

from cohorts.engine import language as lang
from cohorts.engine.language import All, Criterion, Event, Not, Picked, Some, Window
from cohorts.engine.marked import Marked, read_marked
from cohorts.engine.phrases import read_value
from cohorts.engine.reading_parts import read_counts, read_relations, read_stay, read_which
from cohorts.engine.values import WindowError

_EVENT_KEYS = (
    "within", "before", "after", "between", "during", "value", "which", "nth",
    "at least", "at most", "as", "where",
)  # fmt: skip
_MOMENTS = (lang.ADMISSION, lang.DISCHARGE)


def read_window(text: str, *, concepts: Container[str]) -> Window:
    """Read a window over these concepts; raises WindowError."""
    given = read_marked(text)
    keys = given.get_keys("window", ("name", "anchor", "where"))
    for key in ("name", "anchor"):
        if key not in keys:
            raise given.fail(key, f"missing. Add a line that starts with {key}:")
    reader = _Reader(concepts)
    window = Window(
        keys["name"].get_text("name"),
        reader.read_anchor(keys["anchor"]),
        reader.read_where(keys.get("where"), (lang.ANCHOR, *_MOMENTS), 1),
    )
    if sum(not isinstance(c, All) for c in lang.walk(window.where)) > lang.MAX_CRITERIA:
        raise WindowError(f"where: more than {lang.MAX_CRITERIA} criteria. Use fewer.")
    return window


@dataclass(frozen=True)
class _Reader:
    concepts: Container[str]

    def read_anchor(self, given: Marked) -> Picked | str:
        if isinstance(given.value, str) and given.value in _MOMENTS:
            return given.value
        if isinstance(given.value, str):
            return Picked(self._concept(given, "anchor"))
        keys = given.get_keys("anchor", ("concept", "which", "nth", "value"))
        if "concept" not in keys:
            raise given.fail("anchor", "name a concept, admission or discharge")
        return self._picked(given, self._concept(keys["concept"], "concept"), keys)

    def read_where(self, given: Marked | None, names: tuple[str, ...], depth: int) -> All:
        if given is None or given.value is None:
            return All()
        if isinstance(given.value, list):
            return All(tuple(self.read(part, names, depth) for part in given.value))
        found = self.read(given, names, depth)
        return found if isinstance(found, All) else All((found,))

    def read(self, given: Marked, names: tuple[str, ...], depth: int) -> Criterion:
        if not isinstance(given.value, dict):
            raise given.fail("where", "a criterion starts with event, no, stay, all, any or not")
        for key in ("event", "no", "stay", "all", "any", "not"):
            if key in given.value:
                break
        else:
            unknown = next(iter(given.value), "where")
            raise given.fail(unknown, "unknown. Start with event, no, stay, all, any or not")
        if key in ("event", "no"):
            return self._event(given, key, names, depth)
        if key == "stay":
            return read_stay(given)
        return self._group(given, key, names, depth)

    def _group(self, given: Marked, key: str, names: tuple[str, ...], depth: int) -> Criterion:
        value = given.get_keys(key, (key,))[key]
        if key == "not":
            inner = self.read_where(value, names, depth)
            return Not(inner.parts[0] if len(inner.parts) == 1 else inner)
        if not isinstance(value.value, list) or not value.value:
            raise value.fail(key, "list its criteria, each on a line that starts with -")
        parts = tuple(self.read(part, names, depth) for part in value.value)
        return All(parts) if key == "all" else Some(parts)

    def _event(self, given: Marked, key: str, names: tuple[str, ...], depth: int) -> Event:
        keys = given.get_keys(key, (key, *_EVENT_KEYS))
        if depth > lang.MAX_DEPTH:
            raise given.fail(key, f"more than {lang.MAX_DEPTH} events inside each other. Use fewer")
        name = keys["as"].get_text("as") if "as" in keys else ""
        if name in names and name:
            raise keys["as"].fail("as", f"“{name}” is already used. Choose another name")
        picked = self._picked(given, self._concept(keys[key], key), keys)
        low, high = read_counts(given, key, keys)
        event = given.build(
            key, lambda: Event(picked, read_relations(keys, names), low, high, name)
        )
        inner = (*names, name) if name else names
        return replace(event, where=self.read_where(keys.get("where"), inner, depth + 1))

    def _concept(self, given: Marked, key: str) -> str:
        name = given.get_text(key)
        if name not in self.concepts:
            raise given.fail(key, f"no concept “{name}”. Use one of the study, or add it first")
        return name

    def _picked(self, given: Marked, concept: str, keys: dict[str, Marked]) -> Picked:
        value = None
        if "value" in keys:
            value = keys["value"].build(
                "value", lambda: read_value(keys["value"].get_text("value"))
            )
        return given.build("which", lambda: Picked(concept, value, read_which(keys)))
