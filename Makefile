# `make` lists the targets. Nothing is installed into the checkout: the virtual environment is in the user's cache.

PYTHON ?= python3
VENV ?= $(shell $(PYTHON) requirements/install.py --path)
PY := $(VENV)/bin/python
PORT ?= 8000
SERVE ?= 1
PYTEST_ARGS ?=
# Percent of lines and branches below which `make test` fails. For a part of the tests use COVERAGE_FLOOR=0.
COVERAGE_FLOOR ?= 96
TEST_WORKERS ?= logical

.DEFAULT_GOAL := help
.PHONY: help setup demo run test test-deep test-fast check audit sbom fix bench services stop release-check lock

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# mypy's results are beside the environment, so that a new checkout does not check everything again.
MYPY := $(PY) -m mypy --cache-dir "$(VENV)-mypy" .

# An environment given as VENV=… is used unchanged.
OWN_VENV := $(filter file,$(origin VENV))

setup:  ## build the virtual environment (again only if the locks changed) and find a browser for the tests
	@$(if $(OWN_VENV),$(PYTHON) requirements/install.py)
	@$(PY) -m tests.browser_setup

demo: setup  ## import the demo cohort, reconstruct it and serve it on http://127.0.0.1:8000 (SERVE=0: do not serve)
	@$(PY) -m config.services.demo --port $(PORT) $(if $(filter 0,$(SERVE)),--no-serve)

run: setup  ## migrate and serve: web, worker and scheduler until Ctrl-C
	@$(PY) -m config.services.serve --port $(PORT)

services: setup  ## start the embedded PostgreSQL and broker unless they run
	@$(PY) -m config.services start

stop: setup  ## stop the embedded PostgreSQL and broker
	@$(PY) -m config.services stop

check: setup audit  ## lint, format check, types, import rules, licences and known vulnerabilities of packages
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(MYPY)
	@$(VENV)/bin/lint-imports
	@$(VENV)/bin/deno lint --quiet
	@$(VENV)/bin/deno fmt --quiet --check

# AUDIT=required fails if the registry's list of vulnerabilities cannot be read.
audit: setup  ## licences and known vulnerabilities of the locked packages
	@$(PY) requirements/audit.py licences
	@$(PY) requirements/audit.py vulnerabilities

sbom: setup  ## write a bill of materials (CycloneDX) for each lock to build/sbom
	@$(PY) requirements/audit.py sbom build/sbom

fix: setup  ## format, and apply the linter's fixes
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .
	@$(VENV)/bin/deno lint --quiet --fix
	@$(VENV)/bin/deno fmt --quiet

# Store compiled modules: otherwise each test that starts a process compiles all of them.
unexport PYTHONDONTWRITEBYTECODE
# Each pytest worker starts its own services. Tests run in pytest's order: those in a browser come last.
PYTEST := -m pytest -n $(TEST_WORKERS) --maxprocesses 4
APPS := accounts,jobs,llm_runtime,ehr,timelines,adjudication,cohorts,config
# Measures branches of code in the tests' own processes; stops watching a line once it has run.
MEASURED := -m slipcover --immediate --branch --source $(APPS) --omit "*/migrations/*" --json
INTEGRATED := --dist loadgroup --no-loadscope-reorder

# mypy and the import rules run in parallel with the tests; their output follows that of pytest.
test: setup  ## every check and every test except deep ones, on TEST_WORKERS cores (default: all, at most 4)
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(VENV)/bin/deno lint --quiet
	@$(VENV)/bin/deno fmt --quiet --check
	@output=$$(mktemp); trap 'rm -f "$$output" "$$output.json"' EXIT; \
	  { $(MYPY) && $(VENV)/bin/lint-imports; } >"$$output" 2>&1 & types=$$!; \
	  $(PY) $(MEASURED) --out "$$output.json" $(PYTEST) -p tests.quick_coverage $(INTEGRATED) -m "not deep" $(PYTEST_ARGS); tests=$$?; \
	  wait $$types; types=$$?; cat "$$output"; \
	  $(PY) -m tests.coverage_floor "$$output.json" $(COVERAGE_FLOOR); covered=$$?; \
	  [ $$types -eq 0 ] || echo "make test: mypy or the import rules failed (above)"; \
	  [ $$tests -eq 0 ] || echo "make test: pytest failed (above the types)"; \
	  [ $$covered -eq 0 ] || echo "make test: too little of the code ran (above)"; \
	  [ $$tests -eq 0 ] && [ $$types -eq 0 ] && [ $$covered -eq 0 ]

test-deep: setup  ## kills, load, real models and random examples, which `make test` leaves out
	@$(PY) $(PYTEST) $(INTEGRATED) -m "deep or hypothesis" --hypothesis-profile random --timeout 7200 $(PYTEST_ARGS)

test-fast: setup  ## unit tests and spec tables: no database, no browser
	@$(PY) $(PYTEST) tests/unit tests/spec -m "not slow and not browser and not verification and not deep" $(PYTEST_ARGS)

bench: setup  ## run the benchmarks, each against a peer or a limit
	@$(if $(OWN_VENV),$(PYTHON) requirements/install.py --bench)
	@missed=; for script in benchmarks/[!_]*.py; do name=$$(basename "$$script" .py); echo "== $$name"; \
	  $(PY) -m "benchmarks.$$name" || missed="$$missed $$name"; done; [ -z "$$missed" ] || { echo "goals missed in:$$missed"; exit 1; }

release-check: setup  ## what keeps the version in pyproject.toml from a release
	@$(PY) manage.py release_check

lock: setup  ## compile the locked requirements (UPGRADE=--upgrade for newer versions)
	@PATH="$(VENV)/bin:$$PATH" requirements/compile.sh $(UPGRADE)
