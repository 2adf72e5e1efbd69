"""The OpenAPI description is complete and has no warning.

It has every address, with types and refusals, and is open to all who may ask.
"""

import io
import json
import re

import pytest
from django.core.management import call_command
from django.urls import get_resolver, resolve
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from accounts.models import Role
from tests import factories, paths
from tests.integration.api_contract import check_body
from tests.support.api import ApiClient

GUIDE = (paths.ROOT / "docs" / "reference" / "api.md").read_text()


@pytest.fixture(scope="module")
def schema():
    return SchemaGenerator().get_schema(request=None, public=True)


def operations(schema):
    return [
        (path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]


def test_it_is_made_without_a_warning():
    err = io.StringIO()
    call_command(
        "spectacular", "--validate", "--fail-on-warn", file=None, stdout=io.StringIO(), stderr=err
    )
    assert "Warning" not in err.getvalue()


def test_every_address_is_in_it(schema):
    validate_schema(schema)
    apis = [
        p for p in get_resolver().url_patterns if str(getattr(p, "namespace", "")).endswith("_api")
    ]
    assert len(apis) == 6
    written = {
        "/api/" + re.sub(r"<\w+:(\w+)>", r"{\1}", str(p.pattern))
        for api in apis
        for p in api.url_patterns
    }
    assert written == set(schema["paths"])


def test_every_operation_says_what_it_gives_and_how_it_refuses(schema):
    for path, method, operation in operations(schema):
        assert operation["description"], (path, method)
        assert {"401", "404"} <= set(operation["responses"]), (path, method)
        assert any(status.startswith("2") for status in operation["responses"])
        for status, response in operation["responses"].items():
            if status != "204":
                assert response["content"], (path, method, status)
            if status.startswith("4"):
                (content,) = response["content"].values()
                assert content["schema"] == {"$ref": "#/components/schemas/Error"}
                assert content["examples"]
        assert {"token": []} in operation["security"]


def test_every_json_body_has_an_example_that_its_schema_allows(schema):
    """Examples are compared as strictly as answers are."""
    assert schema["openapi"] == "3.1.1"
    bodies = [
        content["application/json"]
        for _, _, operation in operations(schema)
        for status, found in [
            ("", operation.get("requestBody", {})),
            *operation["responses"].items(),
        ]
        if not status.startswith("4")
        and "application/json" in (content := found.get("content", {}))
    ]
    assert len(bodies) > 100
    for body in bodies:
        check_body(str(body["schema"]), json.dumps(body["schema"], sort_keys=True), body["example"])


def test_names_of_operations_are_told_once(schema):
    names = [operation["operationId"] for _, _, operation in operations(schema)]
    assert len(names) == len(set(names))


def test_the_guide_names_addresses_that_there_are(schema):
    """Each example in the guide names an existing address and method.

    Capitals stand for an id, `N` for a number. Examples with a body name a method that takes one.
    """
    allowed = {
        "/api/" + re.sub(r"\{\w+\}", "x", path.removeprefix("/api/")): set(methods)
        for path, methods in schema["paths"].items()
    }
    tables = re.findall(r"`(GET|POST|PUT|PATCH|DELETE) ((?:[a-z-]+|[A-Z]+)/[\w/-]*/)", GUIDE)
    lines = [line for line in GUIDE.splitlines() if line.startswith(("ask ", "    page="))]
    examples = [
        (
            "PUT"
            if "-X PUT" in line
            else "PATCH"
            if "-X PATCH" in line
            else "POST"
            if " -d " in line or "-X POST" in line
            else "GET",
            line,
        )
        for line in lines
    ]
    written = [
        (method, re.search(r"\$OCCURRENT/api/([\w/-]+/)", line)) for method, line in examples
    ]
    assert len(tables) > 15
    assert len(written) > 25
    for method, path in [*tables, *((method, found[1]) for method, found in written if found)]:
        # Capitals are ids, apart from N and UID; any public id will do.
        plain = re.sub(r"\bN\b", "1", path.replace("UID", "a" * 4))
        address = "/api/" + re.sub(r"\b[A-Z]{2,}\b", "a" * 12, plain)
        route = resolve(address).route
        known = re.sub(r"<\w+:\w+>", "x", f"/{route}")
        assert method.lower() in allowed[known], (method, path)


def test_the_guide_leaves_no_address_out(schema):
    last = {
        [part for part in path.split("/") if part and "{" not in part][-1]
        for path in schema["paths"]
    }
    assert {word for word in last if f"{word}/" not in GUIDE} == set()


@pytest.mark.django_db
def test_description_and_its_page_open_to_whoever_is_known(client):
    person = factories.make_user(factories.make_study(), Role.REVIEWER)
    assert client.get("/api/schema/").status_code == 401
    api = ApiClient(person)
    assert api.client.get("/api/schema/", headers=api.headers).status_code == 200
    client.force_login(person)
    assert client.get("/api/docs/").status_code == 200
