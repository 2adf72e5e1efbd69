"""Read parts of a criterion: which, relations, numbers and stay facts."""

from __future__ import annotations

from cohorts.engine import language as lang
from cohorts.engine.marked import Marked
from cohorts.engine.phrases import read_pair, read_value, read_within
from cohorts.engine.relations import After, Before, Interval, Relation

_STAY_KEYS = ("at least", "at most", "is", "is not")


def read_which(keys: dict[str, Marked]) -> int:
    """Return which occurrence is meant, as `Picked.which`."""
    if "nth" in keys:
        if "which" in keys:
            raise keys["nth"].fail("nth", "give which or nth, not both")
        number = keys["nth"].get_count("nth")
        if not number:
            raise keys["nth"].fail("nth", "count from 1")
        return number
    if "which" not in keys:
        return lang.ANY
    known = {"any": lang.ANY, "first": lang.FIRST, "last": lang.LAST}
    word = keys["which"].get_text("which")
    if word not in known:
        raise keys["which"].fail("which", "write first, last or any; or use nth: 2")
    return known[word]


def read_relations(keys: dict[str, Marked], names: tuple[str, ...]) -> tuple[Relation, ...]:
    """Return the relations, which refer to these names only."""
    found: list[Relation] = []
    for key in ("within", "before", "after", "between", "during"):
        if key not in keys:
            continue
        given, text = keys[key], keys[key].get_text(key)
        relation = given.build(key, lambda key=key, text=text: _read_relation(key, text))  # type: ignore[misc]
        for span in relation.spans:
            if span.reference not in names:
                known = ", ".join(names)
                problem = f"nothing around it is called “{span.reference}”. Use one of: {known}"
                raise given.fail(key, problem)
        found.append(relation)
    return tuple(found)


def _read_relation(key: str, text: str) -> Relation:
    if key == "within":
        return read_within(text)
    if key in ("between", "during"):
        return read_pair(text, during=key == "during")
    return Before(text) if key == "before" else After(text)


def read_counts(given: Marked, key: str, keys: dict[str, Marked]) -> tuple[int, int | None]:
    """Return the least and greatest number of occurrences."""
    if key == "no":
        for extra in ("at least", "at most"):
            if extra in keys:
                raise keys[extra].fail(extra, "no means none. Start with event: to give a number")
        return 0, 0
    most = keys["at most"].get_count("at most") if "at most" in keys else None
    if "at least" in keys:
        return keys["at least"].get_count("at least"), most
    return (1 if most is None else 0), most


def read_stay(given: Marked) -> lang.Stay:
    """Return a criterion about the stay."""
    keys = given.get_keys("stay", ("stay", *_STAY_KEYS))
    about = keys["stay"].get_text("stay")
    if about not in (*lang.NUMBERS, *lang.WORDS):
        raise keys["stay"].fail("stay", "use age, length, sex, unit or disposition")
    if about in lang.WORDS:
        for key in ("is", "is not"):
            if set(keys) == {"stay", key}:
                return lang.Stay(about, keys[key].get_text(key), key == "is not")
        raise given.fail("stay", f"say what {about} is with one line: is: … or is not: …")
    if not set(keys) - {"stay"} or "is not" in keys or ("is" in keys and len(keys) > 2):
        raise given.fail("stay", f"say what {about} is with at least: …, at most: … or is: …")
    low, high = keys.get("is", keys.get("at least")), keys.get("is", keys.get("at most"))
    value = given.build("stay", lambda: Interval(*_limits(low, high)))
    return lang.Stay(about, value)


def _limits(low: Marked | None, high: Marked | None) -> tuple[float, float]:
    whole = Interval()
    return (
        read_value(f">= {low.get_text('at least')}").low if low else whole.low,
        read_value(f"<= {high.get_text('at most')}").high if high else whole.high,
    )
