"""Compare a response of the API with its OpenAPI description.

Status, type and every field are compared.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from django.http.response import HttpResponseBase
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator

#: A method that an address does not have is refused after the person, and odd text before both.
OTHER_METHOD = {"400", "401", "403", "405", "429"}
ERROR = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}


class UndescribedAnswer(AssertionError):
    """How an answer differs from its description."""


@cache
def load_description() -> dict[str, Any]:
    """The document that clients get."""
    found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return found


def check_answer(method: str, route: str, response: HttpResponseBase) -> None:
    """Raise NotDescribed if the answer of an address is not as described.

    `route` is as Django resolves it: "api/packets/<public_id:public_id>/".
    """
    path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route)
    operations = load_description()["paths"].get(path)
    if operations is None or method == "OPTIONS":
        return
    status, name = str(response.status_code), f"{method} {path} {response.status_code}"
    operation = operations.get("get" if method == "HEAD" else method.lower())
    answers = (operation or {}).get("responses", {})
    if status not in answers and (operation or status not in OTHER_METHOD):
        raise UndescribedAnswer(f"{name}: this status is not described")
    content = answers[status].get("content", {}) if status in answers else ERROR
    kind = response.headers.get("Content-Type", "").partition(";")[0]
    if (content or kind) and kind not in content:
        raise UndescribedAnswer(f"{name}: {kind!r} is not one of {[*content]}")
    if kind == "application/json" and method != "HEAD":
        assert not response.streaming
        schema = json.dumps(content[kind]["schema"], sort_keys=True)
        check_body(name, schema, json.loads(response.getvalue()))


def check_body(name: str, schema: str, body: object) -> None:
    """Raise NotDescribed with the places where the body differs.

    Values are not repeated.
    """
    faults = [
        f"{error.json_path}: {error.validator}" for error in validator(schema).iter_errors(body)
    ]
    if faults:
        raise UndescribedAnswer(f"{name}: {'; '.join(sorted(faults)[:5])}")


@cache
def validator(schema: str) -> Draft202012Validator:
    """Return OpenAPI 3.1 as JSON Schema; an undescribed field is a fault."""
    components = make_strict(load_description()["components"])
    return Draft202012Validator({**make_strict(json.loads(schema)), "components": components})


def make_strict(node: Any) -> Any:
    """Return the schema without undescribed fields."""
    if isinstance(node, list):
        return [make_strict(one) for one in node]
    if not isinstance(node, dict):
        return node
    plain = {key: make_strict(value) for key, value in node.items()}
    if isinstance(node.get("properties"), dict) and "type" in node:
        plain.setdefault("additionalProperties", False)
    return plain
