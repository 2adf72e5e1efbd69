"""Write `operations.json` from the OpenAPI description.

`python manage.py spectacular --format openapi-json | python client/occurrent_client/generate.py`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent / "operations.json"


def write_operations(schema: dict[str, Any]) -> str:
    """Return the text of the file: the operations by name."""
    found = {
        operation["operationId"]: describe(schema, method, path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }
    lines = (f" {json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def describe(
    schema: dict[str, Any], method: str, path: str, operation: dict[str, Any]
) -> dict[str, Any]:
    """Return what the client needs of one operation."""
    parameters = operation.get("parameters", [])
    headers = {p["name"] for p in parameters if p["in"] == "header"}
    return {
        "method": method.upper(),
        "path": path,
        "query": sorted(p["name"] for p in parameters if p["in"] == "query"),
        "body": sorted(find_fields(schema, operation)),
        "starts": "Idempotency-Key" in headers,
        "edits": "If-Match" in headers,
    }


def find_fields(schema: dict[str, Any], operation: dict[str, Any]) -> list[str]:
    """Return the fields of the JSON body."""
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return []
    name = content["schema"]["$ref"].rpartition("/")[2]
    return list(schema["components"]["schemas"][name]["properties"])


if __name__ == "__main__":
    TARGET.write_text(write_operations(json.load(sys.stdin)))
