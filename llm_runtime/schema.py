"""pydantic models of input, with faults that never repeat the input.

A fault names its field. The same model gives the grammar for constrained decoding. No Django.
Values are taken as they are: a text is no number, a boolean is no integer, NaN is no hour. Only
enumerations are read from their texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails, core_schema

Schema = dict[str, Any]
_WORDS: Mapping[str, str] = {
    "list_type": "is not a list",
    "dict_type": "is not an object",
    "model_type": "is not an object",
    "string_type": "is not a text",
    "missing": "missing",
    "string_unicode": "is not a text",
}
#: Fields for a model's thinking before its answer.
REASONING = ("reasoning", "reasoning_summary")
#: How pydantic begins its sentences, and how ours go on after the field.
_INPUT = ("Input should be", "must be")
#: What pydantic calls a field that a model or a dataclass does not have.
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
#: Most missing fields that one message names.
_MOST_NAMED = 20


class Strict(BaseModel):
    """An object with exactly these fields."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False
    )


@dataclass(frozen=True, slots=True)
class FaultMessage:
    """Give every fault of a field the same words.

    Write it last in `Annotated[…]`.
    """

    reason: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.custom_error_schema(
            handler(source), custom_error_type="says", custom_error_message=self.reason
        )


#: Of frozen settings: dataclasses of pydantic, which cannot be built with a wrong value.
SETTINGS = ConfigDict(extra="forbid", hide_input_in_errors=True, allow_inf_nan=False)


def _number(value: object) -> object:
    if isinstance(value, str | bytes | bool):
        raise ValueError("is no number")
    return value


#: For settings: a number as JSON spells it, 3 and 3.0 alike, but neither a text nor a boolean.
Number = BeforeValidator(_number)


@dataclass(frozen=True, slots=True)
class FieldFault:
    """A fault at one place of a value.

    `path` has names of fields and indices, "" for the whole value.
    """

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path} {self.reason}".strip()


def faults(error: ValidationError) -> list[FieldFault]:
    """Return every fault once, in the order of the fields.

    They are sent to the model that is asked again. Missing and unknown fields of an object are one
    fault each.
    """
    missing: dict[str, list[str]] = {}
    unknown: Counter[str] = Counter()
    others: dict[FieldFault, None] = {}
    for one in error.errors(include_url=False, include_input=False):
        at = _path(one["loc"][:-1])
        if one["type"] == "missing":
            missing.setdefault(at, []).append(str(one["loc"][-1]))
        elif one["type"] in _UNKNOWN:
            unknown[at] += 1
        else:
            others[_fault(one)] = None
    return [
        *(FieldFault(at, f"missing {', '.join(n[:_MOST_NAMED])}") for at, n in missing.items()),
        *(FieldFault(at, f"{n} keys that were not asked for") for at, n in unknown.items()),
        *others,
    ]


def field_faults(error: ValidationError) -> list[FieldFault]:
    """Return every fault once, each at its own field.

    They are for the person who wrote a file or a setting. Unknown names are counted and not quoted,
    because they are the input's.
    """
    found = error.errors(include_url=False, include_input=False)
    unknown = sum(one["type"] in _UNKNOWN for one in found)
    known = [_fault(one) for one in found if one["type"] not in _UNKNOWN]
    counted = [FieldFault("", f"fields with unknown names: {unknown}")] if unknown else []
    return list(dict.fromkeys([*known, *counted]))


def named_faults(error: ValidationError) -> list[FieldFault]:
    """Return every fault once, each at its own field, also each unknown one.

    For a text that its writer sees beside the faults, where a name is no secret.
    """
    return list(
        dict.fromkeys(
            FieldFault(_path(one["loc"]), "is unknown here. Remove it or correct its name")
            if one["type"] in _UNKNOWN
            else _fault(one)
            for one in error.errors(include_url=False, include_input=False)
        )
    )


def _fault(one: ErrorDetails) -> FieldFault:
    return FieldFault(_path(one["loc"]), _reason(one["type"], one["msg"], one.get("ctx", {})))


def _path(loc: tuple[int | str, ...]) -> str:
    return "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in loc).removeprefix(".")


def _reason(kind: str, words: str, context: Mapping[str, Any]) -> str:
    if kind in ("enum", "literal_error"):
        return f"is none of {context['expected']}".replace("'", "").replace(" or ", ", ")
    if kind.startswith("union_tag"):  # its words quote the input
        return "is of no known form"
    return _WORDS.get(kind) or words.removeprefix("Value error, ").replace(*_INPUT)


#: A model's thinking before its answer: a text by the grammar, never read.
Thoughts = Annotated[Any, WithJsonSchema({"type": "string"})]


_ORDER = (
    "type", "properties", "items", "minItems", "maxItems", "minimum", "maximum", "enum", "required",
    "additionalProperties",
)  # fmt: skip


class _Grammar(GenerateJsonSchema):
    """A JSON schema without titles, in which every field is required.

    A server decodes by it.
    """

    def sort(self, value: Any, parent_key: str | None = None) -> Any:
        """Order keywords as people write them.

        The order is fixed, so that the texts of requests stay the same.
        """
        if not isinstance(value, dict):
            return [self.sort(v) for v in value] if isinstance(value, list) else value
        names = list(value)
        if parent_key != "properties":
            names.sort(key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
        return {name: self.sort(value[name], name) for name in names}

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:
        return True

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        return {key: made[key] for key in made if key not in ("title", "description")}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        return {"enum": [member.value for member in schema["members"]]}

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        made = super().literal_schema(schema)
        return {"enum": [made.pop("const")], **made} if "const" in made else made

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        if list(inner) == ["type"]:
            return {"type": [inner["type"], "null"]}
        return super().nullable_schema(schema)


def grammar(kind: type[BaseModel], thinking: int = 1, /, **narrowed: Schema) -> Schema:
    """Return the JSON schema that constrains decoding to values of the model.

    `narrowed` replaces the rules of fields by narrower ones. With 0 tokens for `thinking`, the
    reasoning field is left out.
    """
    made = _grammar(kind)
    fields = {**made["properties"], **narrowed}
    named = [name for name in made["properties"] if thinking or name not in REASONING]
    return made | {"properties": {name: fields[name] for name in named}, "required": named}


@lru_cache(maxsize=64)  # some models are made for one call
def _grammar(kind: type[BaseModel]) -> Schema:
    """The grammar with the rules of enumerations in their places."""
    made = kind.model_json_schema(schema_generator=_Grammar)
    defined = made.pop("$defs", {})
    enums = {f"#/$defs/{n}": {"enum": d["enum"]} for n, d in defined.items() if "title" in d}
    made["properties"] = {
        name: enums.get(rule.get("$ref"), rule) for name, rule in made["properties"].items()
    }
    named = {name: rule for name, rule in defined.items() if f"#/$defs/{name}" not in enums}
    return {**made, "$defs": named} if named else made
