# Everything runs in .venv, made here from Python 3.11 or later and the package index.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo docs test lint bench slow browser-test clean

demo: .venv/demo.stamp          ## fit a private logistic regression to real data
	$(BIN)/dpmcmc demo --out demo-output

test: .venv/test.stamp          ## the quick test suite
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m "not slow"

slow: .venv/test.stamp          ## the long statistical tests
	$(BIN)/python -m pytest -n 2 --dist loadgroup -m slow

browser-test: .venv/browser.stamp  ## the report and the site in Debian's Chromium; needs apt and npm
	test -x /usr/bin/chromium || apt-get install --yes chromium
	test -f .venv/browser/node_modules/axe-core/axe.min.js || npm install --silent --no-audit --no-fund --prefix .venv/browser axe-core
	DPMCMC_BROWSER=1 $(BIN)/python -m pytest tests/reporting/test_browser.py tests/test_site_browser.py

lint: .venv/test.stamp .venv/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/docs.stamp          ## the documentation site, in site/: open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

bench: .venv/test.stamp         ## speed against peers and bare passes; makes docs/results/speed.md
	$(BIN)/python -m benchmarks

.venv/test.stamp: pyproject.toml experiments/pyproject.toml
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[test]" --editable experiments
	touch $@

.venv/%.stamp: pyproject.toml
	test -d .venv || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable ".[$*]"
	touch $@

clean:
	rm -rf .venv demo-output site
