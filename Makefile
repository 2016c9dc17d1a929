# Everything runs in .venv, made here from Python 3.11 or later and the package index.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
SMOKE := tests/test_sampling.py tests/test_release.py tests/test_extras.py tests/reporting/test_report.py tests/study \
  tests/ledger/test_ledger.py tests/privacy/test_account.py tests/models/test_formula.py tests/models/test_numpyro.py

.PHONY: demo docs test lint bench bench-scaling slow browser-test wheel test-all clean

demo: .venv/demo.stamp          ## fit a private logistic regression to real data
	$(BIN)/dpmcmc demo --out demo-output

test: .venv/test.stamp          ## the quick test suite
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

slow: .venv/test.stamp          ## the long statistical tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m slow

browser-test: .venv/browser.stamp  ## the report and the site in Debian's Chromium, with axe-core; needs apt and npm
	command -v chromium || (apt-get update && apt-get install --yes --no-install-recommends chromium)
	test -f .venv/browser/node_modules/axe-core/axe.min.js || npm install --silent --no-audit --no-fund --prefix .venv/browser axe-core
	DPMCMC_BROWSER=1 $(BIN)/python -m pytest tests/reporting/test_browser.py tests/test_site_browser.py

wheel: .venv/build.stamp        ## wheel and sdist, in dist/
	rm -rf dist
	$(BIN)/python -m build --outdir dist

# pyenv offers all versions it has; without it, those on the PATH are found.
test-all: export PYENV_VERSION := $(shell pyenv versions --bare 2>/dev/null | paste -sd : -)
test-all: wheel                 ## the wheel and a smoke set of tests on Python 3.11, 3.12 and 3.13, where there are
	@for v in 3.11 3.12 3.13; do \
	  if ! python$$v -c '' 2>/dev/null; then echo "Python $$v: not here, left out"; continue; fi; \
	  echo "Python $$v"; \
	  python$$v -m venv --clear .venv/py$$v && \
	  .venv/py$$v/bin/python -m pip install --quiet "$$(ls dist/*.whl)[smoke]" && \
	  .venv/py$$v/bin/python -m pytest $(SMOKE) -m "not slow" || exit 1; \
	done

lint: .venv/test.stamp .venv/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/docs.stamp          ## the documentation site, in site/: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: .venv/test.stamp         ## speed against peers and bare passes; makes docs/results/speed.md
	$(BIN)/python -m benchmarks

bench-scaling: .venv/test.stamp ## the cost of runs on Ray, and what it predicts; makes a part of docs/scaling.md
	$(BIN)/python -m pip install --quiet --editable ".[ray]"
	$(BIN)/python -m benchmarks.scaling

.venv/test.stamp: pyproject.toml experiments/pyproject.toml
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[test]" --editable experiments
	touch $@

.venv/%.stamp: pyproject.toml
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

clean:
	rm -rf .venv demo-output dist site
