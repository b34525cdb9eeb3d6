# Needs python3 (>= 3.11), make and the package registries; everything else goes into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --constraint constraints.txt
OUT ?= demo-output
# A worker that has nothing left takes tests from the other.
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help demo test quick lint format bench gallery api snapshots browser constraints clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## real classifiers -> prediction logs -> ranked tables and a report
	@$(BIN)/nci-frames demo --out $(OUT)

test: $(VENV)/.dev lint ## lint, then all tests (browser tests where Chromium is installed)
	@command -v chromium >/dev/null || echo "browser tests will be skipped: run 'make browser' to install Chromium"
	$(PYTEST)

quick: $(VENV)/.dev ## the tests that need no browser and prove nothing at scale (under a minute)
	$(PYTEST) -m "not browser and not thorough and not slow"

lint: $(VENV)/.dev ## ruff, mypy --strict, and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev ## let ruff mend and format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev ## time the kernel against DuckDB, Polars and scikit-learn (20 minutes, 5 GB)
	$(BIN)/python benchmarks/run.py

gallery: $(VENV)/.dev ## draw the pictures of the docs anew (needs Chromium)
	$(BIN)/python docs/gallery.py
	$(BIN)/python docs/report_picture.py

api: $(VENV)/.dev ## sort the public names by room, and write docs/api.md from the docstrings
	$(BIN)/python docs/api.py

snapshots: $(VENV)/.dev ## write anew the texts of errors and help that the tests compare with
	$(BIN)/python -m tests.texts

browser: ## install Chromium for the browser tests (Debian and Ubuntu; needs root)
	command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; }

constraints: ## write constraints.txt anew from the newest versions that fit
	rm -rf $(VENV)/constraints && $(PYTHON) -m venv $(VENV)/constraints
	$(VENV)/constraints/bin/python -m pip install --quiet '.[dev]'
	$(VENV)/constraints/bin/python -m pip freeze --exclude nci_frames > constraints.txt

clean: ## remove everything that was made here
	rm -rf $(VENV) $(OUT) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[demo]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.demo
