# Two commands for a fresh machine: `make demo` runs the main job, `make test` passes the tests.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

ATTACKS ?= ../shared/attack

# Tests start hundreds of processes: each would compile all modules anew where this is set, as it is in many images.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lint types warm tests long gate-proof race fuzz attack attack-quick bench docs release knowledge image chart site live lock clean

demo: $(VENV)/.installed
	$(BIN)/argolint demo

test: $(VENV)/.installed-dev
	$(MAKE) --no-print-directory -j 2 types lint warm
	$(MAKE) --no-print-directory tests

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python scripts/words.py

types: $(VENV)/.installed-dev
	$(BIN)/mypy

# Compiles the knowledge and the tests once, on the core that mypy leaves idle, after lint: else each process that runs tests compiles all of them.
warm: $(VENV)/.installed-dev
	$(BIN)/python -c "import pathlib, setup; setup.compile_knowledge(pathlib.Path('argolint/values'))"
	$(BIN)/python -m pytest -q -n 0 --collect-only >/dev/null

tests: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n auto --dist worksteal

# The properties with many examples, and every hostile text for the patterns.
long: $(VENV)/.installed-dev
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -q -n auto --dist worksteal $$(grep -lE '^from hypothesis|PROFILE|PHASES' tests/test_*.py)

# Generated repositories and changes, rendered by helm and kustomize: none may change without the gate looking. `make gate-proof CASES=10000`.
gate-proof: $(VENV)/.installed-dev
	bash scripts/kustomize.sh
	ARGOLINT_CASES=$(or $(CASES),2000) $(BIN)/python -m pytest -q -s tests/test_gate_proof.py

# Threads that decode the same types at once, 200 processes: none may die.
race: $(VENV)/.installed-dev
	$(BIN)/python scripts/race.py 200

# One input of a fuzz target after the other for ten minutes, guided by what they reach: `make fuzz TARGET=redaction`.
fuzz: $(VENV)/.installed-dev
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	$(BIN)/python scripts/fuzz.py $(TARGET)

# Sixty attacks of all groups that take a minute together: a part of `.ci/run`.
attack-quick: $(VENV)/.installed-dev
	PYTHON=$(abspath $(BIN)/python) bash scripts/attack_quick.sh "$(ATTACKS)"

# Hostile servers, snapshots, contents and checkouts against this argolint, some half an hour: `make attack ONLY=D,C066`.
attack: $(VENV)/.installed-dev
	@if [ -f "$(ATTACKS)/run.py" ]; then \
		$(BIN)/pip install --quiet --disable-pip-version-check markdown-it-py mdit-py-plugins linkify-it-py && \
		$(BIN)/python "$(ATTACKS)/run.py" $(BIN)/python --only "$(ONLY)"; \
	else echo "skipped: no attacks at $(ATTACKS); name their folder: make attack ATTACKS=DIR"; fi

bench: $(VENV)/.installed-dev
	$(BIN)/python bench/check.py
	$(BIN)/python bench/join.py
	$(BIN)/python bench/place.py
	$(BIN)/python bench/causes.py
	$(BIN)/python bench/alike.py
	$(BIN)/python bench/many.py
	$(BIN)/python bench/watch.py
	$(BIN)/python bench/page.py
	$(BIN)/python bench/forecast.py
	$(BIN)/python bench/gate.py

docs: $(VENV)/.installed-dev
	$(BIN)/python scripts/docs.py
	$(BIN)/python scripts/shell_files.py
	$(BIN)/python scripts/chart_files.py

# All that a release holds, made of the last commit and published nowhere: `make release VERSION=1.2.3 OUT=dist/release`.
release: $(VENV)/.installed-dev
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[release]'
	$(BIN)/python -m scripts.release --version "$(VERSION)" --out "$(or $(OUT),dist/release)" --base "$(BASE)"

# What is known, rebuilt of its sources where a program makes it, and as a pack that an older argolint reads. KUBERNETES names a release.
knowledge: $(VENV)/.installed-dev
	sh scripts/kubernetes_defaults.sh $(KUBERNETES)
	$(BIN)/python scripts/knowledge.py $(or $(OUT),dist/argolint-knowledge.json)

# The image, built and tried: with Docker, Podman or buildah.
image: $(VENV)/.installed-dev
	PYTHON=$(CURDIR)/$(BIN)/python bash scripts/image.sh

# The chart: linted, rendered and validated. HELM or ARGOLINT_TEST_HELM names a helm that is not on PATH.
chart: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q tests/test_deploy_chart.py

# The suite against a running Argo CD, named by ARGOCD_SERVER and ARGOCD_AUTH_TOKEN: tests/live/README.md.
live: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -v tests/live $(ARGS)

# The documentation as a site, in build/site.
site: $(VENV)/.installed-dev docs
	$(BIN)/zensical build --clean

# What the image installs, with hashes.
lock: $(VENV)/.installed-dev
	cd deploy && ../$(BIN)/pip-compile --quiet --upgrade --generate-hashes --strip-extras --no-annotate --no-header --no-emit-index-url \
	  --no-emit-trusted-host --no-emit-find-links --output-file requirements.lock ../pyproject.toml

clean:
	rm -rf $(VENV) build dist *.egg-info

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.installed-dev: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,bench]'
	touch $@ $(VENV)/.installed
