"""A recipe as a form: fields from the schema, and back. No Django.

A field's name is its place in the recipe, such as `runs.0.backbone`. Lists are written with commas
or one value a line, and tables as `name=number`.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from adjudication.recipes.schema import (
    EvaluationPart,
    JudgePart,
    PacketPart,
    PlantedPart,
    Recipe,
    RunPart,
)

#: The lists of a recipe: name → (schema of a part, what a person calls one).
PARTS: Mapping[str, tuple[type[BaseModel], str]] = {
    "runs": (RunPart, "run"),
    "evaluations": (EvaluationPart, "evaluation"),
    "judges": (JudgePart, "judge"),
    "planted": (PlantedPart, "measurement of planted differences"),
    "packets": (PacketPart, "packet"),
}
#: Choices of a setting that may follow the preset, by their words.
_OPTIONAL: Mapping[str, bool | None] = {"": None, "yes": True, "no": False}
#: Labels of fields whose names say too little.
_LABELS: Mapping[str, str] = {
    "about": "description",
    "each": "differences of each type",
    "redistribute": "fill gaps from other strata",
    "rho": "ρ",
    "rho_sweep": "sweep of ρ",
    "second": "pairings with a second reviewer",
    "series": "series shown to the judge",
    "swap": "judge both orders",
    "text_only": "text-only timelines, too",
    "uid_table": "UIDs and spans shown to the judge",
}
#: Fields of the recipe itself.
HEAD = ("name", "about", "cohorts", "cases")
#: Of a new part, so that it can be read at once.
START: Mapping[str, Mapping[str, Any]] = {
    "runs": {"name": "run", "backbone": "rules"},
    "evaluations": {"name": "evaluation"},
    "judges": {"name": "judge"},
    "planted": {"name": "planted"},
    "packets": {"name": "packet", "judge": "judge", "label": "Packet"},
}


@dataclass(frozen=True, slots=True)
class FormField:
    """One input. `kind` is text, prose, lines, check or choice."""

    name: str
    label: str
    kind: str
    value: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FormPart:
    """The inputs of one part."""

    kind: str
    number: int
    title: str
    fields: tuple[FormField, ...]


def list_head(plain: Mapping[str, Any]) -> list[FormField]:
    """Return the inputs of the recipe itself."""
    return [_field(name, name, Recipe.model_fields[name], plain.get(name)) for name in HEAD]


def list_parts(plain: Mapping[str, Any]) -> Iterator[FormPart]:
    """Yield the inputs of every part, in the recipe's order."""
    for kind, (schema, word) in PARTS.items():
        for number, part in enumerate(_parts(plain, kind)):
            fields = tuple(
                _field(f"{kind}.{number}.{name}", name, info, part.get(name))
                for name, info in schema.model_fields.items()
            )
            yield FormPart(kind, number, f"{word.capitalize()} {part.get('name', '')}", fields)


def read_form(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the recipe that a form says, without empty inputs."""
    plain: dict[str, Any] = {}
    for name in HEAD:
        _put(plain, name, _value(Recipe.model_fields[name], given.get(name)))
    for kind, (schema, _) in PARTS.items():
        numbers = sorted({int(n) for n in _numbers(given, kind)})
        parts = [_read_part(schema, f"{kind}.{number}", given) for number in numbers]
        _put(plain, kind, [part for part in parts if part])
    return plain


def change(plain: dict[str, Any], step: str) -> dict[str, Any]:
    """Return the recipe after `add-KIND` or `remove-KIND-NUMBER`."""
    word, _, rest = step.partition("-")
    kind, _, number = rest.partition("-")
    if kind not in PARTS:
        return plain
    parts = list(_parts(plain, kind))
    if word == "add":
        names = {p.get("name") for k in PARTS for p in _parts(plain, k)}
        new = dict(START[kind])
        counted = (f"{new['name']}-{n}" for n in range(2, 1000))
        new["name"] = next(n for n in (new["name"], *counted) if n not in names)
        parts.append(new)
    elif word == "remove" and number.isdigit() and int(number) < len(parts):
        del parts[int(number)]
    return {**plain, kind: parts}


def to_yaml(plain: Mapping[str, Any]) -> str:
    """Write plain values as YAML, also those that are no recipe yet."""
    kept = {key: value for key, value in plain.items() if value not in (None, "", [], {})}
    return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=100)


def _read_part(schema: type[BaseModel], prefix: str, given: Mapping[str, str]) -> dict[str, Any]:
    part: dict[str, Any] = {}
    for name, info in schema.model_fields.items():
        _put(part, name, _value(info, given.get(f"{prefix}.{name}")), usual=info.default)
    return part


def _put(plain: dict[str, Any], name: str, value: Any, usual: Any = None) -> None:
    """Add a value, unless it is empty or the usual one."""
    if value in (None, "", [], {}) or value == usual:
        return
    plain[name] = value


def _numbers(given: Mapping[str, str], kind: str) -> Iterator[str]:
    for name in given:
        head, _, rest = name.partition(".")
        number = rest.partition(".")[0]
        if head == kind and number.isascii() and number.isdigit() and len(number) < 4:
            yield number


def _parts(plain: Mapping[str, Any], kind: str) -> Sequence[Mapping[str, Any]]:
    found = plain.get(kind) or []
    return [p for p in found if isinstance(p, Mapping)] if isinstance(found, list) else []


def _field(name: str, label: str, info: FieldInfo, value: Any) -> FormField:
    kind, choices = _kind(info)
    kind = "prose" if name == "about" else kind
    label = _LABELS.get(label, label.replace("_", " "))
    shown = info.get_default() if value is None and not info.is_required() else value
    words = "" if kind == "check" and not shown else _words(shown)
    return FormField(name, label, kind, words, choices)


def _kind(info: FieldInfo) -> tuple[str, tuple[str, ...]]:
    kind = info.annotation
    if kind is bool:
        return "check", ()
    if kind == bool | None:
        return "choice", tuple(_OPTIONAL)
    if typing.get_origin(kind) is Literal:
        return "choice", tuple(map(str, typing.get_args(kind)))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return "choice", tuple(str(member.value) for member in kind)
    return ("lines" if _is_many(info) else "text"), ()


def _is_many(info: FieldInfo) -> bool:
    origins = {typing.get_origin(info.annotation)} | {
        typing.get_origin(part) for part in typing.get_args(info.annotation)
    }
    return bool(origins & {tuple, Mapping, dict} or "Mapping" in str(info.annotation))


def _words(value: Any) -> str:
    """Return a value as its input shows it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, Mapping):
        return "\n".join(f"{key}={_words(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(map(_words, value))
    return str(value)


def _value(info: FieldInfo, text: str | None) -> Any:
    """Return what an input says, as YAML would read it."""
    kind, _ = _kind(info)
    if kind == "check":
        return bool(text)
    if info.annotation == bool | None:
        return _OPTIONAL.get(text or "")
    text = (text or "").replace("\r\n", "\n").strip()
    if kind == "lines":
        return _read_many(info, text)
    return _scalar(text) if _is_number(info) else text


def _read_many(info: FieldInfo, text: str) -> Any:
    if text == "all":
        return text
    words = [w.strip() for w in text.replace(",", "\n").splitlines() if w.strip()]
    if "Mapping" in str(info.annotation):
        pairs = [word.partition("=") for word in words]
        return {key.strip(): _scalar(value.strip()) for key, _, value in pairs}
    return [_scalar(word) for word in words] if "float" in str(info.annotation) else words


def _is_number(info: FieldInfo) -> bool:
    return any(word in str(info.annotation) for word in ("int", "float"))


def _scalar(text: str) -> Any:
    try:
        return yaml.safe_load(text) if text else None
    except yaml.YAMLError:
        return text
