"""Read a window from its YAML. An error names the line, the key and what to do."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import TypeVar

from cohorts.engine import language as lang
from cohorts.engine.language import All, Criterion, Event, Interval, Not, Picked, Some, Window
from cohorts.engine.marked import Marked, read_marked
from cohorts.engine.phrases import read_pair, read_value, read_within
from cohorts.engine.values import WindowError

Value = TypeVar("Value")
_EVENT_KEYS = (
    "within", "before", "after", "between", "during", "value", "which", "nth",
    "at least", "at most", "as", "where",
)  # fmt: skip
_STAY_KEYS = ("at least", "at most", "is", "is not")
_MOMENTS = (lang.ADMISSION, lang.DISCHARGE)


def read_window(text: str, *, concepts: Collection[str]) -> Window:
    """Read a window over these concepts; raises WindowError."""
    given = read_marked(text)
    keys = _keys(given, "window", ("name", "anchor", "where"))
    for key in ("name", "anchor"):
        if key not in keys:
            raise given.fail(key, f"missing. Add a line that starts with {key}:")
    reader = _Reader(concepts)
    window = Window(
        _text(keys["name"], "name"),
        reader.read_anchor(keys["anchor"]),
        reader.read_where(keys.get("where"), (lang.ANCHOR, *_MOMENTS), 1),
    )
    if sum(not isinstance(c, All) for c in lang.walk(window.where)) > lang.MAX_CRITERIA:
        raise WindowError(f"where: more than {lang.MAX_CRITERIA} criteria. Use fewer.")
    return window


@dataclass(frozen=True)
class _Reader:
    concepts: Collection[str]

    def read_anchor(self, given: Marked) -> Picked | str:
        if isinstance(given.value, str) and given.value in _MOMENTS:
            return given.value
        if isinstance(given.value, str):
            return Picked(self._concept(given, "anchor"))
        keys = _keys(given, "anchor", ("concept", "which", "nth", "value"))
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
            return _read_stay(given)
        return self._group(given, key, names, depth)

    def _group(self, given: Marked, key: str, names: tuple[str, ...], depth: int) -> Criterion:
        value = _keys(given, key, (key,))[key]
        if key == "not":
            inner = self.read_where(value, names, depth)
            return Not(inner.parts[0] if len(inner.parts) == 1 else inner)
        if not isinstance(value.value, list) or not value.value:
            raise value.fail(key, "list its criteria, each on a line that starts with -")
        parts = tuple(self.read(part, names, depth) for part in value.value)
        return All(parts) if key == "all" else Some(parts)

    def _event(self, given: Marked, key: str, names: tuple[str, ...], depth: int) -> Event:
        keys = _keys(given, key, (key, *_EVENT_KEYS))
        if depth > lang.MAX_DEPTH:
            raise given.fail(key, f"more than {lang.MAX_DEPTH} events inside each other. Use fewer")
        name = _text(keys["as"], "as") if "as" in keys else ""
        if name in names and name:
            raise keys["as"].fail("as", f"“{name}” is already used. Choose another name")
        picked = self._picked(given, self._concept(keys[key], key), keys)
        low, high = _read_counts(given, key, keys)
        event = _build(
            given, key, lambda: Event(picked, _read_relations(keys, names), low, high, name)
        )
        inner = (*names, name) if name else names
        return replace(event, where=self.read_where(keys.get("where"), inner, depth + 1))

    def _concept(self, given: Marked, key: str) -> str:
        name = _text(given, key)
        if name not in self.concepts:
            raise given.fail(key, f"no concept “{name}”. Use one of the study, or add it first")
        return name

    def _picked(self, given: Marked, concept: str, keys: dict[str, Marked]) -> Picked:
        value = None
        if "value" in keys:
            value = _build(
                keys["value"], "value", lambda: read_value(_text(keys["value"], "value"))
            )
        return _build(given, "which", lambda: Picked(concept, value, _read_which(keys)))


def _read_which(keys: dict[str, Marked]) -> int:
    if "nth" in keys:
        if "which" in keys:
            raise keys["nth"].fail("nth", "give which or nth, not both")
        number = _count(keys["nth"], "nth")
        if not number:
            raise keys["nth"].fail("nth", "count from 1")
        return number
    if "which" not in keys:
        return lang.ANY
    known = {"any": lang.ANY, "first": lang.FIRST, "last": lang.LAST}
    word = _text(keys["which"], "which")
    if word not in known:
        raise keys["which"].fail("which", "write first, last or any; or use nth: 2")
    return known[word]


def _read_relations(keys: dict[str, Marked], names: tuple[str, ...]) -> tuple[lang.Relation, ...]:
    found: list[lang.Relation] = []
    for key in ("within", "before", "after", "between", "during"):
        if key not in keys:
            continue
        given, text = keys[key], _text(keys[key], key)
        relation = _build(given, key, lambda key=key, text=text: _read_relation(key, text))  # type: ignore[misc]
        for span in relation.spans:
            if span.reference not in names:
                known = ", ".join(names)
                problem = f"nothing around it is called “{span.reference}”. Use one of: {known}"
                raise given.fail(key, problem)
        found.append(relation)
    return tuple(found)


def _read_relation(key: str, text: str) -> lang.Relation:
    if key == "within":
        return read_within(text)
    if key in ("between", "during"):
        return read_pair(text, during=key == "during")
    return lang.Before(text) if key == "before" else lang.After(text)


def _read_counts(given: Marked, key: str, keys: dict[str, Marked]) -> tuple[int, int | None]:
    if key == "no":
        for extra in ("at least", "at most"):
            if extra in keys:
                raise keys[extra].fail(extra, "no means none. Start with event: to give a number")
        return 0, 0
    most = _count(keys["at most"], "at most") if "at most" in keys else None
    if "at least" in keys:
        return _count(keys["at least"], "at least"), most
    return (1 if most is None else 0), most


def _read_stay(given: Marked) -> Criterion:
    keys = _keys(given, "stay", ("stay", *_STAY_KEYS))
    about = _text(keys["stay"], "stay")
    if about not in (*lang.NUMBERS, *lang.WORDS):
        raise keys["stay"].fail("stay", "use age, length, sex, unit or disposition")
    if about in lang.WORDS:
        for key in ("is", "is not"):
            if set(keys) == {"stay", key}:
                return lang.Stay(about, _text(keys[key], key), key == "is not")
        raise given.fail("stay", f"say what {about} is with one line: is: … or is not: …")
    if not set(keys) - {"stay"} or "is not" in keys or ("is" in keys and len(keys) > 2):
        raise given.fail("stay", f"say what {about} is with at least: …, at most: … or is: …")
    low, high = keys.get("is", keys.get("at least")), keys.get("is", keys.get("at most"))
    value = _build(given, "stay", lambda: Interval(*_limits(low, high)))
    return lang.Stay(about, value)


def _limits(low: Marked | None, high: Marked | None) -> tuple[float, float]:
    whole = Interval()
    return (
        read_value(f">= {_text(low, 'at least')}").low if low else whole.low,
        read_value(f"<= {_text(high, 'at most')}").high if high else whole.high,
    )


def _keys(given: Marked, key: str, known: tuple[str, ...]) -> dict[str, Marked]:
    if not isinstance(given.value, dict):
        raise given.fail(key, f"give keys and values: {', '.join(known)}")
    for found, value in given.value.items():
        if found not in known:
            raise value.fail(found, f"unknown here. Use: {', '.join(known)}")
    return given.value


def _text(given: Marked, key: str) -> str:
    if not isinstance(given.value, str) or not given.value.strip():
        raise given.fail(key, "write a word or a number here")
    return given.value.strip()


def _count(given: Marked, key: str) -> int:
    text = _text(given, key)
    if not text.isascii() or not text.isdigit() or len(text) > 6:
        raise given.fail(key, "write a whole number, such as 2")
    return int(text)


def _build(given: Marked, key: str, make: Callable[[], Value]) -> Value:
    try:
        return make()
    except WindowError:
        raise
    except ValueError as error:
        raise given.fail(key, str(error)) from None
