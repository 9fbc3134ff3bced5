# The words of this project: setup, run, test, check, bench. Each sets up what it needs in .venv.
VENV := .venv
BIN := $(VENV)/bin
RUNS := $(VENV)/.runs
DEVELOPS := $(VENV)/.develops
VALID := $(BIN)/check-jsonschema --builtin-schema vendor
NPM := $(BIN)/python frontend/build.py npm run --silent

# The first Python here that is new enough; another one: make run PYTHON=/path/to/python
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && \
	echo $$python && break; done)

# What `make run` works on; another folder: make run INPUT=some/dir GOAL="..."
INPUT ?= configs/sample
GOAL ?= Survey this folder and report what is in it
# The script that surveys a folder; a language model for any goal: make run MODEL=anthropic GOAL="..."
MODEL ?= script/survey
ARGS ?=

# What the documentation site is made of: the pages, their pictures, and the files they link to.
PAGES = $(wildcard *.md docs/*.md docs/*.svg docs/*.png configs/*.yaml)

# What a cluster gets; the other two files are kustomize's and the home's own.
MANIFESTS = $(filter-out %/kustomization.yaml %/agiraph.yaml,$(wildcard deploy/kubernetes*/*.yaml))

export GOAL INPUT MODEL

.PHONY: setup run ui ui-types test slow clients clusters check docs format bench pictures first-hour clean help

help:
	@echo "make run     a team surveys a folder, without a key; the first use installs packages (INPUT=dir MODEL=model GOAL=text ARGS=options)"
	@echo "make ui      the web UI, built into frontend/dist (brings a Node where there is none)"
	@echo "make test    every test"
	@echo "make slow    the tests that take long: the wheel, more outside agents, long storms, the local model (installs it)"
	@echo "make clients  outside agents of other makers, as they ship them: a table (installs them; ARGS=--help)"
	@echo "make clusters  hosts in a real Ray cluster on this machine (installs Ray)"
	@echo "make check   format, lint, types, layers, openings of files, phrases, the page, docs, what .github/ and deploy/ hold"
	@echo "make docs    the documentation site, in build/site (ARGS=serve: on a local port, for a look)"
	@echo "make bench   the benchmarks, as ratios"
	@echo "make pictures  the pictures of the docs"
	@echo "make first-hour  docs/first-hour.md, by typing it all again"
	@echo "make format  put the code into shape"
	@echo "make clean   remove .venv and caches"

# Some systems ship a Python whose venv has no pip; then pip is put there from outside.
$(VENV)/bin/python:
	@$(or $(PYTHON),false) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Agiraph needs Python 3.11 or newer; name one: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null && $(PYTHON) -m venv $(VENV) || \
		{ $(PYTHON) -m venv --clear --without-pip $(VENV) && \
		$(PYTHON) -m pip --python $(VENV)/bin/python install --quiet pip; } || \
		{ rm -rf $(VENV); exit 1; }

$(RUNS): pyproject.toml | $(VENV)/bin/python
	@echo "installing Agiraph and what it needs into $(VENV) (once, about a minute)" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[web]'
	@touch $@

$(DEVELOPS): pyproject.toml $(RUNS)
	@echo "installing what tests and checks need into $(VENV)" >&2
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install --quiet --group dev
	@touch $@

setup: $(DEVELOPS)

run: $(RUNS)
	@$(BIN)/agiraph run "$$GOAL" --input "$$INPUT" --model "$$MODEL" $(ARGS)

ui: $(DEVELOPS)
	@$(BIN)/python frontend/build.py

# The types of the page's calls, from what the gateway says of itself.
ui-types: $(DEVELOPS)
	@$(BIN)/python frontend/openapi.py build/openapi.json
	@$(NPM) schema

# Tests run in two processes more than there are processors, for many of them wait for other
# processes; a file stays in one of them, because its tests share fixtures. They start many
# processes, which need not compile the same sources again, whatever the environment says of
# bytecode.
test: export PYTHONDONTWRITEBYTECODE :=
test: $(DEVELOPS)
	@$(NPM) test & page=$$!; \
	$(BIN)/python -m pytest -n $$(( $$(getconf _NPROCESSORS_ONLN) + 2 )) --dist loadfile $(ARGS); tests=$$?; \
	wait $$page || { echo "a test of the page failed, see above" >&2; exit 1; }; \
	exit $$tests

slow: $(DEVELOPS)
	$(BIN)/agiraph local install
	$(BIN)/python -m pytest -m "weights or machines or releases" $(ARGS)

# Real outside agents from npm and PyPI, each at the same two nodes, against a fake model service.
clients: $(DEVELOPS)
	$(BIN)/python -m tests.clients $(ARGS)

# Hosts in a real Ray cluster on this machine, a node of which is killed.
clusters: $(DEVELOPS)
	$(BIN)/python -m pip install --quiet --editable '.[ray]'
	$(BIN)/python -m pytest tests/clusters/ray_nodes.py $(ARGS)

check: $(DEVELOPS)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.openings
	$(BIN)/python -m tests.prose
	$(BIN)/python frontend/openapi.py build/openapi.json
	$(NPM) check
	$(VALID).github-workflows .github/workflows/*.yml
	$(VALID).github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(VALID).github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(VALID).dependabot .github/dependabot.yml
	$(VALID).compose-spec deploy/compose.yaml
	$(BIN)/kubernetes-validate --strict --quiet $(MANIFESTS)
	$(MAKE) --no-print-directory docs ARGS=

# The site has the tree of the repository, so that a link leads to the same page in both. Each file
# is linked into it, for the builder follows no link to a folder.
docs: $(DEVELOPS)
	@rm -rf build/pages
	@for page in $(PAGES); do \
		mkdir -p build/pages/$$(dirname $$page) && ln -s "$(CURDIR)/$$page" build/pages/$$page || exit 1; done
	$(BIN)/zensical $(or $(ARGS),build --strict --clean)

format: $(DEVELOPS)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The pictures of the docs, made anew by the real widgets and pages, and real runs.
pictures: $(DEVELOPS)
	PYTHONPATH=. $(BIN)/python docs/pictures.py $(ARGS)

# A page of what the terminal shows in the first hour: each of its lines is typed again.
first-hour: $(DEVELOPS)
	$(BIN)/python -m tests.first_hour

bench: $(DEVELOPS)
	$(BIN)/python -m benchmarks $(ARGS)

clean:
	rm -rf $(VENV) build dist frontend/dist frontend/node_modules .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
