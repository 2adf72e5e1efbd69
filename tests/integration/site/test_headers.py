"""What every answer carries, and that static files come from this server."""

import posixpath
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles.storage import staticfiles_storage
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
    assert policy["style-src"] == "'self'"
    assert not [part for part in policy.values() if "sha256" in part or "unsafe" in part]
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
    """No response is stored, also without a session.

    `test_role_matrix.py` requests every address as everyone, and `test_admin.py` those of
    the admin site.
    """
    assert client.get(address)["Cache-Control"] == "no-store"


def test_an_error_is_not_stored_either(client, monkeypatch):
    client.raise_request_exception = False
    monkeypatch.setattr("accounts.forms.SignInForm.clean", lambda self: 1 / 0)
    answer = client.post("/sign-in/", {"username": "a", "password": "b"})
    assert (answer.status_code, answer["Cache-Control"]) == (500, "no-store")


@pytest.fixture
def collected(settings, tmp_path):
    """Collects a folder's files as a deployment does: named by their content."""

    def collect(folder: Path) -> Path:
        settings.STATICFILES_DIRS = [folder]
        settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
        settings.STATIC_ROOT = tmp_path / "collected"
        settings.WHITENOISE_USE_FINDERS = False
        settings.STORAGES = {
            **settings.STORAGES,
            "staticfiles": {"BACKEND": "config.static.HashedStorage"},
        }
        call_command("collectstatic", "--no-input", verbosity=0)
        return tmp_path / "collected"

    return collect


def test_static_files_are_stored_for_a_year_by_their_hash(collected, tmp_path):
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "page.js").write_text("let a = 1;")
    collected(shipped)
    answers = {name: Client().get(name) for name in (static("page.js"), "/static/page.js")}
    assert [answer.status_code for answer in answers.values()] == [200, 200]
    hashed, plain = (answer["Cache-Control"] for answer in answers.values())
    assert hashed == "max-age=31536000, public, immutable"
    assert "immutable" not in plain


IMPORT = re.compile(r"""^(?:import|export|\}).*"(\..+)";$""", re.MULTILINE)


def test_hashed_modules_import_hashed_modules(collected, settings):
    root = collected(settings.BASE_DIR / "static")
    stored = {name: root / staticfiles_storage.stored_name(name) for name in scripts(root)}
    imports = 0
    for name, hashed in stored.items():
        written = IMPORT.findall((root / name).read_text())
        served = IMPORT.findall(hashed.read_text())
        wanted = [stored[posixpath.normpath(f"{Path(name).parent}/{one}")] for one in written]
        assert [(hashed.parent / one).resolve() for one in served] == wanted, name
        assert " import(" not in hashed.read_text(), f"{name}: a dynamic import is not rewritten"
        imports += len(served)
    assert imports > 50


def scripts(root: Path) -> list[str]:
    """Names of the scripts as they are written, without their hashed copies."""
    names = [str(path.relative_to(root)) for path in root.glob("js/**/*.js")]
    return [name for name in names if not re.search(r"\.[0-9a-f]{12}\.js$", name)]


def test_a_circle_of_imports_is_found_when_files_are_collected(collected, tmp_path):
    shipped = tmp_path / "shipped"
    (shipped / "js").mkdir(parents=True)
    (shipped / "js" / "a.js").write_text('import "./b.js";\n')
    (shipped / "js" / "b.js").write_text('import "./a.js";\n')
    with pytest.raises(RuntimeError, match="Max post-process passes exceeded"):
        collected(shipped)


def test_scripts_of_packages_are_left_as_they_are(collected, tmp_path):
    shipped = tmp_path / "shipped"
    (shipped / "vendor").mkdir(parents=True)
    written = 'import { a } from "./missing.js";\n//# sourceMappingURL=missing.js.map\n'
    (shipped / "vendor" / "packed.js").write_text(written)
    root = collected(shipped)
    name = staticfiles_storage.stored_name("vendor/packed.js")
    assert (root / name).read_text() == written


def test_the_typeface_is_loaded_once_by_its_hash(collected, settings):
    """The page preloads the file that the stylesheet names.

    Otherwise browsers would load it twice.
    """
    name = "vendor/inter/inter.woff2"
    root = collected(settings.BASE_DIR / "static")
    stylesheet = (root / staticfiles_storage.stored_name("css/occurrent.css")).read_text()
    assert f'url("..{static(name).removeprefix("/static")}")' in stylesheet
    page = (settings.BASE_DIR / "templates" / "base.html").read_text()
    assert f'<link rel="preload" href="{{% static \'{name}\' %}}" as="font"' in page
    answer = Client().get(static(name))
    assert (answer.status_code, answer["Content-Type"]) == (200, "font/woff2")
