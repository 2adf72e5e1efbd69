"""Read the predicates of an ACES task as concepts with a value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cohorts.engine.language import Picked
from cohorts.engine.marked import Marked
from cohorts.engine.phrases import read_value
from cohorts.engine.relations import Interval

_OR = re.compile(r"or\((.*)\)")
_VALUE_KEYS = ("value_min", "value_max", "value_min_inclusive", "value_max_inclusive")


@dataclass(frozen=True, slots=True)
class Predicate:
    """The concept of a predicate; ACES counts moments of a derived one."""

    picked: Picked
    derived: bool
    #: Else the concept has the predicate's name, and other codes.
    same_codes: bool


def read_predicate(
    given: Marked, name: str, codes: Mapping[str, Sequence[str]], wanted_by: Marked
) -> Predicate:
    """Read one of the predicates; raises WindowError if no concept fits."""
    known = given.get_keys("predicates")
    if name.startswith("_"):
        raise wanted_by.fail(name, "no concept means every event or an end of the record")
    if name not in known:
        raise wanted_by.fail(name, "not among the predicates")
    keys = known[name].get_keys(name)
    if "expr" in keys:
        wanted, value = _read_expression(known, keys["expr"]), None
    elif "code" in keys:
        wanted, value = _read_code(keys["code"]), _read_limits(keys)
    else:
        raise known[name].fail(name, "give a code")
    _refuse_others(keys)
    concept = _find_concept(name, wanted, codes)
    if concept is None:
        listed = ", ".join(sorted(wanted)[:5])
        problem = f"no concept has exactly these codes ({listed}) or this name. Make it first"
        raise known[name].fail(name, problem)
    same_codes = frozenset(codes[concept]) == wanted
    return Predicate(Picked(concept, value), "expr" in keys, same_codes)


def _refuse_others(keys: dict[str, Marked]) -> None:
    if "static" in keys and keys["static"].get_text("static").lower() == "false":
        keys = {key: value for key, value in keys.items() if key != "static"}
    for key, value in keys.items():
        if key not in ("code", "expr", *_VALUE_KEYS):
            raise value.fail(key, "a concept cannot ask for this. Remove it")


def _read_code(given: Marked) -> frozenset[str]:
    if isinstance(given.value, str):
        return frozenset([given.value])
    choice = given.get_keys("code")
    if set(choice) != {"any"} or not isinstance(choice["any"].value, list):
        raise given.fail("code", "only a code or any: [codes] can be a concept, no regex")
    return frozenset(code.get_text("any") for code in choice["any"].value)


def _read_expression(known: Mapping[str, Marked], expression: Marked) -> frozenset[str]:
    """Return the codes of or(…), which has plain predicates without values."""
    found = _OR.fullmatch(expression.get_text("expr"))
    if found is None:
        raise expression.fail("expr", "only or(…) can be a concept. Use one window for each part")
    codes: frozenset[str] = frozenset()
    for name in found[1].split(","):
        keys = known.get(name.strip())
        parts = keys.get_keys(name) if keys else {}
        if "code" not in parts or set(parts) & set(_VALUE_KEYS):
            raise expression.fail("expr", f"{name.strip()} is no predicate with a code alone")
        codes |= _read_code(parts["code"])
    return codes


def _read_limits(keys: dict[str, Marked]) -> Interval | None:
    limits: list[float] = []
    for key, unlimited in (("value_min", float("-inf")), ("value_max", float("inf"))):
        given = keys.get(key)
        if given is None or given.value is None:
            limits.append(unlimited)
            continue
        try:
            limits.append(read_value(f"= {given.get_text(key)}").low)
        except ValueError:
            raise given.fail(key, "write a number") from None
    interval = Interval()
    if limits == [interval.low, interval.high]:
        return None
    closed = [_is_true(keys.get(f"value_{end}_inclusive")) for end in ("min", "max")]
    low_open = not closed[0] and limits[0] != interval.low
    high_open = not closed[1] and limits[1] != interval.high
    try:
        return Interval(limits[0], limits[1], low_open, high_open)
    except ValueError as error:
        raise keys["code"].fail("value_min", str(error)) from None


def _is_true(given: Marked | None) -> bool:
    return given is not None and str(given.value).lower() == "true"


def _find_concept(
    name: str, wanted: frozenset[str], codes: Mapping[str, Sequence[str]]
) -> str | None:
    """Return the concept with these codes, else the one with this name."""
    for concept, its_codes in codes.items():
        if frozenset(its_codes) == wanted:
            return concept
    words = name.replace("_", " ").casefold()
    return next((c for c in codes if c.replace("_", " ").casefold() == words), None)
