"""The contracts of who may import whom.

They are met, a broken one fails the check, and the web process stays light.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from config.env import BASE_DIR

PYPROJECT = tomllib.loads((BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))
SETTINGS = PYPROJECT["tool"]["importlinter"]
CONTRACTS = {contract["id"]: contract for contract in SETTINGS["contracts"]}
APPS = SETTINGS["root_packages"]
LINT = [
    sys.executable,
    "-c",
    "from importlinter.cli import lint_imports_command; lint_imports_command()",
]
#: One of pytest-xdist's workers makes and breaks the copy of the tree.
IN_THE_COPY = pytest.mark.xdist_group("import rules")
MODEL_LIBRARIES = (
    "torch",
    "transformers",
    "vllm",
    "onnxruntime",
    "spacy",
    "thinc",
    "sentence_transformers",
)

#: Libraries that a notebook can use: packages and modules.
PLAIN = CONTRACTS["plain"]["source_modules"]
#: What models may import besides plain libraries.
MODELS_MAY_IMPORT = {
    *CONTRACTS["models-know-no-actions"]["source_modules"],
    "accounts.ids", "accounts.wording", "ehr.fields", "jobs.states",
}  # fmt: skip
#: Packages whose `__init__` gathers what its modules define: Django finds models there.
GATHERING = {f"{app}/models/__init__.py" for app in ("ehr", "timelines", "adjudication", "cohorts")}
#: Most modules at the root of an app.
WIDEST_ROOT = 15


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Check a tree; it keeps what it read of files for the next time."""
    return subprocess.run(LINT, cwd=folder, capture_output=True, text=True, check=False)


def find_modules(package: str) -> list[str]:
    """Return the module, or every module of the package."""
    path = BASE_DIR / package.replace(".", "/")
    files = path.rglob("*.py") if path.is_dir() else [path.with_suffix(".py")]
    parts = [file.relative_to(BASE_DIR).with_suffix("").parts for file in files]
    return sorted(".".join(names[:-1] if names[-1] == "__init__" else names) for names in parts)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The source tree, to be broken."""
    folder = tmp_path_factory.mktemp("copy")
    for app in APPS:
        shutil.copytree(BASE_DIR / app, folder / app, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(BASE_DIR / "pyproject.toml", folder)
    return folder


@IN_THE_COPY
def test_the_rules_hold(copy):
    result = lint(copy)
    assert result.returncode == 0, result.stdout


#: (package, what a module there imports, the contract that it breaks).
INTRUDERS = [
    ("accounts", "import jobs.models", "layers"),
    ("jobs", "from ehr import models", "layers"),
    ("llm_runtime", "def late():\n    import timelines.domain", "layers"),
    ("ehr", "import timelines.models", "layers"),
    ("timelines", "import adjudication", "layers"),
    ("adjudication", "import config.settings", "layers"),
    ("timelines/pipeline", "from django.db import models", "plain"),
    ("timelines/backbones", "import accounts.models", "plain"),
    ("timelines/backbones", "def late():\n    import psycopg", "plain"),
    ("ehr", "def late():\n    import torch", "models"),
    ("llm_runtime", "import transformers", "models"),
    ("accounts", "import vllm", "models"),
    (
        "timelines/models",
        "def late():\n    from timelines.runs import actions",
        "models-know-no-actions",
    ),
    (
        "adjudication/models",
        "from llm_runtime.providers import scripted",
        "models-know-no-actions",
    ),
    ("timelines/cases", "from timelines.views.cases import page", "views-of-timelines"),
    ("adjudication/findings", "import adjudication.api.urls", "views-of-adjudication"),
    ("adjudication/routes", "from timelines.views.cases import page", "views-of-timelines"),
    ("adjudication/routes", "from llm_runtime import views", "views-of-llm-runtime"),
    ("timelines/routes", "from ehr import views", "views-of-ehr"),
    ("config", "from accounts.views import home", "views-of-accounts"),
    ("accounts/audit", "from accounts.sign_in import throttle", "no-circles"),
    ("config/services", "def late():\n    import config.settings", "no-circles"),
    *[
        ("timelines/models", f"def late():\n    import {module}", "models-know-no-actions")
        for module in ("ehr.deletion", "ehr.index", "accounts.audit.trail", "llm_runtime.ledger")
    ],
    *[
        ("timelines/evaluation", f"def late():\n    import {library}", "plain")
        for library in ("drf_spectacular", "knox", "csp", "whitenoise", "django_htmx")
    ],
]


@pytest.fixture(scope="module")
def broken(copy):
    """Return the check's report of a tree with every intruder in it.

    The reports are by the name of a contract.
    """
    made = [copy / f"{intruder(number)}.py" for number in range(len(INTRUDERS))]
    for path, (_, statement, _) in zip(made, INTRUDERS, strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(statement + "\n")
    try:
        result = lint(copy)
    finally:
        for path in made:
            path.unlink()
    assert result.returncode == 1, result.stdout
    _, _, found = result.stdout.partition("\nBroken contracts\n")
    parts = re.split(r"\n([^\n]+)\n-+\n", found)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def intruder(number: int) -> str:
    """The path of an intruder, without its ending."""
    return f"{INTRUDERS[number][0]}/intruder_{number}"


@IN_THE_COPY
@pytest.mark.parametrize("number", range(len(INTRUDERS)), ids=[i[2] for i in INTRUDERS])
def test_a_broken_rule_is_named(broken, number):
    package, _, contract = INTRUDERS[number]
    # Circles are said of an app, the rest of a module.
    app = f"No cycles are allowed in {package.partition('/')[0]}."
    said = app if contract == "no-circles" else intruder(number).replace("/", ".")
    assert said in broken[CONTRACTS[contract]["name"]]


def test_what_models_may_not_import_is_everything_else():
    parts = {
        f"{app}.{path.stem}"
        for app in APPS
        for path in (BASE_DIR / app).iterdir()
        if path.stem not in ("__init__", "migrations")
        and (path.suffix == ".py" or any(path.rglob("*.py")))
    }
    above = {part for part in parts if part.startswith("config.")}  # the layers forbid it
    rest = parts - above - MODELS_MAY_IMPORT - set(PLAIN) | {"llm_runtime.providers"}
    assert set(CONTRACTS["models-know-no-actions"]["forbidden_modules"]) == rest


def test_package_init_files_define_nothing():
    full = {
        str(path.relative_to(BASE_DIR))
        for app in APPS
        for path in (BASE_DIR / app).rglob("__init__.py")
        if path.stat().st_size
    }
    assert full == GATHERING


@pytest.mark.parametrize("app", APPS)
def test_no_app_has_a_flat_root(app):
    assert len(list((BASE_DIR / app).glob("*.py"))) <= WIDEST_ROOT


def find_loaded_modules(script: str) -> set[str]:
    """The top-level modules of a fresh process after `script`."""
    code = f"{script}\nimport sys\nprint(' '.join(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=BASE_DIR, capture_output=True, text=True, check=True
    )
    return set(result.stdout.splitlines()[-1].split())


def test_the_web_process_loads_no_model_library():
    script = "import config.wsgi\nfrom django.urls import get_resolver\nlen(get_resolver().reverse_dict)\nget_resolver().url_patterns"
    loaded = find_loaded_modules(script)
    assert {"django", "celery", "config", "timelines"} <= loaded
    assert loaded.isdisjoint(MODEL_LIBRARIES)


def test_the_providers_load_their_libraries_only_when_used():
    modules = sorted(
        path.stem
        for path in (BASE_DIR / "llm_runtime" / "providers").glob("*.py")
        if path.stem != "__init__"
    )
    loaded = find_loaded_modules(
        "\n".join(f"import llm_runtime.providers.{module}" for module in modules)
    )
    assert loaded.isdisjoint(MODEL_LIBRARIES)


def test_a_worker_loads_neither_pandas_nor_duckdb():
    """With all its tasks, and with both models in use that ship as packages."""
    script = """
from config.celery import app
import django
django.setup()
app.loader.import_default_modules()
assert {"ehr.tasks.embed_series", "timelines.tasks.run_stage"} <= set(app.tasks)
from llm_runtime.calls.blocking import run_blocking
from llm_runtime.providers.minilm import MiniLMEmbedder
from timelines.backbones.rules.text import language
run_blocking(MiniLMEmbedder(threads=1).embed_queries(["lactate"]))
language()("He was intubated.")
"""
    loaded = find_loaded_modules(script)
    assert {"torch", "transformers", "spacy", "pyarrow"} <= loaded
    assert loaded.isdisjoint({"pandas", "duckdb", "pyduck_janitor"})


def test_plain_libraries_load_no_django():
    modules = [module for package in PLAIN for module in find_modules(package)]
    assert {"timelines.pipeline.run", "adjudication.domain"} <= set(modules)
    loaded = find_loaded_modules("\n".join(f"import {module}" for module in modules))
    assert "timelines" in loaded
    assert loaded.isdisjoint(CONTRACTS["plain"]["forbidden_modules"])
    assert loaded.isdisjoint(MODEL_LIBRARIES)
