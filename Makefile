# Everything happens inside this clone (and the user's caches): .venv holds the packages of
# requirements.lock, ~/.cache/metl the jars of ivy.xml, .metl the data of the local stack.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
WORKERS ?= 2

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-fast soak lint bench bench-stack bench-matrix bench-marts bench-live bench-suggest bench-sync bench-csv bench-load bench-compare lock clean

help: ## show this
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

demo: $(READY) ## set everything up and show the main job end to end; KEEP=1 leaves it running
	@$(BIN)/metl demo $(if $(KEEP),--keep)

test: $(READY) ## set everything up, lint and run all tests; ARGS=… goes to pytest, WORKERS=… at once
	@$(BIN)/metl stack fetch
	@$(BIN)/python -m tests.jvm
	@$(BIN)/python -m pytest -p tests.lint --numprocesses $(WORKERS) $(ARGS)

test-fast: $(READY) ## run the tests that need no servers, in seconds
	@$(BIN)/pytest tests/unit $(ARGS)

soak: $(READY) ## change rows and tables and kill parts for an hour (SECONDS=…), then compare; SEED=… repeats
	@$(BIN)/metl stack fetch
	@METL_SOAK=$(or $(SECONDS),3600) METL_SEED=$(or $(SEED),$$(date +%s)) $(BIN)/pytest tests/convergence -s

lint: $(READY) ## ruff, mypy and sqlfluff
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/sqlfluff lint sql dbt_project/models dbt_project/tests --disable-progress-bar

bench: bench-stack bench-matrix bench-marts bench-live bench-suggest bench-sync bench-csv bench-load bench-compare ## measure everything; prints tables

bench-stack: $(READY) ## measure how long the local stack takes to come up
	@$(BIN)/python benchmarks/stack.py

bench-matrix: $(READY) ## measure the matrix from 10^7 to 10^9 elements
	@$(BIN)/python benchmarks/matrix.py

bench-marts: $(READY) ## measure reading the marts at 10^8 elements
	@$(BIN)/python benchmarks/marts.py

bench-live: $(READY) ## measure the live mapper beside an echo loop and a plain copy; ARGS=… some of it
	@$(BIN)/python benchmarks/live $(ARGS)

bench-suggest: $(READY) ## measure suggestions for 10,000 attributes
	@$(BIN)/python benchmarks/suggest.py

bench-sync: $(READY) ## measure the registry sync with 1,000 artifacts of 10 versions
	@$(BIN)/python benchmarks/sync.py

bench-csv: $(READY) ## measure metl matrix import and export of 100,000 lines beside a plain COPY
	@$(BIN)/python benchmarks/mappings.py

bench-load: $(READY) ## measure loads and the warehouse beside a hand-written Spark job and plain COPY
	@$(BIN)/python benchmarks/load/run.py

bench-compare: $(READY) ## measure metl entities compare of 1,000,000 rows beside a plain select * of both sides
	@$(BIN)/python benchmarks/compare.py

lock: $(READY) ## pin the newest versions that pyproject.toml allows
	@$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
		--generate-hashes --no-strip-extras --no-header --quiet --upgrade --output-file requirements.lock

clean: ## stop the local stack, then remove its data and the environment (not the jar cache)
	@if [ -x $(BIN)/metl ]; then $(BIN)/metl down; METL_HOME=.metl/demo $(BIN)/metl down; fi
	rm -rf .venv .metl dist dbt_project/target dbt_project/logs .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"METL needs Python 3.11 or newer, $(PYTHON) is {sys.version.split()[0]}. Try: make PYTHON=python3.12")'
	@echo "Making .venv with the packages of requirements.lock; the first time takes a minute or two."
	@$(PYTHON) -m venv --clear .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@
