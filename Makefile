# The README names these targets. Every target sets up first what it needs.
SHELL := /bin/sh
PYTHON ?= python3
EXTRAS ?=
VENV := .venv
BIN := $(VENV)/bin
DEMO_HOME := $(if $(REXVQA_HOME),$(REXVQA_HOME),$(CURDIR)/var/demo)
SITE_HOME := $(if $(REXVQA_HOME),$(REXVQA_HOME),$(CURDIR)/var)
# Bytecode is kept, also where the environment asks for none: a start without it takes several times as long.
export PYTHONDONTWRITEBYTECODE :=
# That of the program is kept in the home; the line says all of it, so that it can be copied.
RUN = umask 077; PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$(1)/cache/python REXVQA_HOME=$(1) $(BIN)/python manage.py

# Complete lists, each file known by its hash: nothing else is installed, and nothing that was changed on the way.
# Compiled is what is used, when it first is: compiling all of it takes as long as the rest.
INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --only-binary :all: --require-hashes -r

# A backup writes nothing into a home, not even bytecode: there may be no site.
READ = $(subst PYTHONDONTWRITEBYTECODE=,PYTHONDONTWRITEBYTECODE=1,$(RUN))

.PHONY: help setup setup-dev demo demo-reset serve test check lint format bench load proof proof-reading proof-orders proof-statistics proof-print proof-audit proof-exams proof-api proof-servers proof-leaderboard torture stack-test services backup restore lock sbom

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## make setup        install what the program needs into .venv (EXTRAS="parquet text-search embeddings object-storage telemetry": the optional parts as well)
setup: $(VENV)/.installed $(EXTRAS:%=$(VENV)/.installed-%)
$(VENV)/.installed: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one with PYTHON=python3.12 make setup")'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) $<
	@touch $@

$(VENV)/.installed-%: requirements-%.txt $(VENV)/.installed
	$(INSTALL) $<
	@touch $@

setup-dev: $(VENV)/.installed-parquet $(VENV)/.installed-text-search $(VENV)/.installed-embeddings $(VENV)/.installed-object-storage $(VENV)/.installed-telemetry $(VENV)/.installed-dev

## make demo         serve the demonstration on http://127.0.0.1:8000 (PORT, REXVQA_HOME)
demo: setup
	@[ -e "$(DEMO_HOME)/DEMONSTRATION" ] || { $(call RUN,$(DEMO_HOME)) mark_demonstration; }
	@$(call RUN,$(DEMO_HOME)) serve

## make demo-reset   delete the demonstration, so that the next "make demo" starts over
demo-reset: setup
	@if [ -d "$(DEMO_HOME)" ]; then $(call RUN,$(DEMO_HOME)) delete_demonstration; fi

## make serve        serve an empty site of your own, with the search for text in pixels; data in var/ (REXVQA_HOME)
serve: setup $(VENV)/.installed-text-search
	@$(call RUN,$(SITE_HOME)) serve

## make backup       one file with database, images and keys, while people work
backup: setup
	@$(call READ,$(SITE_HOME)) backup

## make restore BACKUP=file   put a backup back into an empty home (REXVQA_HOME)
restore: setup
	@$(call RUN,$(SITE_HOME)) restore "$(BACKUP)"

## make services     start PostgreSQL and Redis from Debian's packages when they do not run (root)
services:
	@.ci/services

## make test         the tests of every day, on SQLite, with one way of each role through a browser; the twenty dearest
test: setup-dev
	@$(BIN)/python -m tests.run

## make check        what takes longer: PostgreSQL where one answers, all in browsers, whole sweeps, proofs, kills
check: setup-dev
	@$(BIN)/python -m tests.run check

## make lint         formatting, types, templates, migrations, production settings
lint: setup-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/djlint --lint --quiet templates
	$(BIN)/python -m tests.checks

format: setup-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

## make bench        measure the speed, each figure beside a baseline of the same run
bench: setup-dev
	@$(BIN)/python -m tests.bench

## make load         a study read by 200 at once for five minutes (REXVQA_LOAD_SECONDS; REXVQA_LOAD_BESIDE=1: again beside a program), and behind nginx where it is installed (REXVQA_LOAD_READERS, REXVQA_LOAD_POOLER=1: through pgbouncer)
load: setup-dev
	@REXVQA_LOAD_SECONDS=$${REXVQA_LOAD_SECONDS:-300} $(BIN)/python -m tests.bench study_load study_load_stack

## make proof        the invariants of reading over 10,000 steps (PROOF_RUNS, of 50 steps each), 40 cases blinded in a browser, orders, the statistics, printed tables in LaTeX and LibreOffice, the audit log, planted faults, 20,000 requests to the API (PROOF_REQUESTS, PROOF_SEED), 57 questions to real model servers, attacks on a leaderboard
proof: proof-reading proof-orders proof-statistics proof-print proof-audit proof-exams proof-api proof-servers proof-leaderboard

proof-reading: setup-dev
	@PROOF_RUNS=$${PROOF_RUNS:-200} $(BIN)/python -m pytest -q -n 0 tests/readerstudy/reading/test_invariants.py
	@PROOF_CASES=40 $(BIN)/python -m pytest -q -n 0 tests/browser/readerstudy/test_blinding.py

proof-orders: setup-dev
	@PROOF_SEEDS=$${PROOF_SEEDS:-1000} $(BIN)/python -m pytest -q -n 0 tests/readerstudy/design/test_neighbours.py

proof-statistics: setup-dev
	@$(BIN)/python -m tests.annotation.statistics.golden_table
	@$(BIN)/python -m tests.annotation.statistics.coverage
	@$(BIN)/python -m tests.annotation.statistics.cover_table
	@$(BIN)/python -m tests.annotation.statistics.forecast_check

proof-print: setup-dev
	@$(BIN)/python -m pytest -q -rs -n 0 tests/readerstudy/report/test_printed_tables.py

proof-audit: setup-dev
	@$(BIN)/python -m tests.annotation.audit.removed_calls -n 2

proof-exams: setup-dev
	@$(BIN)/python -m tests.annotation.validators.exam_table
	@$(BIN)/python -m tests.annotation.generation.planted_table --write

proof-api: setup-dev
	@PROOF_REQUESTS=$${PROOF_REQUESTS:-20000} $(BIN)/python -m pytest -q -s -n 0 tests/fuzzing

proof-servers: setup-dev
	@$(BIN)/python -m tests.readerstudy.model_runs.real_servers

proof-leaderboard: setup-dev
	@PROOF_BOARD=1 $(BIN)/python -m pytest -q -s -n 0 -m check tests/readerstudy/leaderboard/test_gaming.py

## make torture      kill -9 web, worker and database under 20 readers, over a line that answers 200 in place of the site, compare with what they were told (TORTURE_KILLS, TORTURE_ANSWERS, TORTURE_FOREIGN)
torture: setup-dev
	@$(BIN)/python -m tests.torture

## make stack-test   the site of docs/deploy.md on this machine (root): two web servers behind nginx, workers, Redis and PostgreSQL of its own, read and reviewed in Chromium while each is killed and during an upgrade
stack-test: setup-dev
	@$(BIN)/python -m tests.stack

## make lock         write the hashes of all pinned versions anew, after a version was changed (needs the package index)
lock:
	@[ -x $(BIN)/uv ] || $(INSTALL) requirements-supply.txt
	@for list in requirements*.txt; do \
	  $(BIN)/uv pip compile --quiet --no-deps --generate-hashes --only-binary :all: --no-annotate \
	    --custom-compile-command "make lock" --output-file $$list $$list || exit 1; \
	done

## make sbom         what is installed to run the program, as CycloneDX: sbom.cdx.json
sbom: setup-dev $(VENV)/.installed-supply
	@$(BIN)/python -m tests.supply_chain sbom.cdx.json
