# Needs python3 (>= 3.11), make and access to a package index; everything else is installed in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --no-compile --constraint constraints.txt
COMPILE = $(BIN)/python -m compileall -q -j 0 $(VENV)/lib nci_frames
TSC := $(VENV)/node/node_modules/.bin/tsc
OUT ?= demo-output
SEED ?= 1
SCALE ?= 1
N ?= 120
# PySpark needs an older pandas than everything else, hence a place of its own, which takes the rest from .venv.
SPARK := .venv-spark
SPARK_PIP := $(SPARK)/bin/python -m pip --disable-pip-version-check install --quiet --no-compile --constraint $(SPARK)/constraints.txt
# An installation compiles them.
KERNELS := hatch_build.py $(wildcard nci_frames/counting/kernels/*.[ch])
SITE = import sysconfig; print(sysconfig.get_path("purelib"))
SPARK_TESTS := tests/counting/spark/test_spark.py tests/counting/spark/test_spark_faults.py tests/counting/spark/test_engines.py
MARKS ?= spark or engines
# A worker that has nothing left takes a whole file, so that what a file prepares, such as an open page, is prepared once.
# Bytecode is kept even where the environment forbids it: else each worker, and each command that a test starts, would compile
# all modules again. The workers are as many as most machines have
# cores: threads of the linear algebra would only wait for each other, at full load. So would those of Polars on the small
# frames of most tests; `make long` has them. Threads of the package are two everywhere (`tests/conftest.py`).
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -p no:logging -p no:anyio

.DEFAULT_GOAL := help
.PHONY: help demo test quick long lint format bench bench-report bench-default coverage types gallery api docs nightly wheel snapshots browser constraints clean fuzz pages spark spark-quick faults reproductions mutants

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## train classifiers on real data, print ranked tables, write a report
	@$(BIN)/nci-frames demo --out $(OUT)

test: $(VENV)/.dev ## run lint and all tests of less than a second at once, show lint at the end (3 minutes)
	@command -v chromium >/dev/null || echo "browser tests are skipped: run 'make browser' to install Chromium"
	@$(MAKE) --no-print-directory lint >$(VENV)/lint.log 2>&1 & lint=$$!; \
		POLARS_MAX_THREADS=1 $(PYTEST) -m "not long and not slow"; tests=$$?; \
		wait $$lint; linted=$$?; \
		cat $(VENV)/lint.log; test $$tests = 0 -a $$linted = 0

quick: $(VENV)/.dev ## run the tests that are fast and need no browser (under a minute)
	POLARS_MAX_THREADS=1 $(PYTEST) -m "not browser and not thorough and not long and not spark and not slow" --hypothesis-profile quick

long: $(VENV)/.dev ## run the tests that need a second or more: pages, jobs, simulations (4 minutes)
	$(PYTEST) -m "long and not slow"

lint: $(VENV)/.dev ## run ruff, mypy --strict, and the import rules of the layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory types; else echo "the scripts of the page are not checked: install Node.js"; fi

types: ## check the types of the page's scripts (needs Node.js, and its package index once)
	@test -x $(TSC) || npm install --prefix $(VENV)/node --no-save --no-package-lock --no-audit --no-fund --silent typescript@5.9 \
		|| echo "the scripts of the page are not checked: TypeScript cannot be installed"
	@if test -x $(TSC); then $(TSC) --project nci_frames/reporting; fi

format: $(VENV)/.dev ## fix and format the code with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

fuzz: $(VENV)/.dev ## try odd values, damaged files, hostile names and sizes (15 minutes; SEED=1 SCALE=1)
	FUZZ_SEED=$(SEED) FUZZ_SCALE=$(SCALE) $(PYTEST) --dist worksteal --max-worker-restart 1000 -o tmp_path_retention_policy=failed -m thorough \
		'tests/fuzz/test_campaigns.py$(if $(CASE),::test_a_case[$(CASE)])'

pages: $(VENV)/.dev ## open reports of 2 to 92 models and 0 to 2,000 segments on every screen and on paper, write docs/report.md (15 minutes, 5 GB)
	$(BIN)/python -m pytest -m slow tests/reporting/test_page_sizes.py
	$(BIN)/python -m benchmarks.page_matrix

nightly: $(VENV)/.dev ## run the tests that are too long for make test and need no target of their own: many rows, whole reproductions
	$(PYTEST) -m "slow and not spark" tests/base tests/docs tests/evaluation tests/test_outside_numbers.py
	$(PYTEST) -m "hypothesis and not slow" --hypothesis-profile nightly

faults: $(VENV)/.dev ## break runs of jobs at every write, disks, files, clocks and settings (2 hours; root for the full disk)
	$(BIN)/python -m pytest -s -m slow tests/jobs/test_job_faults.py tests/jobs/ledger/test_ledger_faults.py tests/jobs/job_file/test_job_file.py tests/jobs/gates tests/jobs/test_object_store.py

spark: $(SPARK)/.engines ## count on a Spark cluster on this machine, in Ray and in Dask, and kill processes (10 minutes)
	$(SPARK)/bin/python -m pytest -m "$(MARKS)" $(SPARK_TESTS)

spark-quick: $(SPARK)/.done ## the tests of Spark that kill nothing (2 minutes)
	$(SPARK)/bin/python -m pytest -m "spark and not slow" $(SPARK_TESTS)

bench: $(VENV)/.dev ## time counting against DuckDB, Polars, NumPy and scikit-learn, write docs/performance.md (half an hour, 5 GB)
	$(BIN)/python benchmarks/run.py

bench-report: $(VENV)/.dev ## time comparisons and reports, write the table of docs/performance.md (5 minutes, 2 GB)
	$(BIN)/python benchmarks/report.py --write

bench-default: $(VENV)/.dev ## time "auto", the report, files of other writers, weights, labels and classes, write the tables of docs/performance.md (10 minutes, 5 GB)
	$(BIN)/python benchmarks/default_path.py --write
	$(BIN)/python benchmarks/other_paths.py --write

mutants: $(VENV)/.dev ## change the package by chance in N places, tell which changes the quick tests miss (1 hour; SEED=1 N=120)
	$(BIN)/python -m benchmarks.mutants --seed $(SEED) --count $(N)

reproductions: $(VENV)/.dev ## compute the figures and tables of the papers again, write docs/reproductions.md (1 minute)
	$(BIN)/python -m docs.reproductions

coverage: $(VENV)/.dev ## measure coverage and error rates by simulation, write their tables (20 minutes)
	$(BIN)/python benchmarks/coverage.py --write
	$(BIN)/python benchmarks/prevalence.py --write

gallery: $(VENV)/.dev ## redraw the pictures of the docs (needs Chromium)
	$(BIN)/python -m docs.gallery
	$(BIN)/python -m docs.reports

api: $(VENV)/.dev ## sort the public names by subpackage, write docs/api.md, docs/columns.md, docs/job.schema.json and the table of metrics
	$(BIN)/python -m docs.api
	$(BIN)/python -m docs.columns

docs: $(VENV)/.dev ## build the documentation as a site in build/docs; a warning is an error
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --write-all --quiet docs build/docs
	@echo "build/docs/index.html"

wheel: $(VENV)/bin/python ## build the wheel, install it with the lowest and the newest versions, run the quick tests (4 minutes)
	$(BIN)/python tests/wheel.py

snapshots: $(VENV)/.dev ## update the texts, the values and the specifications of charts in tests/snapshots
	$(BIN)/python -m tests.texts
	$(BIN)/python -m tests.charts.drawn

browser: ## install Chromium for the browser tests (Debian and Ubuntu; needs root)
	command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; }

$(SPARK)/.done: $(VENV)/.dev constraints-spark.txt
	command -v java >/dev/null || { apt-get update -qq && apt-get install -y -qq default-jre-headless; }
	$(PYTHON) -m venv $(SPARK)
	echo "import site; site.addsitedir('$$($(BIN)/python -c '$(SITE)')')" > $$($(SPARK)/bin/python -c '$(SITE)')/development.pth
	sed '/^pandas==/d' constraints.txt | cat - constraints-spark.txt > $(SPARK)/constraints.txt
	$(SPARK_PIP) --editable '.[spark]'
	@touch $@

$(SPARK)/.engines: $(SPARK)/.done
	$(SPARK_PIP) ray distributed
	@touch $@

constraints: ## regenerate constraints.txt from the newest compatible versions
	rm -rf $(VENV)/constraints && $(PYTHON) -m venv $(VENV)/constraints
	$(VENV)/constraints/bin/python -m pip install --quiet '.[dev]'
	$(VENV)/constraints/bin/python -m pip freeze --exclude nci_frames > constraints.txt

clean: ## remove everything that make creates
	rm -rf $(VENV) $(SPARK) $(OUT) build dist nci_frames/counting/kernels/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# All cores compile bytecode here once: else each process compiles all of it where the environment forbids it to keep any, which
# takes a second of a report's start.
$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt $(KERNELS)
	$(PIP) --editable '.[demo]'
	@$(COMPILE)
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt $(KERNELS)
	$(PIP) --editable '.[dev]'
	@$(COMPILE)
	@touch $@ $(VENV)/.demo
