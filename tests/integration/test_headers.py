"""What every answer carries, and that static files come from this server."""

import pytest
from django.core.management import call_command
from django.templatetags.static import static
from django.test import Client

pytestmark = pytest.mark.django_db


@pytest.fixture
def answer(client):
    """Any answer will do: the headers come from the outermost layers."""
    return client.get("/api/schema/")


def test_the_content_security_policy(answer):
    policy = dict(
        part.strip().split(" ", 1) for part in answer["Content-Security-Policy"].split(";")
    )
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


@pytest.mark.parametrize(
    "address",
    ["/", "/sign-in/", "/no/such/page", "/api/schema/", "/admin/", "/static/no-such-file.js"],
)
def test_no_answer_is_stored(client, address):
    """Without a session; `test_role_matrix.py` asks every address as everyone, and
    `test_accounts_admin.py` those of the admin site.
    """
    assert client.get(address)["Cache-Control"] == "no-store"


def test_an_error_is_not_stored_either(client, monkeypatch):
    client.raise_request_exception = False
    monkeypatch.setattr("accounts.forms.SignInForm.clean", lambda self: 1 / 0)
    answer = client.post("/sign-in/", {"username": "a", "password": "b"})
    assert (answer.status_code, answer["Cache-Control"]) == (500, "no-store")


def test_static_files_are_stored_for_a_year_by_their_hash(settings, tmp_path):
    """As a deployment serves them: collected, and named by their content."""
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "page.js").write_text("let a = 1;")
    settings.STATICFILES_DIRS = [shipped]
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATIC_ROOT = tmp_path / "collected"
    settings.WHITENOISE_USE_FINDERS = False
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "config.static.HashedStorage"},
    }
    call_command("collectstatic", "--no-input", verbosity=0)
    answers = {name: Client().get(name) for name in (static("page.js"), "/static/page.js")}
    assert [answer.status_code for answer in answers.values()] == [200, 200]
    hashed, plain = (answer["Cache-Control"] for answer in answers.values())
    assert hashed == "max-age=31536000, public, immutable"
    assert "immutable" not in plain
