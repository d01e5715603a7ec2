# make run | test | lint | setup; see README.md
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -o pipefail -c
.PHONY: setup run test tests-live tests-others lint format lock captures bench clean help

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

help:           ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## make .venv with every dependency, pinned by hash

$(STAMP): requirements/dev.txt pyproject.toml
	@lab/setup.sh "$(PYTHON)" "$(VENV)"
	@touch $@

run: $(STAMP)   ## a private MySQL under load, watched by the sidecar (DSN=… or DEFAULTS_FILE=… for your own)
	@exec $(BIN)/python -m lab.demo

test: lint      ## lint, types, import contracts, and every test, on all five real servers
	@$(MAKE) --no-print-directory --jobs 2 tests-live tests-others

# Servers under load mostly wait: the other tests have the second core meanwhile. PYTEST_ARGS goes to both.
tests-live: $(STAMP)
	@$(BIN)/python -u -m pytest tests/live -o cache_dir=.pytest_cache/live $(PYTEST_ARGS) | sed -u 's/^/live   | /'

tests-others: $(STAMP)
	@$(BIN)/python -u -m pytest --ignore tests/live $(PYTEST_ARGS) | sed -u 's/^/others | /'

lint: $(STAMP)  ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## apply ruff's fixes and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(STAMP)  ## pin the dependencies of pyproject.toml anew, with hashes and without any host name
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements/runtime.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml --group dev -o requirements/dev.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --group build -o requirements/build.txt

captures: $(STAMP) ## record the fixtures of tests/captures anew from the real servers
	$(BIN)/python -m lab.captures

bench: $(STAMP) ## time and memory of the LRU model's sweep, beside the page-exact reference's
	$(BIN)/python -m lab.bench

clean:          ## remove what setup and the tests made
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
