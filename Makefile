# make run | test | test-servers | test-system | image | proofs | lab | lint | setup; see CONTRIBUTING.md
.DELETE_ON_ERROR:
SHELL := bash
.SHELLFLAGS := -o pipefail -c
.PHONY: setup prepare run test test-servers test-system dist screenshots image proofs gauntlet steady outcomes lab lint format lock captures bench clean help

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.ready

help:           ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

setup: $(STAMP) ## create .venv with every dependency, pinned by hash

$(STAMP): requirements/dev.txt pyproject.toml
	@tools/setup.sh "$(PYTHON)" "$(VENV)"
	@touch $@

run: $(STAMP)   ## run a private MySQL under load and the sidecar on it (DSN=… or DEFAULTS_FILE=… for your own server)
	@exec $(BIN)/python -m lab.demo

# Three rings. Three workers for two cores: live tests wait. No started process compiles all modules anew.
PYTEST = PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(PYTEST_ARGS)
WORKERS ?= 3

PREPARE = $(BIN)/python -m tools.prepare

prepare: $(STAMP) ## download and build what the tests need, side by side, so that it counts in no test's time
	@$(PREPARE)

test: lint      ## lint, types, contracts, and every test but those below; live ones on MySQL 9.7 and MariaDB 11.8
	-@$(PREPARE) test
	@$(PYTEST) -m "not thorough and not system and not long"

test-servers: $(STAMP) ## the live tests on all servers that can be had, and faults
	-@$(PREPARE) test-servers
	@$(PYTEST) -m "(server or thorough) and not system and not long"

test-system: $(STAMP) ## chart, image, page in Chromium, Prometheus and Alertmanager end to end, systemd, dist
	-@$(PREPARE) test-system
	@$(PYTEST) -m "system and not long"

image: $(STAMP) ## build the container image with docker, podman or buildah (BASE=debootstrap without a registry)
	@exec $(BIN)/python -m tools.image $(if $(BASE),--base $(BASE)) $(IMAGE_ARGS)

dist: $(STAMP)  ## build and check a release in dist/: wheel, sdist, chart, image, SBOMs (DIST_ARGS=--without-image)
	@exec $(BIN)/python -m tools.dist $(DIST_ARGS)

proofs: $(STAMP) ## run a few proofs and an upgrade, as CI does
	@exec $(BIN)/python -m lab --short $(LAB_ARGS)

lab: $(STAMP)   ## run the published experiments, every proof on all servers, and the long tests (EXPERIMENT=E3, curves, warm-ups, cold-starts, upgrades or peers, PROOF=<rule> for one)
	@status=0; $(BIN)/python -m lab $(if $(EXPERIMENT),--experiment $(EXPERIMENT)) $(if $(PROOF),--proof $(PROOF)) $(LAB_ARGS) || status=$$?; \
	  $(BIN)/python -m tools.docs && exit $$status
	@$(if $(EXPERIMENT)$(PROOF)$(LAB_ARGS),,$(PYTEST) -m long)

# Two lanes side by side, since loads mostly wait; the last command collects, judges and records. Ctrl-C stops all, and
# the same command goes on from there.
gauntlet: $(STAMP) ## follow everything advised on workloads that no rule was made for, on MySQL and MariaDB; measure it
	@$(MAKE) --no-print-directory --keep-going --jobs 2 gauntlet-1 gauntlet-2
	@status=0; $(BIN)/python -m lab.gauntlet || status=$$?; $(BIN)/python -m tools.docs && exit $$status

gauntlet-%: $(STAMP)
	@exec $(BIN)/python -m lab.gauntlet --lane $* --lanes 2

outcomes: $(STAMP) ## follow advice by hand under load, and compare the ledger's outcomes with a count of the lab
	@status=0; $(BIN)/python -m lab.outcomes || status=$$?; $(BIN)/python -m tools.docs && exit $$status

steady: $(STAMP) ## run a load that never changes for an hour: each finding must come once (SECONDS=1200 for less)
	@exec $(BIN)/python -m lab.steady $(if $(SECONDS),--seconds $(SECONDS))

lint: $(STAMP)  ## run ruff, mypy --strict and import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP) ## apply ruff's fixes and formatting
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock: $(STAMP)  ## pin the dependencies of pyproject.toml again, with hashes and without host names
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements/runtime.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header pyproject.toml --extra mcp --group dev -o requirements/dev.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --group build -o requirements/build.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --group release -o requirements/release.txt

captures: $(STAMP) ## record the fixtures of tests/captures again from the real servers
	$(BIN)/python -m lab.captures

bench: $(STAMP) ## measure the sidecar's cost next to mysqld_exporter, against its bounds (ONLY=peer for one figure)
	@exec $(BIN)/python -m lab.bench $(if $(ONLY),--only $(ONLY)) $(BENCH_ARGS)

screenshots: $(STAMP) ## take the pictures of the page for README and docs anew, from a real server under load
	@SCREENSHOTS=docs/img $(BIN)/python -m pytest -q tests/page/test_one_screen.py

clean:          ## remove the files of setup and tests
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
