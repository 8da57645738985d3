# make demo    set up .venv and run the main job on embedded data
# make test    set up .venv with the test extras and run every test, two side by side
# make test-fast   the tests that take no time, for who edits
# make release     build wheel and sdist into dist/ and check them; nothing is uploaded
# make check   lint, format and types; the documentation site, strictly
# make docs    the documentation site alone, into site/; it runs every example
# make fuzz    read 2,000 damaged files of every format
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt

# Data that is not in the repository is found through PINVGCN_DATA alone.
ifeq ($(origin PINVGCN_DATA),undefined)
ifneq ($(wildcard ../shared/data),)
export PINVGCN_DATA := $(abspath ../shared/data)
endif
endif

# Threads that wait give up their core: see src/pinvgcn/__init__.py.
export OMP_WAIT_POLICY ?= PASSIVE

.PHONY: demo test test-fast release fuzz check lint docs format clean

demo: .venv/installed
	$(BIN)/pinvgcn demo

test: .venv/installed-test
	$(BIN)/python -m pytest -n 2 --dist loadgroup --no-loadscope-reorder

# by name: what starts no process and fits no model that takes long
FAST := tests/architecture tests/datasets tests/kernels tests/features tests/jobs tests/test_checks.py \
  tests/spectra/test_functions.py tests/spectra/test_dense.py tests/graphs/test_hypergraph.py tests/io/test_atomic.py \
  tests/io/test_ply.py tests/io/test_pcd.py tests/nn/test_filters.py tests/nn/test_conv.py tests/nn/test_model.py \
  tests/fitting/test_class_shares.py tests/fitting/test_shapley.py tests/docs/test_citations.py
test-fast: .venv/installed-test
	$(BIN)/python -m pytest -n 2 -q -m "not slow" $(FAST)

release: .venv/installed-test
	$(PIP) --editable '.[release]'
	rm -rf build dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m twine check --strict dist/*
	.ci/installed dist/*.whl

fuzz: .venv/installed-test
	PINVGCN_FUZZ_CASES=2000 $(BIN)/python -m pytest tests/io/test_fuzz.py tests/io/test_table_fuzz.py

check: lint docs

lint: .venv/installed-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/installed-check
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

format: .venv/installed-check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "pinvgcn needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	@echo "Installing pinvgcn into .venv (a few minutes the first time)"
	$(PIP) --editable .
	@touch $@

.venv/installed-test: .venv/installed
	$(PIP) --editable '.[test]'
	@touch $@

.venv/installed-check: .venv/installed-test
	$(PIP) --editable '.[test,check,docs]'
	@touch $@

clean:
	rm -rf .venv build dist site src/*.egg-info
