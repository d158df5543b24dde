# Two commands for a fresh machine: `make demo` runs the main job, `make test` passes the tests.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test lint types tests race bench docs clean

demo: $(VENV)/.installed
	$(BIN)/argolint demo

test: lint types tests

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(VENV)/.installed-dev
	$(BIN)/mypy

tests: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -n auto --dist worksteal

# Threads that decode the same types at once, 200 processes: none may die.
race: $(VENV)/.installed-dev
	$(BIN)/python scripts/race.py 200

bench: $(VENV)/.installed-dev
	$(BIN)/python bench/check.py
	$(BIN)/python bench/join.py
	$(BIN)/python bench/causes.py

docs: $(VENV)/.installed-dev
	$(BIN)/python scripts/docs.py

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
