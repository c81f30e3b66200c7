# One environment for everything: .venv in this folder.
# The first Python that is new enough; a name on PATH may be a stub that does not run.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && exit; \
	done; echo python3)
BIN := .venv/bin

.PHONY: help install demo docs test lint soak bench jar clean

help:  ## what can be made
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: .venv/.done  ## make .venv with everything in it (the second run does nothing)

.venv/.done: pyproject.toml lab/pyproject.toml requirements.lock scripts/install.py
	@$(PYTHON) scripts/install.py

demo: install  ## the main job: a continuous top-k query on Spark
	@$(BIN)/topwater demo

# Without it tests of Spark only take longer.
.venv/spark.jsa: .venv/.done
	@echo "keeping the classes of Spark in one file, so that Java starts faster in tests"
	@$(BIN)/python -m tests.support.class_archive $@ || echo "warning: that failed; tests take longer" >&2

test: install .venv/spark.jsa  ## all tests that fit in minutes; three workers, since tests of servers wait a lot
	@$(BIN)/python -m pytest -m "not soak" -n 3 --no-loadscope-reorder

soak: install .venv/spark.jsa  ## the long suites
	@$(BIN)/python -m pytest -m soak --timeout 7200

jar: install  ## compile the classes in Java into the jar that is committed beside them
	@$(BIN)/python scripts/build_jar.py

lint: install  ## style, types, layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

docs: install  ## the documentation as pages, in out/docs; a dead reference is an error
	@$(BIN)/sphinx-build -q -E -W --keep-going -c docs . out/docs
	@echo "out/docs/index.html"

bench: install  ## every benchmark, in its quick form
	@$(BIN)/topwater bench core --quick
	@$(BIN)/topwater bench spark --quick
	@$(BIN)/topwater bench remote --quick
	@$(BIN)/topwater bench standing --quick
	@$(BIN)/topwater bench scale --quick

clean:  ## remove the environment and all that was generated
	@rm -rf .venv build dist out .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
