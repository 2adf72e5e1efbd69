"""Write a window as YAML, such that reading it returns an equal window."""

from __future__ import annotations

from typing import Any

import yaml

from cohorts.engine import language as lang
from cohorts.engine.language import All, Criterion, Event, Not, Picked, Some, Window
from cohorts.engine.phrases import write_number, write_value, write_within
from cohorts.engine.relations import After, Before, Between, Relation, Within

_WHICH = {lang.FIRST: {"which": "first"}, lang.LAST: {"which": "last"}, lang.ANY: {}}


class _Dumper(yaml.SafeDumper):
    """Write `no` without quotes: `read_window` reads no booleans."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":bool")]
    for first, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
}


def write_window(window: Window) -> str:
    """Return the YAML that `read_window` reads."""
    anchor = window.anchor
    document: dict[str, Any] = {
        "name": window.name,
        "anchor": anchor
        if isinstance(anchor, str)
        else {"concept": anchor.concept, **_picked(anchor)},
    }
    if window.where.parts:
        document["where"] = [_write(part) for part in window.where.parts]
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def _write(criterion: Criterion) -> dict[str, Any]:
    match criterion:
        case lang.Stay():
            return _write_stay(criterion)
        case Event():
            return _write_event(criterion)
        case All():
            return {"all": [_write(part) for part in criterion.parts]}
        case Some():
            return {"any": [_write(part) for part in criterion.parts]}
        case Not(All() as inner) if not inner.parts or len(inner.parts) > 1:
            return {"not": [_write(part) for part in inner.parts]}
        case Not():
            return {"not": _write(criterion.part)}


def _write_stay(stay: lang.Stay) -> dict[str, Any]:
    if isinstance(stay.value, str):
        return {"stay": stay.about, "is not" if stay.negated else "is": stay.value}
    low, high = stay.value.low, stay.value.high
    if low == high:
        return {"stay": stay.about, "is": _number(low)}
    limits = {"at least": low, "at most": high}
    known = {key: _number(end) for key, end in limits.items() if abs(end) != float("inf")}
    return {"stay": stay.about, **known}


def _write_event(event: Event) -> dict[str, Any]:
    none = event.at_most == 0
    found: dict[str, Any] = {"no" if none else "event": event.picked.concept}
    found |= _picked(event.picked)
    if not none:
        # Without a number, one is enough; `at most` alone includes none.
        if event.at_least != (1 if event.at_most is None else 0):
            found["at least"] = event.at_least
        if event.at_most is not None:
            found["at most"] = event.at_most
    for relation in event.relations:
        found |= _write_relation(relation)
    if event.name:
        found["as"] = event.name
    if event.where.parts:
        found["where"] = [_write(part) for part in event.where.parts]
    return found


def _write_relation(relation: Relation) -> dict[str, str]:
    match relation:
        case Within():
            return {"within": write_within(relation)}
        case Before(reference):
            return {"before": reference}
        case After(reference):
            return {"after": reference}
        case Between(start, end, during):
            return {"during" if during else "between": f"{start} and {end}"}


def _picked(picked: Picked) -> dict[str, Any]:
    found: dict[str, Any] = dict(_WHICH.get(picked.which, {"nth": picked.which}))
    if picked.value is not None:
        found["value"] = write_value(picked.value)
    return found


def _number(value: float) -> int | float:
    return int(value) if write_number(value).lstrip("-").isdigit() else value
