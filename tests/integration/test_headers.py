"""What every answer carries, and that static files come from this server."""

import pytest

pytestmark = pytest.mark.django_db


@pytest.fixture
def answer(client):
    """Any answer will do: the headers come from the outermost layers."""
    return client.get("/api/schema/")


def test_the_content_security_policy(answer):
    policy = dict(part.strip().split(" ", 1) for part in answer["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self' 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    assert policy["img-src"] == "'self' data: blob:"
    assert policy["frame-ancestors"] == "'none'"


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "same-origin"),
        ("X-Frame-Options", "DENY"),
        ("Cross-Origin-Opener-Policy", "same-origin"),
    ],
)
def test_security_headers(answer, header, value):
    assert answer[header] == value


@pytest.mark.parametrize(
    "path",
    [
        "/static/django_htmx/htmx-2.min.js",
        "/static/plotly/plotly.min.js",
        "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js",
    ],
)
def test_scripts_of_others_are_served_by_us(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert "javascript" in answer["Content-Type"]


def test_the_api_description_is_not_public(client):
    assert client.get("/api/schema/").status_code in {401, 403}
