# Needs only make and Python; everything else goes into .venv.

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= 2
ARGS   ?=
# The releases of Optuna that pyproject.toml promises to work with.
OPTUNAS ?= 4.8 4.9 5.0
# The oldest release of Ax that works and the newest, each with the BoTorch that it admits.
AXES   ?= 1.3.0_0.18.0 1.3.1_0.18.1
# The studies that the tables of docs/results are made of.
RAW    ?= docs/results/raw.jsonl.xz

# The library is written for one thread per process, and the tests run JOBS processes.
export OMP_NUM_THREADS ?= 1

BIN   := $(VENV)/bin
PIP   := $(BIN)/python -m pip --disable-pip-version-check
FULL  := $(VENV)/.installed-full
LIGHT := $(VENV)/.installed-light
# A full environment serves the demo too.
DEMO  := $(if $(wildcard $(FULL)),$(FULL),$(LIGHT))

.DEFAULT_GOAL := help
.PHONY: help venv peers demo test test-compat fuzz recorded lint format docs bench evidence results \
	release-check clean distclean

help: ## show this list
	@echo "make TARGET [PYTHON=python3] [VENV=.venv] [JOBS=2] [ARGS='...']"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-13s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

venv: $(FULL) ## create .venv with everything for development

# HEBO asks for old releases of NumPy and pymoo, and for packages that it does not load. It works
# without all that: with what the environment has, and a small package for disjoint sets.
peers: $(FULL) ## add all optimisers that the benchmarks compare with
	$(PIP) install -c constraints.txt -e '.[peers]'
	$(PIP) install -c constraints.txt --no-deps HEBO disjoint-set

demo: $(DEMO) ## run examples/quickstart.py in a light environment, without PyTorch
	$(BIN)/python examples/quickstart.py $(ARGS)

# Neighbouring tests stay in one process, which then makes what they share only once.
test: $(FULL) ## run all tests (ARGS go to pytest)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

test-compat: $(OPTUNAS:%=$(VENV)/optuna-%) $(AXES:%=$(VENV)/ax-%) ## run tests/optuna with each of OPTUNAS, tests/ax with each of AXES
	@failed=; for version in $(OPTUNAS); do \
	    echo; echo "==== Optuna $$version ===="; \
	    export PYTHONPATH="$(abspath $(VENV))/optuna-$$version"; \
	    $(BIN)/python -c "import optuna; assert optuna.__version__.startswith('$$version.')" && \
	        $(BIN)/python -m pytest -n $(JOBS) tests/optuna $(ARGS) || failed="$$failed $$version"; \
	done; test -z "$$failed" || { echo "failed with Optuna$$failed" >&2; exit 1; }
	@failed=; for version in $(AXES); do \
	    echo; echo "==== Ax and BoTorch $$version ===="; \
	    export PYTHONPATH="$(abspath $(VENV))/ax-$$version"; \
	    $(BIN)/python -c "import ax, botorch; assert f'{ax.__version__}_{botorch.__version__}' == '$$version'" && \
	        $(BIN)/python -m pytest -n $(JOBS) tests/ax $(ARGS) || failed="$$failed $$version"; \
	done; test -z "$$failed" || { echo "failed with Ax and BoTorch$$failed" >&2; exit 1; }

fuzz: $(FULL) ## run random studies and experiments (ARGS='optuna --cases 1000 --jobs 2', ARGS=chaos)
	$(BIN)/python tests/fuzz $(ARGS)

recorded: $(FULL) ## compare suggestions with recorded ones (ARGS=--write records them anew)
	OMP_NUM_THREADS=1 $(BIN)/python tests/recorded $(ARGS)

lint: $(FULL) ## check style, format and types, and the forms of what GitHub reads
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms \
	    $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

format: $(FULL) ## rewrite the code in the checked format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# JOBS examples and notebooks at a time; what they printed and drew is kept in build/site-runs until
# they or the library change. (Material's notice of its own future is in docs/dependencies.md.)
docs: $(FULL) ## build the documentation as a site, build/site/index.html (first time: ten minutes)
	NO_MKDOCS_2_WARNING=1 JOBS=$(JOBS) $(BIN)/mkdocs build --strict $(ARGS)

bench: $(FULL) ## compare speed and quality with peers, in about five minutes
	$(BIN)/python -m heat_plugins.benchmarks bench $(ARGS)
	$(BIN)/python -m heat_plugins.benchmarks run --quick --results bench.jsonl
	$(BIN)/python -m heat_plugins.benchmarks report --results bench.jsonl --folder bench-report

evidence: peers ## run what docs/results lacks of the plan (hours; stop and go on at any time)
	$(BIN)/python -m heat_plugins.benchmarks run --also $(RAW) $(ARGS)

results: $(FULL) ## write docs/results anew from its raw lines, and from results.jsonl if it exists
	@test ! -f results.jsonl || $(BIN)/python -m heat_plugins.benchmarks pack --into $(RAW)
	$(BIN)/python -m heat_plugins.benchmarks report --results $(RAW) --folder docs/results --readme README.md

release-check: $(FULL) ## build the distributions, look into them, install and run them (ARGS='base' or 'ax')
	$(BIN)/python tests/release $(ARGS)

clean: ## delete caches and builds, keep .venv
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find heat_plugins tests examples -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## delete .venv too
	rm -rf $(VENV)

# PyTorch comes first and by itself: once the tested release is there, no later requirement
# makes pip choose another build of it. Which build that is, pip's own settings decide.
$(FULL): pyproject.toml constraints.txt | $(BIN)/pip
	$(PIP) install -c constraints.txt torch
	$(PIP) install -c constraints.txt -e '.[all,dev,dev-distributed,docs]'
	@touch $@

$(LIGHT): pyproject.toml constraints.txt | $(BIN)/pip
	$(PIP) install -c constraints.txt -e '.[plot]'
	@touch $@

# The same for Ax, and below for Optuna: a folder with one release and nothing else: put first on the path, it hides the one
# of the environment, which has all the rest.
$(VENV)/ax-%: | $(FULL)
	rm -rf $@.part
	$(PIP) install --no-deps --target $@.part \
	    'ax-platform==$(word 1,$(subst _, ,$*))' 'botorch==$(word 2,$(subst _, ,$*))'
	mv $@.part $@

$(VENV)/optuna-%: | $(FULL)
	rm -rf $@.part
	$(PIP) install --no-deps --target $@.part 'optuna==$*.*' 'optuna-integration==$*.*'
	mv $@.part $@

$(BIN)/pip:
	@command -v $(PYTHON) >/dev/null || { \
	    echo "error: '$(PYTHON)' was not found; name a Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; \
	    exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "error: Python 3.11 or newer is needed, but '$(PYTHON)' is $$($(PYTHON) -V 2>&1); name another: make PYTHON=/path/to/python3" >&2; \
	    exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	    echo "error: '$(PYTHON)' cannot create virtual environments with pip; install its venv package (on Debian and Ubuntu: apt install python3-venv)" >&2; \
	    exit 1; }
	$(PYTHON) -m venv $(VENV)
