# The words of this project: setup, run, test, check, bench. Each sets up what it needs in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# What `make run` works on; another folder: make run INPUT=some/dir GOAL="..."
INPUT ?= configs/sample
GOAL ?= Survey this folder and report what is in it
ARGS ?=

.PHONY: setup run test check format bench clean help

help:
	@echo "make run     a team surveys a folder: no key and no network needed (INPUT=dir GOAL=text ARGS=options)"
	@echo "make test    every test"
	@echo "make check   format, lint, types, layers"
	@echo "make bench   the benchmarks, as ratios"
	@echo "make format  put the code into shape"
	@echo "make clean   remove .venv and caches"

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $(STAMP)

setup: $(STAMP)

run: $(STAMP)
	@$(BIN)/agiraph run "$(GOAL)" --input "$(INPUT)" $(ARGS)

test: $(STAMP)
	$(BIN)/python -m pytest $(ARGS)

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)
	$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
