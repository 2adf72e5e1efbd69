"""Examples of the API's bodies, made from their description.

Every request and every answer in JSON gets one, so that none can differ from its fields. An example
that a view gives itself stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

#: Texts by the name of their field; other fields have an id.
_TEXTS: Mapping[str, str] = {
    "action": "case.open",
    "answer": "A",
    "at": "2026-01-31T09:30:00Z",
    "admitted_at": "2150-03-05T07:12:00",
    "backbone": "rules",
    "begins": "c21f969b",
    "case_id": "20338077",
    "category": "lab",
    "code_revision": "5ef9908",
    "created_at": "2026-01-31T09:30:00Z",
    "decided_by": "rules: matched row",
    "discharged_at": "2150-03-09T13:00:00",
    "entered": "HD 1 08:00",
    "event": "lab:lactate:blood",
    "format": "cases",
    "headline": "74 M · Intracerebral haemorrhage · 4 d 6 h",
    "judge": "rules",
    "kind": "discharge summary",
    "label": "nightly",
    "lane": "lab",
    "licence": "",
    "link": "matched",
    "mention": "lactate",
    "name": "demo",
    "object_type": "ehr.encounter",
    "polarity": "present",
    "preset": "default, no departures",
    "quote": "lactate 4.1",
    "reason": "The record has the value at this hour.",
    "reference": "reference",
    "sentence": "On arrival lactate was 4.1.",
    "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "source": "rules",
    "state_words": "Done",
    "span_text": "lactate 4.1",
    "summary": "lactate: 6 values, 4.1 falling to 1.2 mmol/L",
    "text": "On arrival lactate was 4.1.",
    "time": "2150-03-05T10:30:00",
    "time_kind": "collection",
    "time_left": "about 3 minutes left",
    "title": "Intracerebral haemorrhage",
    "uid": "a3f0",
    "uid4": "a3f0",
    "unit": "mmol/L",
    "url": "https://hospital.example/occurrent",
    "username": "boris",
    "value": "4.1",
    "variant": "full",
    "words": "34 occurrences",
    "written_at": "2150-03-09T12:10:00",
}
_ID = "k7m2p9w4x8qz"
_FORMATS: Mapping[str, str] = {
    "date-time": "2026-01-31T09:30:00Z",
    "date": "2026-02-14",
    "uri": "https://occurrent.example/api/runs/?limit=50&offset=50",
}
_PLAIN: Mapping[str, object] = {"integer": 2, "number": 6.5, "boolean": True, "null": None}


def add_examples(result: Schema, generator: Any, request: Any, public: bool) -> Schema:
    """Add an example to each JSON body (a hook of drf-spectacular)."""
    components = result.get("components", {}).get("schemas", {})
    for methods in result.get("paths", {}).values():
        for operation in methods.values():
            answers = operation.get("responses", {}).values()
            for body in (operation.get("requestBody", {}), *answers):
                content = body.get("content", {}).get("application/json")
                if content is not None and not {"example", "examples"} & set(content):
                    content["example"] = make_example(content["schema"], components)
    return result


def make_example(schema: Schema, components: Schema, name: str = "") -> Any:
    """Return a value that the schema allows; `name` is that of its field."""
    if "$ref" in schema:
        return make_example(components[schema["$ref"].rpartition("/")[2]], components, name)
    for together in ("allOf", "oneOf", "anyOf"):
        if schema.get(together):
            return make_example(schema[together][0], components, name)
    if "enum" in schema:
        return next((value for value in schema["enum"] if value), None)
    kind = schema.get("type", "object")
    kind = next((one for one in kind if one != "null"), "null") if isinstance(kind, list) else kind
    if kind == "object":
        return _make_object(schema, components)
    if kind == "array":
        one = make_example(schema.get("items", {}), components, name)
        return [one] * max(1, schema.get("minItems", 1))
    if kind == "string":
        return _FORMATS.get(schema.get("format", "")) or _cut(schema, _TEXTS.get(name, _ID))
    value = _PLAIN[kind]
    most = schema.get("maximum")
    return most if isinstance(value, int | float) and most is not None and most < value else value


def _make_object(schema: Schema, components: Schema) -> dict[str, Any]:
    if "properties" in schema:
        return {
            name: make_example(inner, components, name)
            for name, inner in schema["properties"].items()
        }
    more = schema.get("additionalProperties")
    return {"done": make_example(more, components)} if isinstance(more, dict) and more else {}


def _cut(schema: Schema, text: str) -> str:
    return text[: schema.get("maxLength", len(text))]
